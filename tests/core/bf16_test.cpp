// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/core/bf16.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace meshpar;

static_assert(sizeof(bf16) == 2);
static_assert(bf16(1.0f).bits == 0x3f80 && bf16(-2.0f).bits == 0xc000);
// Between two neighbours: to the nearest, and halfway to the even one.
static_assert(bf16(1.00390625f).bits == 0x3f80, "halfway between 1 and the next, which is odd");
static_assert(bf16(1.01171875f).bits == 0x3f82, "halfway between an odd one and the next");
static_assert(bf16(1.0040f).bits == 0x3f81);

TEST_CASE("every bf16 survives the way through float") {
  for (unsigned bits = 0; bits < 0x10000u; ++bits) {
    bf16 x;
    x.bits = static_cast<std::uint16_t>(bits);
    const float f = x;
    if (std::isnan(f)) CHECK(std::isnan(static_cast<float>(bf16(f))));
    else CHECK(bf16(f).bits == bits);
  }
}

TEST_CASE("rounding stays within half a unit, past the largest to infinity") {
  for (float f = 1e-3f; f < 1e3f; f *= 1.01f) CHECK(std::abs(static_cast<float>(bf16(f)) - f) <= f / 256);
  CHECK(std::isinf(static_cast<float>(bf16(std::numeric_limits<float>::max()))));
  CHECK(std::isnan(static_cast<float>(bf16(std::numeric_limits<float>::quiet_NaN()))));
}
