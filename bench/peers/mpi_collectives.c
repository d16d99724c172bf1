// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The collectives of an MPI library, timed as bench/collectives.cpp times its own: microseconds per call, f32 sum, out of
// place, the slowest rank, median of five batches. `size` is the larger vector of a rank, in bytes.
// Usage: mpirun -np P PROG SECONDS_PER_CELL SIZE...   Prints: operation size microseconds
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { all_reduce, all_gather, reduce_scatter, all_to_all, operations };
static const char* const names[] = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all"};

static float *in, *out;
static int ranks, rank;

static void call(int operation, long bytes) {
  const int count = (int)(bytes / 4), piece = count / ranks;
  switch (operation) {
    case all_reduce: MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); break;
    case all_gather: MPI_Allgather(in, piece, MPI_FLOAT, out, piece, MPI_FLOAT, MPI_COMM_WORLD); break;
    case reduce_scatter: MPI_Reduce_scatter_block(in, out, piece, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); break;
    case all_to_all: MPI_Alltoall(in, piece, MPI_FLOAT, out, piece, MPI_FLOAT, MPI_COMM_WORLD); break;
  }
}

// Seconds per call of the slowest rank.
static double batch(int operation, long bytes, int calls) {
  MPI_Barrier(MPI_COMM_WORLD);
  double seconds = MPI_Wtime();
  for (int i = 0; i < calls; ++i) call(operation, bytes);
  seconds = (MPI_Wtime() - seconds) / calls;
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double median_of_five(int operation, long bytes, double budget) {
  batch(operation, bytes, 1);
  const double wanted = budget / 5 / batch(operation, bytes, 1);
  const int calls = wanted < 1 ? 1 : wanted > 20000 ? 20000 : (int)wanted;
  double each[5];
  for (int i = 0; i < 5; ++i) each[i] = batch(operation, bytes, calls);
  qsort(each, 5, sizeof *each, ascending);
  return each[2];
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc < 3) MPI_Abort(MPI_COMM_WORLD, 2);
  long most = 0;
  for (int i = 2; i < argc; ++i)
    if (atol(argv[i]) > most) most = atol(argv[i]);
  if (posix_memalign((void**)&in, 4096, (size_t)most) || posix_memalign((void**)&out, 4096, (size_t)most)) return 1;
  for (long i = 0; i < most / 4; ++i) {
    in[i] = (float)(rank + 1);
    out[i] = 0;
  }
  for (int operation = 0; operation < operations; ++operation)
    for (int i = 2; i < argc; ++i) {
      const double seconds = median_of_five(operation, atol(argv[i]), atof(argv[1]));
      if (rank == 0) printf("%s %s %.3f\n", names[operation], argv[i], seconds * 1e6);
    }
  MPI_Finalize();
  return 0;
}
