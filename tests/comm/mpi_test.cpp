// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/mpi_ranks.hpp"
// The checks that all communicators share, on the processes of mpirun.
#include "comm/collective_checks.hpp"
