// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/kernels/block.hpp>

#include <cmath>

namespace meshpar::inline v0::kernels {

// Layer normalisation (Ba, Kiros and Hinton 2016) of x[rows, width]:
//   y = gain n + bias,  n = (x - mean) rstd,  rstd = 1 / sqrt(variance + eps); mean and rstd are kept for backward.
template <block B, class T>
MESHPAR_HD void layer_norm(const B& b, index_range rows, T* y, accumulator_t<T>* mean, accumulator_t<T>* rstd,
                           const T* x, const T* gain, const T* bias, long width, double eps) {
  using A = accumulator_t<T>;
  for (long r = rows.begin; r < rows.end; ++r) {
    const T* xr = x + r * width;
    T* yr = y + r * width;
    const A mid = sum_over<A>(b, width, [=](long i) { return A(xr[i]); }) / A(width);
    const A squares = sum_over<A>(b, width, [=](long i) { return (A(xr[i]) - mid) * (A(xr[i]) - mid); });
    const A scale = A{1} / std::sqrt(squares / A(width) + A(eps));
    if (b.thread() == 0) mean[r] = mid, rstd[r] = scale;
    for_each(b, {0, width}, [=](long i) { yr[i] = T((A(xr[i]) - mid) * scale * A(gain[i]) + A(bias[i])); });
  }
}

// gx = rstd (h - mean(h) - n mean(h n)),  h = gain gy.
template <block B, class T>
MESHPAR_HD void layer_norm_input_grad(const B& b, index_range rows, T* gx, const T* gy, const T* x, const T* gain,
                                      const accumulator_t<T>* mean, const accumulator_t<T>* rstd, long width) {
  using A = accumulator_t<T>;
  for (long r = rows.begin; r < rows.end; ++r) {
    const T *xr = x + r * width, *gr = gy + r * width;
    T* out = gx + r * width;
    const A mid = mean[r], scale = rstd[r];
    const A sum = sum_over<A>(b, width, [=](long i) { return A(gr[i]) * A(gain[i]); });
    const A dot = sum_over<A>(b, width, [=](long i) { return A(gr[i]) * A(gain[i]) * (A(xr[i]) - mid); });
    const A level = sum / A(width), along = dot * scale * scale / A(width);
    for_each(b, {0, width},
             [=](long i) { out[i] = T(scale * (A(gr[i]) * A(gain[i]) - level - (A(xr[i]) - mid) * along)); });
  }
}

// ggain[width] (+)= sum over rows of gy n, gbias[width] (+)= sum over rows of gy, for the columns of the range.
template <block B, class T>
MESHPAR_HD void layer_norm_weight_grad(const B& b, index_range columns, accumulator_t<T>* ggain,
                                       accumulator_t<T>* gbias, const T* gy, const T* x, const accumulator_t<T>* mean,
                                       const accumulator_t<T>* rstd, long rows, long width, bool accumulate) {
  using A = accumulator_t<T>;
  column_sums(b, columns, rows, ggain, accumulate,
              [=](long r, long c) { return A(gy[r * width + c]) * ((A(x[r * width + c]) - mean[r]) * rstd[r]); });
  column_sums(b, columns, rows, gbias, accumulate, [=](long r, long c) { return A(gy[r * width + c]); });
}

template <class T>
void layer_norm(T* y, accumulator_t<T>* mean, accumulator_t<T>* rstd, const T* x, const T* gain, const T* bias,
                long rows, long width, double eps) {
  layer_norm(one_thread{}, {0, rows}, y, mean, rstd, x, gain, bias, width, eps);
}
template <class T>
void layer_norm_input_grad(T* gx, const T* gy, const T* x, const T* gain, const accumulator_t<T>* mean,
                           const accumulator_t<T>* rstd, long rows, long width) {
  layer_norm_input_grad(one_thread{}, {0, rows}, gx, gy, x, gain, mean, rstd, width);
}
template <class T>
void layer_norm_weight_grad(accumulator_t<T>* ggain, accumulator_t<T>* gbias, const T* gy, const T* x,
                            const accumulator_t<T>* mean, const accumulator_t<T>* rstd, long rows, long width,
                            bool accumulate = false) {
  layer_norm_weight_grad(one_thread{}, {0, width}, ggain, gbias, gy, x, mean, rstd, rows, width, accumulate);
}

}  // namespace meshpar::inline v0::kernels
