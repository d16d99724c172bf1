// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/kernels/block.hpp>

#include <cmath>
#include <cstdint>

namespace meshpar::inline v0::kernels {

// Positions of tokens laid out [positions, batch]: token t stands at start + t / batch.
struct consecutive_positions {
  long start = 0, batch = 1;
  MESHPAR_HD long operator()(long token) const { return start + token / batch; }
};

// Positions read from an array, one per token.
struct listed_positions {
  const std::int32_t* of;
  MESHPAR_HD long operator()(long token) const { return of[token]; }
};

// cosine and sine[positions, head_dim / 2] of position * theta^(-2 i / head_dim), computed in double.
template <class A>
void rotary_tables(A* cosine, A* sine, long positions, long head_dim, double theta) {
  for (long p = 0, half = head_dim / 2; p < positions; ++p)
    for (long i = 0; i < half; ++i) {
      const double angle = double(p) * std::pow(theta, -2.0 * double(i) / double(head_dim));
      cosine[p * half + i] = A(std::cos(angle));
      sine[p * half + i] = A(std::sin(angle));
    }
}

// Rotary position embedding (Su et al. 2021) of x[tokens, heads, head_dim], in the half-split convention of the
// transformers package: element i turns with element i + head_dim / 2. `positions` gives a token's global position, a
// row of the tables. The inverse turns back: it is the pullback. A token's heads are contiguous; tokens are x_stride
// and y_stride elements apart. y may be x.
template <block B, class T, class Positions>
MESHPAR_HD void rotary(const B& b, index_range tokens, T* y, const T* x, Positions positions,
                       const accumulator_t<T>* cosine, const accumulator_t<T>* sine, long heads, long head_dim,
                       long y_stride, long x_stride, bool inverse) {
  using A = accumulator_t<T>;
  const long half = head_dim / 2;
  const A sign = inverse ? A{-1} : A{1};
  for (long t = tokens.begin; t < tokens.end; ++t) {
    const long row = positions(t) * half;
    const A *c = cosine + row, *s = sine + row;
    for (long h = 0; h < heads; ++h) {
      const T* xr = x + t * x_stride + h * head_dim;
      T* yr = y + t * y_stride + h * head_dim;
      for_each(b, {0, half}, [=](long i) {
        const A low = A(xr[i]), high = A(xr[i + half]), turn = sign * s[i];
        yr[i] = T(low * c[i] - high * turn);
        yr[i + half] = T(high * c[i] + low * turn);
      });
    }
  }
}

template <class T, class Positions>
void rotary(T* y, const T* x, Positions positions, const accumulator_t<T>* cosine, const accumulator_t<T>* sine,
            long tokens, long heads, long head_dim, long y_stride, long x_stride, bool inverse = false) {
  rotary(one_thread{}, {0, tokens}, y, x, positions, cosine, sine, heads, head_dim, y_stride, x_stride, inverse);
}

}  // namespace meshpar::inline v0::kernels
