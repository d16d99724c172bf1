// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/kernels/block.hpp>

namespace meshpar::inline v0::kernels {

// Arithmetic happens in the accumulator's type; each result is rounded once. Outputs may be inputs.

template <block B, class T>
MESHPAR_HD void fill(const B& b, index_range elements, T* y, T value) {
  for_each(b, elements, [=](long i) { y[i] = value; });
}

// y = x in another element type.
template <block B, class To, class From>
MESHPAR_HD void cast(const B& b, index_range elements, To* y, const From* x) {
  for_each(b, elements, [=](long i) { y[i] = To(accumulator_t<From>(x[i])); });
}

// y = x + z.
template <block B, class T>
MESHPAR_HD void add(const B& b, index_range elements, T* y, const T* x, const T* z) {
  using A = accumulator_t<T>;
  for_each(b, elements, [=](long i) { y[i] = T(A(x[i]) + A(z[i])); });
}

// y = factor x.
template <block B, class T>
MESHPAR_HD void scale(const B& b, index_range elements, T* y, const T* x, accumulator_t<T> factor) {
  using A = accumulator_t<T>;
  for_each(b, elements, [=](long i) { y[i] = T(factor * A(x[i])); });
}

// y += factor x, in the accumulator of y's type. With factor 1: gradient accumulation.
template <block B, class To, class From>
MESHPAR_HD void accumulate(const B& b, index_range elements, To* y, const From* x, accumulator_t<To> factor) {
  using A = accumulator_t<To>;
  for_each(b, elements, [=](long i) { y[i] = To(A(y[i]) + factor * A(x[i])); });
}

// y[rows, width] = x + bias[width].
template <block B, class T>
MESHPAR_HD void add_bias(const B& b, index_range rows, T* y, const T* x, const T* bias, long width) {
  using A = accumulator_t<T>;
  for (long r = rows.begin; r < rows.end; ++r) {
    const T* xr = x + r * width;
    T* yr = y + r * width;
    for_each(b, {0, width}, [=](long i) { yr[i] = T(A(xr[i]) + A(bias[i])); });
  }
}

// gbias[width] (+)= column sums of gy[rows, width], for the columns of the range.
template <block B, class T>
MESHPAR_HD void bias_grad(const B& b, index_range columns, accumulator_t<T>* gbias, const T* gy, long rows, long width,
                          bool accumulate) {
  column_sums(b, columns, rows, gbias, accumulate, [=](long r, long c) { return accumulator_t<T>(gy[r * width + c]); });
}

template <class T>
void fill(T* y, T value, long n) {
  fill(one_thread{}, {0, n}, y, value);
}
template <class To, class From>
void cast(To* y, const From* x, long n) {
  cast(one_thread{}, {0, n}, y, x);
}
template <class T>
void add(T* y, const T* x, const T* z, long n) {
  add(one_thread{}, {0, n}, y, x, z);
}
template <class T>
void scale(T* y, const T* x, accumulator_t<T> factor, long n) {
  scale(one_thread{}, {0, n}, y, x, factor);
}
template <class To, class From>
void accumulate(To* y, const From* x, long n, accumulator_t<To> factor = 1) {
  accumulate(one_thread{}, {0, n}, y, x, factor);
}
template <class T>
void add_bias(T* y, const T* x, const T* bias, long rows, long width) {
  add_bias(one_thread{}, {0, rows}, y, x, bias, width);
}
template <class T>
void bias_grad(accumulator_t<T>* gbias, const T* gy, long rows, long width, bool accumulate = false) {
  bias_grad(one_thread{}, {0, width}, gbias, gy, rows, width, accumulate);
}

}  // namespace meshpar::inline v0::kernels
