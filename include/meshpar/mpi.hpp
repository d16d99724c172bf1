// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
// Ranks that are processes of MPI, in host memory: launch<net, mpi>. Link with MPI (the CMake component mpi), start
// with mpirun; started alone, the ranks are threads.
#include <meshpar/comm/mpi/communicator.hpp>
#include <meshpar/comm/mpi/world.hpp>
#include <meshpar/train/run_processes.hpp>
