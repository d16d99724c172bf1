// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/call.hpp>

#include <atomic>
#include <cstddef>
#include <memory>

namespace meshpar::inline v0::threading {

inline constexpr int depth = 16;           // calls that one rank may have in flight on one group
inline constexpr long eager_bytes = 4096;  // up to here the caller's input is copied and not read by its peers

// One call of one rank, as its peers see it. Call number s of a group uses slot s mod depth on every rank. Sequence
// numbers only grow, so a flag needs no reset: posted > s means that s is there to be read, claimed > s that somebody
// moves this rank's share of the data, finished > s that it has been moved, and left > s that this rank looks at the
// slots of s no more.
struct alignas(64) slot {
  std::atomic<long> posted{0};
  long completed = 0;  // this rank has left all calls below this number
  const void* in = nullptr;
  void* out = nullptr;
  call what;
  int core = 0;  // on which this rank ran when it posted a call that is not eager
  alignas(64) std::atomic<long> claimed{0};
  std::atomic<long> finished{0}, left{0};
};

// What one rank owns of a group. Only slots are read by peers.
struct alignas(64) member {
  slot ring[depth];
  long next = 0;             // the next call's number
  long completed = 0;        // see slot
  long peers_completed = 0;  // what all peers have reached, as of the last call that all had posted
  long calls[call_kinds] = {};
  std::unique_ptr<std::atomic<long>[]> moved;  // [n]: bytes of others that this rank moved to each member
  std::unique_ptr<std::byte[]> stage;          // [depth][eager_bytes]
  std::unique_ptr<long[]> counts;  // [depth][4][n], of all_to_all_v: send bytes, send offsets, receive bytes, offsets
};

// A message from one rank to another, in the slot of its number mod depth.
struct alignas(64) message {
  std::atomic<long> posted{0};
  const void* data = nullptr;
  call what;
  alignas(64) std::atomic<long> taken{0};
};

// All messages of one ordered pair of ranks. The sender owns next and posting, the receiver lowest.
struct channel {
  message ring[depth];
  alignas(64) long next = 0;    // the next send's number
  long posting = 0;             // the next to be posted: sends are posted in the order of their start
  alignas(64) long lowest = 0;  // all below have been received
  std::unique_ptr<std::byte[]> stage{new std::byte[depth * eager_bytes]};
};

}  // namespace meshpar::inline v0::threading
