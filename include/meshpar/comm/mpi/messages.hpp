// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/mpi/collectives.hpp>

namespace meshpar::inline v0::processes {

// Sends and receives. A packet states tag and size; a long message is received once it has found its receive.
class messages : public collectives {
 public:
  using collectives::collectives;

 protected:
  flight& fresh_message(group_state& g, const call& what) {
    auto idle = std::ranges::find_if(messages_, [](const auto& f) { return !f->active(); });
    if (idle == messages_.end()) idle = messages_.emplace(idle, new flight);
    flight& f = **idle;
    f.g = &g;
    f.what = what;
    f.sending = 0;
    f.cancelled = false;
    return f;
  }

  void post_send(flight& f) {
    group_state& g = *f.g;
    channel& c = g.to(f.what.peer);
    const bool room = c.sent - c.taken_by_peer < window;
    const auto before = std::ranges::find_if(g.waiting_sends, [&](flight* w) { return w->what.peer == f.what.peer; });
    if (!room || before != g.waiting_sends.end()) g.waiting_sends.push_back(&f);
    else send_now(f);
  }

  void post_receive(flight& f) {
    group_state& g = *f.g;
    const auto letter = std::ranges::find_if(g.mail, [&](const packet* p) { return answers(*p, f); });
    if (letter == g.mail.end()) return g.receivers.push_back(&f);
    packet& p = **letter;
    g.mail.erase(letter);
    deliver(f, p);
  }

  void on_message(group_state& g, packet& p) {
    if (g.broken) return wire_.release(p);
    const auto receiver = std::ranges::find_if(g.receivers, [&](const flight* f) { return answers(p, *f); });
    if (receiver == g.receivers.end()) return g.mail.push_back(&p);
    flight& f = **receiver;
    g.receivers.erase(receiver);
    deliver(f, p);
  }

  void on_receipt(group_state& g, packet& p) {
    const int from = p.head.from;
    g.peer_completed[static_cast<std::size_t>(from)] = p.head.completed;
    g.to(from).taken_by_peer = p.head.taken;
    wire_.release(p);
    for (std::size_t i = 0; i < g.waiting_sends.size();) {
      flight& f = *g.waiting_sends[i];
      channel& c = g.to(f.what.peer);
      if (f.what.peer != from || c.sent - c.taken_by_peer >= window) {
        ++i;
        continue;
      }
      g.waiting_sends.erase(g.waiting_sends.begin() + static_cast<long>(i));
      send_now(f);
    }
  }

  void on_message_transfer(const transfer& t) {
    flight& f = *t.owner;
    if (--f.sending > 0) return;
    if (t.incoming) finish_receive(f);
    else close_flight(f);
  }

 private:
  static constexpr long window = group_state::depth + group_state::depth / 4;  // receipts come for every fourth message

  static bool answers(const packet& p, const flight& f) {
    return p.head.from == f.what.peer && p.head.outer == f.what.outer;
  }

  void send_now(flight& f) {
    group_state& g = *f.g;
    const int rank = g.rank(f.what.peer);
    ++g.to(f.what.peer).sent;
    packet& p = wire_.fresh();
    set_call(p.head, f.what);
    p.head.kind = packet_kind::message;
    p.head.from = g.me();
    p.head.peer = g.me();
    p.head.group = g.key();
    p.head.bytes = f.what.inner;
    if (f.what.inner > inline_bytes) p.head.bulk = wire_.next_tag();
    else copy_bytes(p.data, f.in, f.what.inner);
    const int tag = p.head.bulk;
    tag ? wire_.send_more(p, rank) : wire_.send(p, rank);
    wire_.release(p);
    if (!tag) return close_flight(f);
    f.sending = wire_.send_bulk({&f, 0, 0, false}, f.in, f.what.inner, rank, tag, true);
  }

  void deliver(flight& f, packet& p) {
    group_state& g = *f.g;
    const int tag = p.head.bulk;
    if (p.head.bytes != f.what.inner) {
      call sent = call_of(p.head);
      break_with(g,
                 me_text() + describe(f.what) + " does not match rank " + std::to_string(g.rank(f.what.peer)) + "'s " +
                     describe(sent),
                 false, f.ticket);
      return wire_.release(p);
    }
    if (!tag) copy_bytes(f.out, p.data, p.head.bytes);
    wire_.release(p);
    if (!tag) return finish_receive(f);
    f.sending = wire_.receive_bulk({&f, 0, 0, true}, f.out, f.what.inner, g.rank(f.what.peer), tag);
  }

  void finish_receive(flight& f) {
    group_state& g = *f.g;
    channel& c = g.to(f.what.peer);
    ++c.taken;
    if (f.what.peer != g.me()) count(g, f.what.inner);
    if (c.taken - c.told >= group_state::depth / 4) receipt(g, f.what.peer);
    close_flight(f);
  }
};

}  // namespace meshpar::inline v0::processes
