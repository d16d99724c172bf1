// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/core/philox.hpp>

#include <doctest/doctest.h>

using namespace meshpar;

// The published vectors are static assertions in the header. Here: one changed bit of key or counter changes about
// half of the output's bits.
TEST_CASE("philox: every bit of key and counter spreads") {
  const philox_counter base{{1, 2, 3, 4}};
  const philox_key key{{5, 6}};
  const philox_counter plain = philox(base, key);
  for (int bit = 0; bit < 192; ++bit) {
    philox_counter c = base;
    philox_key k = key;
    (bit < 128 ? c.word[bit / 32] : k.word[bit / 32 - 4]) ^= 1u << (bit % 32);
    const philox_counter moved = philox(c, k);
    int changed = 0;
    for (int w = 0; w < 4; ++w) changed += __builtin_popcount(moved.word[w] ^ plain.word[w]);
    CHECK(changed > 32);
    CHECK(changed < 96);
  }
}

TEST_CASE("philox: streams differ by seed, tag and number") {
  static_assert(philox_stream(1, 2, 3) == philox_stream(1, 2, 3));
  CHECK_FALSE(philox_stream(1, 2, 3) == philox_stream(2, 2, 3));
  CHECK_FALSE(philox_stream(1, 2, 3) == philox_stream(1, 3, 3));
  CHECK_FALSE(philox_stream(1, 2, 3) == philox_stream(1, 2, 4));
  CHECK_FALSE(philox_stream(1, 2, 3) == philox_stream(1, 3, 2));
  CHECK_FALSE(philox_stream(1ull << 40, 2, 3) == philox_stream(0, 2, 3));
}
