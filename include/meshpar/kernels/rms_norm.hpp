// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/kernels/block.hpp>

#include <cmath>

namespace meshpar::inline v0::kernels {

// Root-mean-square normalisation (Zhang and Sennrich 2019) of x[rows, width]:
//   y = gain x rstd,  rstd = 1 / sqrt(mean(x^2) + eps) per row, kept for backward.
template <block B, class T>
MESHPAR_HD void rms_norm(const B& b, index_range rows, T* y, accumulator_t<T>* rstd, const T* x, const T* gain,
                         long width, double eps) {
  using A = accumulator_t<T>;
  for (long r = rows.begin; r < rows.end; ++r) {
    const T* xr = x + r * width;
    T* yr = y + r * width;
    const A squares = sum_over<A>(b, width, [=](long i) { return A(xr[i]) * A(xr[i]); });
    const A scale = A{1} / std::sqrt(squares / A(width) + A(eps));
    if (b.thread() == 0) rstd[r] = scale;
    for_each(b, {0, width}, [=](long i) { yr[i] = T(A(xr[i]) * scale * A(gain[i])); });
  }
}

// gx = rstd (h - n mean(h n)),  h = gain gy,  n = x rstd.
template <block B, class T>
MESHPAR_HD void rms_norm_input_grad(const B& b, index_range rows, T* gx, const T* gy, const T* x, const T* gain,
                                    const accumulator_t<T>* rstd, long width) {
  using A = accumulator_t<T>;
  for (long r = rows.begin; r < rows.end; ++r) {
    const T *xr = x + r * width, *gr = gy + r * width;
    T* out = gx + r * width;
    const A scale = rstd[r];
    const A dot = sum_over<A>(b, width, [=](long i) { return A(gr[i]) * A(gain[i]) * A(xr[i]); });
    const A along = dot * scale * scale / A(width);
    for_each(b, {0, width}, [=](long i) { out[i] = T(scale * (A(gr[i]) * A(gain[i]) - A(xr[i]) * along)); });
  }
}

// ggain[width] (+)= sum over rows of gy x rstd, for the columns of the range.
template <block B, class T>
MESHPAR_HD void rms_norm_weight_grad(const B& b, index_range columns, accumulator_t<T>* ggain, const T* gy, const T* x,
                                     const accumulator_t<T>* rstd, long rows, long width, bool accumulate) {
  using A = accumulator_t<T>;
  column_sums(b, columns, rows, ggain, accumulate,
              [=](long r, long c) { return A(gy[r * width + c]) * A(x[r * width + c]) * rstd[r]; });
}

template <class T>
void rms_norm(T* y, accumulator_t<T>* rstd, const T* x, const T* gain, long rows, long width, double eps) {
  rms_norm(one_thread{}, {0, rows}, y, rstd, x, gain, width, eps);
}
template <class T>
void rms_norm_input_grad(T* gx, const T* gy, const T* x, const T* gain, const accumulator_t<T>* rstd, long rows,
                         long width) {
  rms_norm_input_grad(one_thread{}, {0, rows}, gx, gy, x, gain, rstd, width);
}
template <class T>
void rms_norm_weight_grad(accumulator_t<T>* ggain, const T* gy, const T* x, const accumulator_t<T>* rstd, long rows,
                          long width, bool accumulate = false) {
  rms_norm_weight_grad(one_thread{}, {0, width}, ggain, gy, x, rstd, rows, width, accumulate);
}

}  // namespace meshpar::inline v0::kernels
