// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
// Ranks that are processes of MPI, in host memory. Link with MPI (the CMake component mpi), start with mpirun.
#include <meshpar/comm/mpi_communicator.hpp>
#include <meshpar/comm/mpi_world.hpp>
