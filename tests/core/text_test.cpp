// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/core/text.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace meshpar;

static_assert((text{} << "heads = " << 12 << ", tp = " << 8L) == "heads = 12, tp = 8");
static_assert((text{} << 0) == "0" && (text{} << -305) == "-305");
static_assert(text{}.empty() && !(text{} << 'x').empty());

TEST_CASE("a text compares by content") {
  const text a = text{} << "tp";
  CHECK(a == (text{} << 't' << 'p'));
  CHECK_FALSE(a == "t");
  CHECK_FALSE(a == "tpp");
  CHECK((text{} << a << ' ' << a) == "tp tp");
}

TEST_CASE("what does not fit is cut, and the text still ends") {
  text t;
  for (int i = 0; i < 600; ++i) t << 'x';
  CHECK(t.size() == 511);
  CHECK(std::string(t.c_str()).size() == 511);
}

TEST_CASE("large numbers") { CHECK((text{} << 9223372036854775807L) == "9223372036854775807"); }
