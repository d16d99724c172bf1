// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/mpi/engine.hpp>
#include <meshpar/comm/starting.hpp>

namespace meshpar::inline v0 {

class mpi_world;

// The communicator of a rank that is a process of MPI; host memory. Made by mpi_world, used by one thread. MPI moves
// bytes, sums are those of threads, bit for bit. Calls progress while the rank computes.
//
// Where members of a group disagree, those that wait throw; one whose part was over already throws at its next call on
// the group. A broadcast waits for its root only.
class mpi : public starting<mpi, processes::rank_engine> {
 public:
  using starting::starting;
  using world = mpi_world;
};

}  // namespace meshpar::inline v0
