// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/kernels/tile.hpp>

#include <cmath>
#include <cstdint>

namespace meshpar::inline v0::kernels {

// The functions of float are branch-free, so that loops over them vectorise; those of double are the library's. The
// polynomials interpolate at Chebyshev nodes. Errors are the largest that tests/kernels/math_test.cpp finds.

// e^x within 1.5 units in the last place; under 2^-125 it is 0, over the largest float infinity; NaN stays NaN.
MESHPAR_HD inline float exp_of(float x) {
  constexpr float round_to_integer = 12582912.0f;  // 1.5 * 2^23: adding it leaves the integer in the low bits
  const float held = (x > 89.0f ? 89.0f : x) * 1.44269504f + round_to_integer;
  const float n = held - round_to_integer;
  const float r = ((x > 89.0f ? 89.0f : x) - n * 0.693145752f) - n * 1.42860677e-6f;
  float q = 1.392625083e-03f;
  q = q * r + 8.363232884e-03f;
  q = q * r + 4.166655421e-02f;
  q = q * r + 1.666657667e-01f;
  q = q * r + 0.5f;
  const float p = (q * r) * r + r + 1.0f;
  const std::uint32_t half = (__builtin_bit_cast(std::uint32_t, held) + 126u) << 23;  // 2^(n - 1)
  return x < -86.6f ? 0.0f : p * __builtin_bit_cast(float, half) * 2.0f;
}
MESHPAR_HD inline double exp_of(double x) { return std::exp(x); }

// Within 2 units in the last place.
MESHPAR_HD inline float tanh_of(float x) {
  const float size = x < 0 ? -x : x, z = x * x;
  float q = 2.292744816e-03f;
  q = q * z + -8.343945516e-03f;
  q = q * z + 2.176891865e-02f;
  q = q * z + -5.395925958e-02f;
  q = q * z + 1.333330356e-01f;
  q = q * z + -3.333333317e-01f;
  const float small = q * z * x + x;
  const float large = 1.0f - 2.0f / (exp_of(2.0f * (size > 10.0f ? 10.0f : size)) + 1.0f);
  return size < 0.625f ? small : x < 0 ? -large : large;
}
MESHPAR_HD inline double tanh_of(double x) { return std::tanh(x); }

// Square root within 1.5 units in the last place of a positive normal float, 0 of 0; a denormal may give less. Three
// steps of Newton's method for 1 / sqrt(x), from an estimate out of the exponent's bits: std::sqrt may set errno, and
// that keeps a loop from vectorising.
MESHPAR_HD inline float sqrt_of(float x) {
  float y = __builtin_bit_cast(float, 0x5f375a86u - (__builtin_bit_cast(std::uint32_t, x) >> 1));
  y = y * (1.5f - 0.5f * x * y * y);
  y = y * (1.5f - 0.5f * x * y * y);
  y = y * (1.5f - 0.5f * x * y * y);
  const float root = x * y;
  return root + 0.5f * y * (x - root * root);
}
MESHPAR_HD inline double sqrt_of(double x) { return std::sqrt(x); }

// 1 / (1 + e^-x), within 3 units in the last place down to 2^-125.
template <class A>
MESHPAR_HD inline A sigmoid_of(A x) {
  return A{1} / (A{1} + exp_of(-x));
}

}  // namespace meshpar::inline v0::kernels
