// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/group.hpp>
#include <meshpar/comm/threads/progress.hpp>

namespace meshpar::inline v0::threading {

// Starts, finishes and cancels the calls of one rank; only the rank's own thread enters. Allocates when the rank has
// more calls in flight than ever before, joins a group, opens a channel or fails, and else never.
class rank_engine : public rank_progress {
 public:
  using rank_progress::rank_progress;

  void label(const char* text) { label_ = text; }
  void step(long number) { run_.of(rank_).step.store(number, std::memory_order_relaxed); }

  int size() const { return run_.size(); }

  group join(std::span<const int> ranks) {
    const int place = place_in(ranks, rank_, size());
    group_state& g = run_.find_group(ranks);
    return {g.ranks(), place, number_of(g)};
  }
  member& at(const group& g) { return state(g).at(g.index()); }
  long received(const group& g) { return state(g).received(g.index()); }
  const long* calls(const group& g) { return at(g).calls; }

  // in_bytes: what peers may read from `in`
  long start_collective(const group& g, const call& what, const void* in, long in_bytes, void* out) {
    pending p = begin(g, what);
    take_number(p, in_bytes);
    p.in = in;
    return post(p, p.eager ? copy(p.g->stage_of(p.me, p.sequence), in, in_bytes) : in, out);
  }

  long start_exchange(const group& g, const call& what, const void* in, void* out, const exchange& each) {
    pending p = begin(g, what);
    long bytes = 0;
    for (const long b : each.parts[0]) bytes += b;
    take_number(p, bytes);
    long* counts = p.g->counts_of(p.me, p.sequence);
    for (int part = 0; part < 4; ++part) std::ranges::copy(each.parts[part], counts + part * g.size());
    p.in = p.eager ? pack(p, in, counts) : in;
    return post(p, p.in, out);
  }

  long start_send(const group& g, const call& what, const void* in) {
    pending p = begin(g, what);
    p.phase = phase::posting;
    p.eager = what.inner <= eager_bytes;
    p.in = in;
    p.sequence = p.g->open_channel(p.me, what.peer).next++;
    keep(p);
    progress();
    return p.serial;
  }

  long start_receive(const group& g, const call& what, void* out) {
    pending p = begin(g, what);
    p.out = out;
    return keep(p);
  }

  void finish(long serial) {
    try {
      pending& p = find(serial);
      progress();
      wait_until(p, [&] { return p.phase == phase::done; });
    } catch (...) {
      cancel(serial);
      throw;
    }
    erase(serial);
  }

  // Returns when no peer touches this call's buffers any more.
  void cancel(long serial) noexcept {
    const pending& p = find(serial);
    if (p.phase != phase::done) {
      p.g->break_with(me_text() + "cancelled " + describe(p.what), true);
      for (const int q : p.g->ranks())
        while (q != rank_ && run_.of(q).busy.load(std::memory_order_seq_cst)) std::this_thread::yield();
    }
    erase(serial);
  }

  std::string describe(long serial) { return me_text() + describe(find(serial).what); }

 private:
  using rank_progress::describe;

  group_state& state(const group& g) { return *groups_[static_cast<std::size_t>(g.id())]; }
  int number_of(group_state& g) {
    const auto known = std::ranges::find(groups_, &g);
    const auto number = known - groups_.begin();
    if (known == groups_.end()) groups_.push_back(&g);
    return static_cast<int>(number);
  }

  pending begin(const group& g, const call& what) {
    pending p;
    p.g = &state(g);
    p.me = g.index();
    p.what = what;
    p.what.label = label_;
    status& s = run_.of(rank_);
    s.kind.store(what.kind, std::memory_order_relaxed);
    s.label.store(label_, std::memory_order_relaxed);
    s.waiting.store(false, std::memory_order_relaxed);
    if (what.inner < 0 || (what.outer < 0 && !p.is_message())) refuse(p.what, "has a negative size");
    if (run_.failed()) throw run_aborted(run_.failure());
    if (p.g->broken()) leave_broken(p);
    ++at(g).calls[static_cast<int>(what.kind)];
    return p;
  }

  // A buffered call needs its peers once, not twice; but then every rank sums all of an all-reduce.
  void take_number(pending& p, long in_bytes) {
    p.sequence = p.g->at(p.me).next;
    make_room(p);
    ++p.g->at(p.me).next;
    p.eager =
        in_bytes <= eager_bytes && !(p.what.kind == call_kind::all_reduce && in_bytes * p.g->size() > 4 * eager_bytes);
  }

  // Waits until the slot of this call is free: until all members have left the call `depth` before it.
  void make_room(const pending& p) {
    const long old = p.sequence - depth;
    if (old < p.g->at(p.me).peers_completed) return;
    pending before = p;
    before.sequence = old;
    before.phase = phase::reusing;
    progress();
    if (!before.has_left(p.me))
      refuse(p.what,
             "is number " + std::to_string(depth + 1) + " in flight on one group: wait for an earlier one first");
    wait_until(before, [&] { return all_left(before); });
  }

  long post(pending& p, const void* in, void* out) {
    const member& m = p.g->at(p.me);
    slot& s = p.g->slot_of(p.me, p.sequence);
    s.in = in;
    s.out = out;
    s.what = p.what;
    s.completed = m.completed;
    if (p.eager) s.claimed.store(p.sequence + 1, std::memory_order_relaxed);  // its owner waits for nobody
    else s.core = this_core();
    s.posted.store(p.sequence + 1, std::memory_order_release);
    return keep(p);
  }

  // All pieces behind each other in the stage; offsets are those of the stage from then on.
  const void* pack(const pending& p, const void* in, long* counts) {
    const int n = p.g->size();
    std::byte* stage = p.g->stage_of(p.me, p.sequence);
    for (long q = 0, at = 0; q < n; at += counts[q++]) {
      copy(stage + at, bytes_at(in, counts[n + q]), counts[q]);
      counts[n + q] = at;
    }
    return stage;
  }

  long keep(pending& p) {
    p.serial = ++serial_;
    pending_.push_back(p);
    return p.serial;
  }
  pending& find(long serial) { return *std::ranges::find(pending_, serial, &pending::serial); }
  void erase(long serial) { pending_.erase(std::ranges::find(pending_, serial, &pending::serial)); }

  std::vector<group_state*> groups_;  // by group::id
  long serial_ = 0;
  const char* label_ = "";
};

}  // namespace meshpar::inline v0::threading
