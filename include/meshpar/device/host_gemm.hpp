// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/device/gemm_shape.hpp>
#include <meshpar/kernels/tile.hpp>

#include <algorithm>
#include <new>
#include <type_traits>

namespace meshpar::inline v0 {

// Matrix products that need nothing: panels packed for the register tile, blocked for the caches (Goto and van de
// Geijn 2008), on the calling thread. The order of every sum depends on the shape alone.
template <class A>
struct gemm_blocking {
  // A register tile of rows x columns leaves room for one row of B and an element of A.
  static constexpr int rows = kernels::vector_bytes == 64 ? 14 : 6, vectors = 2;
  static constexpr long columns = vectors * kernels::vector_width<A>;
  static constexpr long m = 10 * rows, k = 256, n = 4096 / long{sizeof(A)};  // A's and B's blocks fit the second cache
  static constexpr long wide_m = 384;                                        // rows of C kept aside when it is narrower
  static constexpr long elements = m * k + k * n + wide_m * n;
};

// A thread's packing space, taken at its first product and kept.
template <class A>
struct gemm_space {
  static constexpr std::align_val_t line{64};
  A* memory = static_cast<A*>(::operator new(gemm_blocking<A>::elements * sizeof(A), line));
  gemm_space() = default;
  gemm_space(const gemm_space&) = delete;
  gemm_space& operator=(const gemm_space&) = delete;
  ~gemm_space() { ::operator delete(memory, line); }

  static A* of_this_thread() {
    thread_local gemm_space space;
    return space.memory;
  }
};

// `count` lines of Width elements side by side: to[line / Width][p][line % Width] = factor * line p-th element, zero
// in the lines that make up the last Width. Elements of a line are `step` apart, lines `stride`.
template <int Width, class A, class T>
void pack_panels(A* to, const T* from, long stride, long step, long count, long k, A factor) {
  for (long first = 0; first < count; first += Width, to += Width * k) {
    const long lines = std::min(long{Width}, count - first);
    const T* in = from + first * stride;
    if (lines < Width) std::fill(to, to + Width * k, A{});
    if (lines == Width && stride == 1)
      for (long p = 0; p < k; ++p)
        for (long i = 0; i < Width; ++i) to[p * Width + i] = factor * A(in[p * step + i]);
    else
      for (long i = 0; i < lines; ++i)
        for (long p = 0; p < k; ++p) to[p * Width + i] = factor * A(in[i * stride + p * step]);
  }
}

// C[rows, columns] = beta C, where beta 0 clears whatever was there.
template <class A>
void scale_block(A* c, long stride, long rows, long columns, A beta) {
  if (beta == A{1}) return;
  for (long i = 0; i < rows; ++i)
    for (long j = 0; j < columns; ++j) c[i * stride + j] = beta == A{} ? A{} : beta * c[i * stride + j];
}

// C[m, n] += the product of two packed blocks.
template <class A>
void multiply_packed(A* c, long stride, const A* a, const A* b, long m, long n, long k) {
  using blocking = gemm_blocking<A>;
  constexpr long rows = blocking::rows, columns = blocking::columns;
  for (long j = 0; j < n; j += columns)
    for (long i = 0; i < m; i += rows) {
      const A *left = a + i * k, *right = b + j * k;
      A* to = c + i * stride + j;
      if (i + rows <= m && j + columns <= n) {
        kernels::register_tile<blocking::rows, blocking::vectors>(to, stride, left, 1, rows, right, columns, k);
        continue;
      }
      alignas(64) A edge[rows * columns] = {};
      kernels::register_tile<blocking::rows, blocking::vectors>(edge, columns, left, 1, rows, right, columns, k);
      for (long r = 0; r < std::min(rows, m - i); ++r)
        for (long s = 0; s < std::min(columns, n - j); ++s) to[r * stride + s] += edge[r * columns + s];
    }
}

// C of the accumulator's type.
template <class A, class T>
void blocked_gemm(const gemm_shape& s, A alpha, const T* a, const T* b, A beta, A* c, A* space) {
  using block = gemm_blocking<A>;
  A *packed_a = space, *packed_b = space + block::m * block::k;
  const long a_line = s.transpose_a ? 1 : s.a, a_step = s.transpose_a ? s.a : 1;
  const long b_line = s.transpose_b ? s.b : 1, b_step = s.transpose_b ? 1 : s.b;
  if (s.k == 0) scale_block(c, s.c, s.m, s.n, beta);
  for (long j = 0; j < s.n; j += block::n)
    for (long p = 0; p < s.k; p += block::k) {
      const long n = std::min(block::n, s.n - j), k = std::min(block::k, s.k - p);
      pack_panels<block::columns>(packed_b, b + j * b_line + p * b_step, b_line, b_step, n, k, A{1});
      for (long i = 0; i < s.m; i += block::m) {
        const long m = std::min(block::m, s.m - i);
        A* to = c + i * s.c + j;
        pack_panels<block::rows>(packed_a, a + i * a_line + p * a_step, a_line, a_step, m, k, alpha);
        if (p == 0) scale_block(to, s.c, m, n, beta);
        multiply_packed(to, s.c, packed_a, packed_b, m, n, k);
      }
    }
}

struct plain_gemm {
  static constexpr const char* name = "plain";

  // T and C are one of f32, f64, bf16, or bf16 and f32. Sums are kept in the accumulator and rounded once.
  template <class T, class C>
  static void multiply(const gemm_shape& s, accumulator_t<T> alpha, const T* a, const T* b, accumulator_t<T> beta,
                       C* c) {
    using A = accumulator_t<T>;
    using block = gemm_blocking<A>;
    A* space = gemm_space<A>::of_this_thread();
    if constexpr (std::is_same_v<A, C>) {
      blocked_gemm(s, alpha, a, b, beta, c, space);
    } else {
      A* wide = space + block::m * block::k + block::k * block::n;
      for (long i = 0; i < s.m; i += block::wide_m)
        for (long j = 0; j < s.n; j += block::n) {
          gemm_shape part = s;
          part.m = std::min(block::wide_m, s.m - i), part.n = std::min(block::n, s.n - j), part.c = part.n;
          blocked_gemm(part, alpha, a + i * (s.transpose_a ? 1 : s.a), b + j * (s.transpose_b ? s.b : 1), A{}, wide,
                       space);
          for (long r = 0; r < part.m; ++r)
            for (long q = 0; q < part.n; ++q) {
              C& to = c[(i + r) * s.c + j + q];
              to = C(beta == A{} ? wide[r * part.n + q] : wide[r * part.n + q] + beta * A(to));
            }
        }
    }
  }

  // This product runs on the calling thread whatever the budget.
  static void set_threads(int) {}
};

}  // namespace meshpar::inline v0
