// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/mpi/pieces.hpp>
#include <meshpar/comm/mpi/state.hpp>
#include <meshpar/comm/reduce.hpp>

namespace meshpar::inline v0::processes {

// Collectives: every member sends each other one its piece, and keeps or reduces what comes. An all-reduce does so
// twice: pieces of the input, then the sums. A piece is announced by a packet; bytes that are not in it are received
// only once the packet has been compared with the own call, so nothing is written where calls disagree.
class collectives : public rank_state {
 public:
  using rank_state::rank_state;

 protected:
  void launch(flight& f) {
    const pieces_of pieces(f);
    const group_state& g = *f.g;
    f.stage = f.sending = 0;
    f.reduced = 0;
    f.missing[0] = f.missing[1] = 0;
    for (int q = 0; q < g.size(); ++q) f.missing[0] += pieces.awaits(q);
    if (f.what.kind == call_kind::all_reduce && !f.whole) f.missing[1] = g.size() - 1;
    send_stage(f, 0);
    keep_own(f, pieces);
    for (int q = 0; q < g.size(); ++q)
      for (const int stage : {0, 1})
        if (f.active() && f.at(stage, q).kept) take(f, stage, q);
    if (f.active()) advance(f);
  }

  void on_piece(group_state& g, packet& p) {
    flight& f = g.slot(p.head.sequence);
    const int from = p.head.from;
    g.peer_completed[static_cast<std::size_t>(from)] = p.head.completed;
    if (f.sequence > p.head.sequence || g.broken) return wire_.release(p);
    if (f.sequence == p.head.sequence && !f.active()) {  // a notice for a call that did not wait for it
      compare(f, p.head);
      return wire_.release(p);
    }
    f.at(p.head.stage, from).kept = &p;
    if (f.sequence == p.head.sequence) take(f, p.head.stage, from);
  }

  void on_transfer(const transfer& t) {
    flight& f = *t.owner;
    piece& p = f.at(t.stage, t.member);
    if (!t.incoming) {
      --f.sending;
      if (--p.sending == 0 && t.stage == 0 && f.at(1, t.member).kept) take(f, 1, t.member);
      if (f.active()) advance(f);
    } else if (--p.parts == 0) {
      const pieces_of pieces(f);
      const strided to = pieces.incoming(t.stage, t.member);
      if (to.data && packed(to)) unpack(to, pieces.staged(f.arrivals, t.member, to.size()));
      arrived(f, t.stage, t.member);
    }
  }

