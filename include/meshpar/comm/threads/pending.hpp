// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/threads/group.hpp>

namespace meshpar::inline v0::threading {

// A send waits for room (posting), a collective for its members and a receive for its message (arriving); who lent
// memory to its peers waits until all data have been moved (leaving). Before a slot is used again, all members must
// have left its last call (reusing).
enum class phase : std::uint8_t { posting, arriving, leaving, reusing, done };

// A call that this rank has started and not yet waited for.
struct pending {
  long serial = 0;
  group_state* g = nullptr;
  int me = 0;  // index in g
  call what;
  long sequence = 0;  // of the collective in its group, of the send in its channel
  threading::phase phase = threading::phase::arriving;
  bool eager = false;
  int arrived = 0, left = 0;  // members [0, arrived) have posted, [0, left) are moved
  const void* in = nullptr;   // what this rank reads, while its peers may read a copy
  void* out = nullptr;        // of a receive

  bool is_send() const { return what.kind == call_kind::send; }
  bool is_receive() const { return what.kind == call_kind::receive; }
  bool is_message() const { return is_send() || is_receive(); }
  bool has_posted(int q) const { return reached(slot_of(q).posted); }
  bool has_finished(int q) const { return reached(slot_of(q).finished); }
  bool has_left(int q) const { return reached(slot_of(q).left); }

  // True for one rank only.
  bool claim(int q) const {
    std::atomic<long>& claimed = slot_of(q).claimed;
    long seen = claimed.load(std::memory_order_relaxed);
    return seen <= sequence && claimed.compare_exchange_strong(seen, sequence + 1, std::memory_order_relaxed);
  }

  // Does this call still wait for member q?
  bool misses(int q) const {
    if (is_message()) return q == what.peer;
    if (phase == threading::phase::reusing) return !has_left(q);
    return phase == threading::phase::leaving ? !has_finished(q) : !has_posted(q);
  }

 private:
  slot& slot_of(int q) const { return g->slot_of(q, sequence); }
  bool reached(const std::atomic<long>& flag) const { return flag.load(std::memory_order_acquire) > sequence; }
};

}  // namespace meshpar::inline v0::threading
