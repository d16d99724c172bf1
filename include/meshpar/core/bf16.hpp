// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/core/host_device.hpp>

#include <cstdint>

namespace meshpar::inline v0 {

// The upper half of an IEEE f32: 8 exponent bits, 7 mantissa bits. Storage only: arithmetic happens in float.
struct bf16 {
  std::uint16_t bits = 0;

  bf16() = default;
  // Rounds to nearest, ties to even; a NaN stays a NaN.
  MESHPAR_HD constexpr explicit bf16(float value) : bits(round(__builtin_bit_cast(std::uint32_t, value))) {}
  MESHPAR_HD constexpr explicit bf16(double value) : bf16(static_cast<float>(value)) {}
  MESHPAR_HD constexpr operator float() const {
    return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16);
  }

 private:
  MESHPAR_HD static constexpr std::uint16_t round(std::uint32_t u) {
    const bool nan = (u & 0x7fffffffu) > 0x7f800000u;
    return static_cast<std::uint16_t>(nan ? (u >> 16) | 0x40u : (u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
  }
};

}  // namespace meshpar::inline v0
