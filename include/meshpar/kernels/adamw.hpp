// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/kernels/block.hpp>
#include <meshpar/kernels/math.hpp>

#include <cmath>

namespace meshpar::inline v0::kernels {

struct adamw_settings {
  double learning_rate = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, decay = 0;
};

// The factors of one step, the same for every element: `step` counts from 1, `clip` multiplies the gradient.
template <class A>
struct adamw_step {
  A beta1, beta2, eps, keep, rate, root, clip;

  adamw_step(const adamw_settings& s, long step, double clip_scale)
      : beta1(A(s.beta1)),
        beta2(A(s.beta2)),
        eps(A(s.eps)),
        keep(A(1 - s.learning_rate * s.decay)),
        rate(A(s.learning_rate / (1 - std::pow(s.beta1, double(step))))),
        root(A(1 / std::sqrt(1 - std::pow(s.beta2, double(step))))),
        clip(A(clip_scale)) {}
};

// AdamW (Loshchilov and Hutter 2019) in one pass:
//   g = clip grad;  m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;
//   master = (1 - lr decay) master - lr m^ / (sqrt(v^) + eps);  param = master rounded.
// m^ and v^ are m and v divided by 1 - b^step. Arithmetic is in A, moments may be narrower. The arrays are distinct,
// but param is master itself where the two have one type.
template <block B, class T, class A, class M, class G>
MESHPAR_HD void adamw(const B& b, index_range elements, T* param, A* __restrict master, M* __restrict m,
                      M* __restrict v, const G* __restrict grad, adamw_step<A> s) {
  const bool apart = static_cast<void*>(param) != static_cast<void*>(master);
  for_each(b, elements, [=](long i) {
    const A g = s.clip * A(grad[i]);
    const A first = s.beta1 * A(m[i]) + (A{1} - s.beta1) * g;
    const A second = s.beta2 * A(v[i]) + (A{1} - s.beta2) * g * g;
    m[i] = M(first);
    v[i] = M(second);
    master[i] = s.keep * master[i] - s.rate * first / (sqrt_of(second) * s.root + s.eps);
  });
  if (apart) for_each(b, elements, [=](long i) { param[i] = T(master[i]); });
}

// Sum of squares, in f64, in an order that depends only on n: exact enough that the norm of a model is the same on
// every layout to f64 rounding. Infinite or NaN if any element is.
template <block B, class G>
MESHPAR_HD double sum_of_squares(const B& b, const G* grad, long n) {
  return sum_over<double>(b, n, [=](long i) { return double(grad[i]) * double(grad[i]); });
}

template <class T, class A, class M, class G>
void adamw(T* param, A* master, M* m, M* v, const G* grad, long n, const adamw_settings& settings, long step,
           double clip_scale = 1) {
  constexpr long piece = 4096;  // param is written while master is still in cache
  const adamw_step<A> factors(settings, step, clip_scale);
  for (long i = 0; i < n; i += piece)
    adamw(one_thread{}, {i, smaller(n, i + piece)}, param, master, m, v, grad, factors);
}
template <class G>
double sum_of_squares(const G* grad, long n) {
  return sum_of_squares(one_thread{}, grad, n);
}

}  // namespace meshpar::inline v0::kernels
