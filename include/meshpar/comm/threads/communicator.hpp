// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/starting.hpp>
#include <meshpar/comm/threads/rank.hpp>

namespace meshpar::inline v0 {

// The communicator of one rank among the threads of one process. Made by threads_world::rank, used by one thread.
// Where members of a group disagree, all of them throw.
class threads : public starting<threads, threading::rank_engine> {
 public:
  using starting::starting;
};

}  // namespace meshpar::inline v0
