// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/threads/core.hpp>
#include <meshpar/comm/threads/move.hpp>
#include <meshpar/comm/threads/refusal.hpp>
#include <meshpar/comm/words.hpp>

namespace meshpar::inline v0::threading {

// The calls that one rank has in flight, and how they come to an end. Every wait advances all of them, in the order of
// their start, so that ranks may wait for them in different orders.
class rank_progress : public rank_refusal {
 public:
  rank_progress(run_state& run, int rank)
      : rank_refusal(run, rank), in_(static_cast<std::size_t>(run.size())), out_(static_cast<std::size_t>(run.size())) {
    pending_.reserve(4 * depth);
  }

 protected:
  void progress() {
    for (pending& p : pending_)
      if (p.phase != phase::done && advance(p)) p.phase = phase::done;
  }

  bool advance(pending& p) {
    if (p.is_send()) return advance_send(p);
    if (p.is_receive()) return advance_receive(p);
    if (p.phase == phase::arriving && !(all_arrived(p) && (all_finished(p) || work(p)))) return false;
    if (!p.eager && !all_finished(p)) return false;
    depart(p);
    return true;
  }

  bool all_arrived(pending& p) {
    for (; p.arrived < p.g->size(); ++p.arrived) {
      if (!p.has_posted(p.arrived)) return false;
      compare(p, p.arrived);
    }
    if (p.what.kind == call_kind::all_to_all_v) compare_counts(p);
    return true;
  }

  bool work(pending& p) {
    const bool lent = !p.eager || sizes_differ(p.what.kind);  // some member's input may be its own memory
    if (lent && !enter(*p.g)) return false;
    if (p.eager) move(p, p.me);
    else move_shares(p);
    if (lent) run_.of(rank_).busy.store(false, std::memory_order_release);
    p.phase = phase::leaving;
    return true;
  }

  // Where ranks share cores, whoever runs moves the data of those who don't: a call then costs each rank one turn on
  // its core, not a second one in which it only does its share. First those that posted from this core, for their lines
  // are in its caches.
  void move_shares(pending& p) {
    if (!run_.crowded()) return move(p, p.me);
    const int core = this_core();
    for (const bool here : {true, false})
      for (int i = 0, q = p.me; i < p.g->size(); ++i, q = q + 1 == p.g->size() ? 0 : q + 1)
        if ((p.g->slot_of(q, p.sequence).core == core) == here && p.claim(q)) move(p, q);
  }

  void move(const pending& p, int member) {
    mover(*p.g, p.me, p.in, member, p.sequence, in_.data(), out_.data()).move(p.eager);
    p.g->slot_of(member, p.sequence).finished.store(p.sequence + 1, std::memory_order_release);
  }

  // Either this rank sees that the group is broken, or who breaks it sees that this rank is busy and waits.
  bool enter(group_state& g) {
    std::atomic<bool>& busy = run_.of(rank_).busy;
    busy.store(true, std::memory_order_seq_cst);
    if (!g.broken() && !run_.failed()) return true;
    busy.store(false, std::memory_order_release);
    return false;
  }

  void depart(const pending& p) {
    member& m = p.g->at(p.me);
    long reached = p.sequence + depth;
    for (int q = 0; q < p.g->size(); ++q) reached = std::min(reached, p.g->slot_of(q, p.sequence).completed);
    m.peers_completed = std::max(m.peers_completed, reached);
    m.ring[p.sequence % depth].left.store(p.sequence + 1, std::memory_order_release);
    while (m.completed < m.next && m.ring[m.completed % depth].left.load(std::memory_order_relaxed) > m.completed)
      ++m.completed;
  }

  static bool all_finished(pending& p) {
    while (p.left < p.g->size() && p.has_finished(p.left)) ++p.left;
    return p.left == p.g->size();
  }
  static bool all_left(pending& p) {
    while (p.left < p.g->size() && p.has_left(p.left)) ++p.left;
    return p.left == p.g->size();
  }

  bool advance_send(pending& p) {
    channel& c = p.g->open_channel(p.me, p.what.peer);
    message& m = c.ring[p.sequence % depth];
    const long taken = m.taken.load(std::memory_order_acquire);
    if (p.phase == phase::leaving) return taken > p.sequence;
    if (c.posting != p.sequence || taken <= p.sequence - depth) return false;
    m.data = p.eager ? copy(c.stage.get() + p.sequence % depth * eager_bytes, p.in, p.what.inner) : p.in;
    m.what = p.what;
    m.posted.store(++c.posting, std::memory_order_release);
    p.phase = phase::leaving;
    return p.eager;
  }

  // Takes the oldest message of this tag.
  bool advance_receive(pending& p) {
    channel* c = p.g->channel_between(p.what.peer, p.me);
    if (!c) return false;
    for (long s = c->lowest; c->ring[s % depth].posted.load(std::memory_order_acquire) > s; ++s) {
      message& m = c->ring[s % depth];
      if (m.taken.load(std::memory_order_relaxed) > s || m.what.outer != p.what.outer) continue;
      if (m.what.inner != p.what.inner) leave(p, mismatch(p, p.what.peer, m.what));
      return take(p, *c, m, s);
    }
    return false;
  }

  bool take(const pending& p, channel& c, message& m, long s) {
    if (!enter(*p.g)) return false;
    copy(p.out, m.data, p.what.inner);
    run_.of(rank_).busy.store(false, std::memory_order_release);
    if (p.what.peer != p.me) p.g->count(p.me, p.me, p.what.inner);
    m.taken.store(s + 1, std::memory_order_release);
    while (c.ring[c.lowest % depth].taken.load(std::memory_order_relaxed) > c.lowest) ++c.lowest;
    return true;
  }

  template <class Done>
  void wait_until(const pending& p, Done done) {
    if (done()) return;
    run_.of(rank_).waiting.store(true, std::memory_order_relaxed);
    for (patience patience(run_.crowded()); !done();) {
      patience.pause();
      const bool doomed = !patience.spinning() && (run_.failed() || p.g->broken());
      progress();  // after the look at the failure: what was complete before it succeeds
      if (!done()) check(p, doomed, patience.waited());
    }
    run_.of(rank_).waiting.store(false, std::memory_order_relaxed);
  }

  void check(const pending& p, bool doomed, double waited) {
    if (doomed && run_.failed()) throw run_aborted(run_.failure());
    if (doomed) leave_broken(p);
    if (waited > run_.time_out()) leave(p, " waited " + seconds_words(waited) + " for " + missing(p));
    if (waited > 0.001 && misses_ended(p)) leave(p, " waits in vain for " + missing(p));
  }

  bool misses_ended(const pending& p) {
    for (int q = 0; q < p.g->size(); ++q)
      if (q != p.me && run_.of(p.g->rank(q)).ended.load(std::memory_order_acquire) && misses(p, q)) return true;
    return false;
  }
  // A message may have come or gone since the last look.
  bool misses(const pending& p, int q) {
    if (!p.is_message()) return p.misses(q);
    progress();
    return p.misses(q) && p.phase != phase::done;
  }

  static const void* copy(void* to, const void* from, long bytes) {
    if (bytes > 0) __builtin_memcpy(to, from, static_cast<std::size_t>(bytes));
    return to;
  }

  std::vector<pending> pending_;

 private:
  std::vector<const void*> in_;  // room for the pointers of one call
  std::vector<void*> out_;
};

}  // namespace meshpar::inline v0::threading
