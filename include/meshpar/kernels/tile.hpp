// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/core/host_device.hpp>

#include <limits>
#include <utility>

namespace meshpar::inline v0::kernels {

// Limits as constants, which device code may read where it may not call.
template <class A>
inline constexpr A infinity = std::numeric_limits<A>::infinity();
inline constexpr long least_long = std::numeric_limits<long>::min(), most_long = std::numeric_limits<long>::max();

// Bytes of a host vector register.
#if defined(__AVX512F__)
inline constexpr int vector_bytes = 64;
#elif defined(__AVX__)
inline constexpr int vector_bytes = 32;
#else
inline constexpr int vector_bytes = 16;
#endif

template <class A>
struct vector_of {
  typedef A type __attribute__((vector_size(vector_bytes)));
};
template <class A>
inline constexpr int vector_width = vector_bytes / static_cast<int>(sizeof(A));

// C[R, V vectors] += A[R, k] B[k, V vectors] with C in registers: R * V of them, which must leave V + 1 free.
// A is read one element at a time, so its two strides are free.
template <class A, int... Row, int... Vector>
inline void register_tile(std::integer_sequence<int, Row...>, std::integer_sequence<int, Vector...>, A* c,
                          long c_stride, const A* a, long a_row, long a_column, const A* b, long b_stride, long k) {
  using vector = typename vector_of<A>::type;
  constexpr int width = vector_width<A>, vectors = sizeof...(Vector);
  vector sum[sizeof...(Row)][vectors], right[vectors];
  const auto each = [&](int row, auto f) { (f(row, Vector), ...); };
  (each(Row, [&](int r, int v) { __builtin_memcpy(&sum[r][v], c + r * c_stride + v * width, sizeof(vector)); }), ...);
  for (long p = 0; p < k; ++p) {
    (__builtin_memcpy(&right[Vector], b + p * b_stride + Vector * width, sizeof(vector)), ...);
    const A* column = a + p * a_column;
    (each(Row, [&](int r, int v) { sum[r][v] += column[r * a_row] * right[v]; }), ...);
  }
  (each(Row, [&](int r, int v) { __builtin_memcpy(c + r * c_stride + v * width, &sum[r][v], sizeof(vector)); }), ...);
}

template <int Rows, int Vectors, class A>
inline void register_tile(A* c, long c_stride, const A* a, long a_row, long a_column, const A* b, long b_stride,
                          long k) {
  register_tile(std::make_integer_sequence<int, Rows>{}, std::make_integer_sequence<int, Vectors>{}, c, c_stride, a,
                a_row, a_column, b, b_stride, k);
}

// All rows of a panel of `Vectors` vectors: Rows at a time, then one by one.
template <int Rows, int Vectors, class A>
inline void panel_product(A* c, long c_stride, const A* a, long a_row, long a_column, const A* b, long b_stride, long m,
                          long k) {
  const long whole = m / Rows, rest = m % Rows;
  for (long i = 0; i < whole; ++i, c += Rows * c_stride, a += Rows * a_row)
    register_tile<Rows, Vectors>(c, c_stride, a, a_row, a_column, b, b_stride, k);
  for (long i = 0; i < rest; ++i, c += c_stride, a += a_row)
    register_tile<1, Vectors>(c, c_stride, a, a_row, a_column, b, b_stride, k);
}

// C[m, n] += A[m, k] B[k, n] on one host thread, for operands that stay in cache. Element (i, p) of A is
// a[i * a_row + p * a_column]; rows of B and C are contiguous. Sums run over k in order.
template <class A>
inline void tile_product(A* c, long c_stride, const A* a, long a_row, long a_column, const A* b, long b_stride, long m,
                         long n, long k) {
  constexpr long width = vector_width<A>;
  long j = 0;
  for (; j + 4 * width <= n; j += 4 * width)
    panel_product<4, 4>(c + j, c_stride, a, a_row, a_column, b + j, b_stride, m, k);
  for (; j + 2 * width <= n; j += 2 * width)
    panel_product<8, 2>(c + j, c_stride, a, a_row, a_column, b + j, b_stride, m, k);
  for (; j + width <= n; j += width) panel_product<8, 1>(c + j, c_stride, a, a_row, a_column, b + j, b_stride, m, k);
  const long tail = (n - j) % width;  // n - j, but g++ 12 at -O3 does not see that it is below width, and warns
  for (long i = 0; i < m && tail > 0; ++i)
    for (long p = 0; p < k; ++p)
      for (long t = 0; t < tail; ++t) c[i * c_stride + j + t] += a[i * a_row + p * a_column] * b[p * b_stride + j + t];
}

// The same for a block of many threads, which share out the elements of C.
template <class B, class A>
MESHPAR_HD void tile_product_by_elements(const B& block, A* c, long c_stride, const A* a, long a_row, long a_column,
                                         const A* b, long b_stride, long m, long n, long k) {
  for (long e = block.thread(); e < m * n; e += block.threads()) {
    const long i = e / n, j = e % n;
    A sum = c[i * c_stride + j];
    for (long p = 0; p < k; ++p) sum += a[i * a_row + p * a_column] * b[p * b_stride + j];
    c[i * c_stride + j] = sum;
  }
}

}  // namespace meshpar::inline v0::kernels
