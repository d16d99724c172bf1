// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/kernels/block.hpp>
#include <meshpar/kernels/math.hpp>

namespace meshpar::inline v0::kernels {

// An activation is its value and its slope. All act element by element, in the accumulator's type.

// x (1 + tanh(k (x + c x^3))) / 2, k = sqrt(2 / pi), c = 0.044715: the approximation of Hendrycks and Gimpel (2016).
struct gelu_tanh {
  template <class A>
  MESHPAR_HD static A inner(A x) {
    return A(0.79788456080286535588) * (x + A(0.044715) * x * x * x);
  }
  template <class A>
  MESHPAR_HD static A value(A x) {
    return A(0.5) * x * (A{1} + tanh_of(inner(x)));
  }
  template <class A>
  MESHPAR_HD static A slope(A x) {
    const A t = tanh_of(inner(x)), inner_slope = A(0.79788456080286535588) * (A{1} + A(3 * 0.044715) * x * x);
    return A(0.5) * (A{1} + t) + A(0.5) * x * (A{1} - t * t) * inner_slope;
  }
};

// x Phi(x), with the normal distribution function itself.
struct gelu_erf {
  template <class A>
  MESHPAR_HD static A below(A x) {
    return A(0.5) * std::erfc(A(-0.70710678118654752440) * x);
  }
  template <class A>
  MESHPAR_HD static A value(A x) {
    return x * below(x);
  }
  template <class A>
  MESHPAR_HD static A slope(A x) {
    return below(x) + x * A(0.39894228040143267794) * exp_of(A(-0.5) * x * x);
  }
};

// max(x, 0); the slope at 0 is 0.
struct relu {
  template <class A>
  MESHPAR_HD static A value(A x) {
    return x > A{} ? x : A{};
  }
  template <class A>
  MESHPAR_HD static A slope(A x) {
    return x > A{} ? A{1} : A{};
  }
};

// x sigmoid(x).
struct silu {
  template <class A>
  MESHPAR_HD static A value(A x) {
    return x * sigmoid_of(x);
  }
  template <class A>
  MESHPAR_HD static A slope(A x) {
    const A s = sigmoid_of(x);
    return s + x * s * (A{1} - s);
  }
};

// y = f(x). y may be x.
template <class F, block B, class T>
MESHPAR_HD void activate(const B& b, index_range elements, T* y, const T* x) {
  for_each(b, elements, [=](long i) { y[i] = T(F::value(accumulator_t<T>(x[i]))); });
}

// gx = f'(x) gy. gx may be gy.
template <class F, block B, class T>
MESHPAR_HD void activate_input_grad(const B& b, index_range elements, T* gx, const T* gy, const T* x) {
  using A = accumulator_t<T>;
  for_each(b, elements, [=](long i) { gx[i] = T(F::slope(A(x[i])) * A(gy[i])); });
}

// y[rows, width] = silu(gate) up (Shazeer 2020). Rows of gate and up are `stride` elements apart, so that both can be
// halves of one product; rows of y are contiguous.
template <block B, class T>
MESHPAR_HD void swiglu(const B& b, index_range rows, T* y, const T* gate, const T* up, long width, long stride) {
  using A = accumulator_t<T>;
  for (long r = rows.begin; r < rows.end; ++r) {
    const T *gr = gate + r * stride, *ur = up + r * stride;
    T* yr = y + r * width;
    for_each(b, {0, width}, [=](long i) { yr[i] = T(silu::value(A(gr[i])) * A(ur[i])); });
  }
}

// ggate = silu'(gate) up gy,  gup = silu(gate) gy, with the strides of gate and up. They may be gate and up themselves.
template <block B, class T>
MESHPAR_HD void swiglu_input_grad(const B& b, index_range rows, T* ggate, T* gup, const T* gy, const T* gate,
                                  const T* up, long width, long stride) {
  using A = accumulator_t<T>;
  for (long r = rows.begin; r < rows.end; ++r) {
    const T *gr = gate + r * stride, *ur = up + r * stride, *yr = gy + r * width;
    T *ggr = ggate + r * stride, *gur = gup + r * stride;
    for_each(b, {0, width}, [=](long i) {
      const A g = A(gr[i]), u = A(ur[i]), grad = A(yr[i]), s = sigmoid_of(g);
      ggr[i] = T((s + g * s * (A{1} - s)) * u * grad);
      gur[i] = T(g * s * grad);
    });
  }
}

template <class F, class T>
void activate(T* y, const T* x, long n) {
  activate<F>(one_thread{}, {0, n}, y, x);
}
template <class F, class T>
void activate_input_grad(T* gx, const T* gy, const T* x, long n) {
  activate_input_grad<F>(one_thread{}, {0, n}, gx, gy, x);
}
template <class T>
void swiglu(T* y, const T* gate, const T* up, long rows, long width, long stride) {
  swiglu(one_thread{}, {0, rows}, y, gate, up, width, stride);
}
template <class T>
void swiglu_input_grad(T* ggate, T* gup, const T* gy, const T* gate, const T* up, long rows, long width, long stride) {
  swiglu_input_grad(one_thread{}, {0, rows}, ggate, gup, gy, gate, up, width, stride);
}

}  // namespace meshpar::inline v0::kernels