  static void count(group_state& g, long bytes) {
    g.received.store(g.received.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
  }

  bool reducing() const { return !reducing_.empty(); }
  void continue_reductions() {
    for (std::size_t i = reducing_.size(); i-- > 0;) {
      flight& f = *reducing_[i];
      reducing_.erase(reducing_.begin() + static_cast<long>(i));
      if (f.active()) advance(f);
    }
  }

  // Sent by every packet to a member, and by a receipt where no other packet goes.
  void tell_completed(group_state& g) {
    const long often = g.next - g.completed > group_state::depth / 2 ? 1 : group_state::depth / 4;
    if (g.completed - g.looked < often) return;
    g.looked = g.completed;
    tell_all(g, often);
  }
  void tell_all(group_state& g, long at_least = 1) {
    for (int q = 0; q < g.size(); ++q)
      if (q != g.me() && g.completed - g.told[static_cast<std::size_t>(q)] >= at_least) receipt(g, q);
  }
  void receipt(group_state& g, int q) {
    packet& p = wire_.fresh();
    p.head.kind = packet_kind::receipt;
    p.head.from = g.me();
    p.head.group = g.key();
    p.head.completed = g.told[static_cast<std::size_t>(q)] = g.completed;
    p.head.taken = g.to(q).told = g.to(q).taken;
    wire_.send(p, g.rank(q));
    wire_.release(p);
  }

  void drop_pieces(flight& f) {
    for (piece& p : f.pieces) {
      if (p.kept) wire_.release(*p.kept);
      p = {};
    }
    give_back(f.arrivals);
    give_back(f.departures);
  }

 private:
  static bool packed(const strided& s) { return !s.contiguous() && !by_blocks(s); }

  // Does every member get the same piece of this stage?
  static bool same_for_all(const flight& f, int stage) {
    const call_kind kind = f.what.kind;
    return stage == 1 || f.whole || kind == call_kind::all_gather || kind == call_kind::barrier ||
           (kind == call_kind::broadcast && f.what.peer == f.g->me());
  }

  void send_stage(flight& f, int stage) {
    const pieces_of pieces(f);
    group_state& g = *f.g;
    packet* shared = nullptr;
    for (int q = g.next_of(g.me()); q != g.me(); q = g.next_of(q)) {
      if (!pieces.sends(q)) continue;
      const strided s = pieces.outgoing(stage, q);
      packet& p = shared ? *shared : announcement(f, stage, s);
      wire_.send_more(p, g.rank(q));
      g.told[static_cast<std::size_t>(q)] = g.completed;
      if (p.head.bulk) send_bulk(f, stage, q, s, p.head.bulk);
      if (same_for_all(f, stage)) shared = &p;
      else wire_.release(p);
    }
    if (shared) wire_.release(*shared);
  }

  packet& announcement(const flight& f, int stage, const strided& s) {
    packet& p = wire_.fresh();
    packet_header& h = p.head;
    set_call(h, f.what);
    h.kind = packet_kind::piece;
    h.stage = static_cast<std::uint8_t>(stage);
    h.from = f.g->me();
    h.group = f.g->key();
    h.sequence = f.sequence;
    h.completed = f.g->completed;
    h.bytes = s.size();
    if (h.bytes > inline_bytes) h.bulk = wire_.next_tag();
    else pack(p.data, s);
    return p;
  }

  void send_bulk(flight& f, int stage, int q, const strided& s, int tag) {
    const transfer t{&f, stage, q, false};
    const int rank = f.g->rank(q);
    const std::byte* from = s.data;
    if (packed(s)) {
      if (!f.departures) f.departures = &borrow(s.size() * (f.g->size() - 1));
      std::byte* const place = pieces_of(f).staged(f.departures, q, s.size());
      pack(place, s);
      from = place;
    }
    int requests = 0;
    if (by_blocks(s))
      for (long b = 0; b < s.blocks; ++b)
        requests += wire_.send_bulk(t, from + b * s.stride, s.bytes, rank, tag, false);
    else requests = wire_.send_bulk(t, from, s.size(), rank, tag, false);
    f.at(stage, q).sending += requests;
    f.sending += requests;
  }

  static void keep_own(const flight& f, const pieces_of& pieces) {
    const int me = f.g->me();
    const call_kind kind = f.what.kind;
    if (kind != call_kind::all_gather && kind != call_kind::all_to_all && kind != call_kind::all_to_all_v) return;
    const strided from = pieces.outgoing(0, me), to = pieces.incoming(0, me);
    for (long b = 0; b < to.blocks; ++b) copy_bytes(to.data + b * to.stride, from.data + b * from.stride, to.bytes);
  }

  bool compare(flight& f, const packet_header& h) {
    if (matches(f.what, call_of(h))) return true;
    break_with(*f.g,
               me_text() + describe(f.what) + " does not match rank " + std::to_string(f.g->rank(h.from)) + "'s " +
                   describe(call_of(h)),
               false, f.ticket);
    return false;
  }
  bool compare_bytes(flight& f, int q, long expected, long sent) {
    if (sent == expected) return true;
    break_with(*f.g,
               me_text() + describe(f.what) + ": rank " + std::to_string(f.g->rank(q)) + " sends " +
                   std::to_string(sent) + " bytes to rank " + std::to_string(rank_) + ", which expects " +
                   std::to_string(expected),
               false, f.ticket);
    return false;
  }

  // A kept packet of an active call.
  void take(flight& f, int stage, int q) {
    piece& p = f.at(stage, q);
    packet& k = *p.kept;
    const pieces_of pieces(f);
    if (!compare(f, k.head)) return;
    if (!pieces.awaits(q)) return drop(p);
    const strided to = pieces.incoming(stage, q);
    if (!compare_bytes(f, q, to.size(), k.head.bytes)) return;
    if (stage == 1 && f.in == f.out && f.at(0, q).sending > 0) return;  // that memory is still being sent
    if (k.head.bulk) return receive(f, stage, q, to);
    if (to.data) {
      unpack(to, k.data);
      drop(p);
    }
    arrived(f, stage, q);
  }
  void drop(piece& p) {
    wire_.release(*p.kept);
    p.kept = nullptr;
  }

  void receive(flight& f, int stage, int q, const strided& to) {
    piece& p = f.at(stage, q);
    const int tag = p.kept->head.bulk, rank = f.g->rank(q);
    drop(p);
    const bool staged = !to.data || packed(to);
    if (staged && !f.arrivals) f.arrivals = &borrow(to.size() * (f.g->size() - 1));
    std::byte* const place = staged ? pieces_of(f).staged(f.arrivals, q, to.size()) : to.data;
    const transfer t{&f, stage, q, true};
    if (by_blocks(to))
      for (long b = 0; b < to.blocks; ++b) p.parts += wire_.receive_bulk(t, place + b * to.stride, to.bytes, rank, tag);
    else p.parts = wire_.receive_bulk(t, place, to.size(), rank, tag);
  }

  void arrived(flight& f, int stage, int q) {
    f.at(stage, q).here = true;
    --f.missing[stage];
    if (!f.whole) count(*f.g, pieces_of(f).incoming(stage, q).size());
    advance(f);
  }

  void advance(flight& f) {
    if (f.missing[0] > 0) return;
    if (is_reduction(f.what.kind) && !reduce(f)) {
      if (std::ranges::find(reducing_, &f) == reducing_.end()) reducing_.push_back(&f);
      return;
    }
    if (f.what.kind == call_kind::all_reduce && !f.whole && f.stage == 0) {
      f.stage = 1;
      send_stage(f, 1);
    }
    if (f.missing[1] == 0 && f.sending == 0) complete(f);
  }

  // One slice, so that nobody waits long for this rank's state. Is all of it reduced?
  bool reduce(flight& f) {
    const pieces_of pieces(f);
    const bool scatter = f.what.kind == call_kind::reduce_scatter;
    const long size = size_of(f.what.element), slice = reduce_slice / size;
    const strided own =
        scatter || f.whole ? pieces.outgoing(0, f.g->me()) : pieces.part(const_cast<std::byte*>(f.in), f.g->me());
    const long each = own.bytes / size, total = own.blocks * each;
    std::byte* const out = scatter || f.whole ? f.out : pieces.part(f.out, f.g->me()).data;
    if (f.reduced >= total) return true;
    const long block = f.reduced / each, begin = f.reduced % each, end = std::min(each, begin + slice);
    inputs_.resize(static_cast<std::size_t>(f.g->size()));
    for (int q = 0; q < f.g->size(); ++q)
      inputs_[static_cast<std::size_t>(q)] =
          q == f.g->me() ? own.data + block * own.stride : arrival(f, pieces, q, own.size()) + block * own.bytes;
    void* to = out + block * own.bytes;
    const bool stream = scatter && own.size() >= streaming_bytes;
    reducer(f.what.element, f.what.accumulate, f.what.how)(inputs_.data(), f.g->size(), {&to, 1, stream}, begin, end);
    if (stream) stream_fence();
    f.reduced += end - begin;
    if (f.reduced < total) return false;
    if (f.whole) count(*f.g, pieces.ring_bytes());
    return true;
  }
  const std::byte* arrival(flight& f, const pieces_of& pieces, int q, long bytes) const {
    const packet* kept = f.at(0, q).kept;
    return kept ? kept->data : pieces.staged(f.arrivals, q, bytes);
  }

  void complete(flight& f) {
    group_state& g = *f.g;
    drop_pieces(f);
    close_flight(f);
    while (g.completed < g.next && !g.slot(g.completed).active()) ++g.completed;
    tell_completed(g);
  }

  static constexpr long reduce_slice = 1 << 20;  // bytes
  std::vector<flight*> reducing_;
  std::vector<const void*> inputs_;
};

}  // namespace meshpar::inline v0::processes
