// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/core/fixed_vector.hpp>

#include <doctest/doctest.h>

#include <type_traits>

using namespace meshpar;

namespace {

using three = fixed_vector<int, 3>;
template <three>
struct typed {};

constexpr three pushed(int a, int b) {
  three v;
  v.push_back(a);
  v.push_back(b);
  return v;
}
constexpr three popped() {
  three v = pushed(1, 2);
  v.push_back(9);
  v.pop_back();
  return v;
}
// Slots no longer used are zero again, so that equal contents are one type.
static_assert(popped() == pushed(1, 2));
static_assert(std::is_same_v<typed<popped()>, typed<pushed(1, 2)>>);
static_assert(!(pushed(1, 0) == three{{1, 0, 0}, 1}), "the count counts");

}  // namespace

TEST_CASE("a vector in place") {
  three v = pushed(4, 5);
  CHECK(v.size() == 2);
  CHECK(v.back() == 5);
  v.back() = 6;
  int sum = 0;
  for (int i : v) sum += i;
  CHECK(sum == 10);
  v.clear();
  CHECK(v.empty());
  CHECK(v == three{});
}
