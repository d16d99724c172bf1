// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/core/dtype.hpp>
#include <meshpar/kernels/tile.hpp>

namespace meshpar::inline v0::kernels {

// Every kernel is a body, written once, over a block of threads that share memory: a CUDA block, one host thread
// whose loops vectorise, or (in tests) real threads and fibers. All threads of a block run the body with the same
// arguments. A body takes the range of rows (or columns, or elements) that this block owns, so a grid is a partition
// of that range; memory that the threads share is passed in as `scratch`.
//
//   thread(), threads()   this thread's index, and how many there are
//   sync()                a barrier of all threads, after which each sees what the others wrote
//   sum(v), max(v)        over all threads, the same value on each; every thread must call
//   multiply(...)         C[m, n] += A[m, k] B[k, n] in shared memory; the caller syncs before and after
//   lanes                 adjacent elements that one thread takes at a time: 1 where threads are lanes
template <class B>
concept block = requires(const B& b, float v, float* c) {
  b.thread() < b.threads();
  b.sync();
  v = b.sum(v);
  v = b.max(v);
  b.multiply(c, 1L, c, 1L, 1L, c, 1L, 1L, 1L, 1L);
  B::lanes > 0;
};

// The host's block.
struct one_thread {
  static constexpr int lanes = 32;
  MESHPAR_HD constexpr int thread() const { return 0; }
  MESHPAR_HD constexpr int threads() const { return 1; }
  MESHPAR_HD constexpr void sync() const {}
  template <class A>
  MESHPAR_HD constexpr A sum(A v) const {
    return v;
  }
  template <class A>
  MESHPAR_HD constexpr A max(A v) const {
    return v;
  }
  template <class A>
  MESHPAR_HD void multiply(A* c, long c_stride, const A* a, long a_row, long a_column, const A* b, long b_stride,
                           long m, long n, long k) const {
    tile_product(c, c_stride, a, a_row, a_column, b, b_stride, m, n, k);
  }
};
static_assert(block<one_thread>);

struct index_range {
  long begin = 0, end = 0;
};

template <class A>
MESHPAR_HD constexpr A larger(A a, A b) {
  return a > b ? a : b;
}
template <class A>
MESHPAR_HD constexpr A smaller(A a, A b) {
  return a < b ? a : b;
}

// f(i) for every i of the range, shared out among the threads.
template <block B, class F>
MESHPAR_HD void for_each(const B& b, index_range r, F f) {
  for (long i = r.begin + b.thread(); i < r.end; i += b.threads()) f(i);
}

// The fold of f(0) .. f(n - 1) into `lanes` running values per thread, then of the lanes: a fixed order, and a loop
// that vectorises without leave to reassociate.
template <class A, block B, class F, class Fold>
MESHPAR_HD A fold_lanes(const B& b, long n, A start, F f, Fold fold) {
  A lane[B::lanes];
  for (int l = 0; l < B::lanes; ++l) lane[l] = start;
  const long step = long{B::lanes} * b.threads();
  long i = long{B::lanes} * b.thread();
  for (; i + B::lanes <= n; i += step)
    for (int l = 0; l < B::lanes; ++l) lane[l] = fold(lane[l], f(i + l));
  for (int l = 0; i + l < n; ++l) lane[l] = fold(lane[l], f(i + l));
  for (int half = B::lanes / 2; half > 0; half /= 2)
    for (int l = 0; l < half; ++l) lane[l] = fold(lane[l], lane[l + half]);
  return lane[0];
}

// Sum of f(0) .. f(n - 1) over the block, on every thread.
template <class A, block B, class F>
MESHPAR_HD A sum_over(const B& b, long n, F f) {
  return b.sum(fold_lanes<A>(b, n, A{}, f, [](A x, A y) { return x + y; }));
}

// Largest of `least` and f(0) .. f(n - 1) over the block, on every thread.
template <class A, block B, class F>
MESHPAR_HD A max_over(const B& b, long n, A least, F f) {
  return b.max(fold_lanes<A>(b, n, least, f, [](A x, A y) { return larger(x, y); }));
}

// out[c] = (accumulate ? out[c] : 0) + sum over r < rows of f(r, c), for every column c of the range, rows in order.
template <class A, block B, class F>
MESHPAR_HD void column_sums(const B& b, index_range columns, long rows, A* out, bool accumulate, F f) {
  const long step = long{B::lanes} * b.threads();
  for (long c = columns.begin + long{B::lanes} * b.thread(); c < columns.end; c += step) {
    A lane[B::lanes] = {};
    const int count = static_cast<int>(smaller(long{B::lanes}, columns.end - c));
    for (long r = 0; r < rows; ++r) {
      if (count == B::lanes)
        for (int l = 0; l < B::lanes; ++l) lane[l] += f(r, c + l);
      else
        for (int l = 0; l < count; ++l) lane[l] += f(r, c + l);
    }
    for (int l = 0; l < count; ++l) out[c + l] = (accumulate ? out[c + l] : A{}) + lane[l];
  }
}

}  // namespace meshpar::inline v0::kernels
