// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each rule is broken alone, says what it should, and holds once a user has done what it says. At compile time only, so
// that scripts/mutate_rules is quick.
#include "rules/violations.hpp"

#include <doctest/doctest.h>

#include <utility>

namespace {

using namespace rules_test;

constexpr int length(const char* s) {
  int n = 0;
  while (s[n] != '\0') ++n;
  return n;
}

template <int N>
struct checks {
  static constexpr const violation& v = violations[N];
  static constexpr bool unbuilt = v.broken == rule::feature_not_built_yet;
  static constexpr mp::verdict verdict = ask(v.broken, v.s);
  static constexpr setup repaired = followed(verdict, v.s);

  static_assert(verdict.broken == v.broken);
  static_assert(verdict.why == v.said);
  static_assert(length(mp::name_of(v.broken)) + 2 + verdict.why.size() <= 111, "g++ prints it in 240 characters");
  static_assert(broken_in(v.s) == (unbuilt ? 0 : std::uint64_t{1} << entry_of(v.broken)), "it breaks this rule only");
  static_assert(verdict.remedy != mp::fix::none);
  static_assert(broken_in(repaired) == 0 && ask(v.broken, repaired).holds(), "its repaired neighbour is legal");
  static constexpr bool ok = true;
};
template <int... N>
constexpr bool all(std::integer_sequence<int, N...>) {
  return (checks<N>::ok && ...);
}
static_assert(all(std::make_integer_sequence<int, violation_count>{}));

constexpr bool each_rule_is_broken_once() {
  for (const mp::catalogue_entry& e : mp::catalogue) {
    int n = 0;
    for (const violation& v : violations) n += v.broken == e.id;
    if (n == 0) return false;
  }
  return true;
}
static_assert(each_rule_is_broken_once());
static_assert(mp::broken_entries(setup{}.m, setup{}.j, setup{}.p) == 0);

constexpr mp::plan eight_ranks{.dp = 2, .tp = 4};
static_assert(mp::world_size_matches_plan(eight_ranks, 8).holds());
static_assert(mp::world_size_matches_plan(eight_ranks, 6).why ==
              "ranks (6) are not pp * dp * cp * tp = 1 * 2 * 1 * 4 = 8; start 8 ranks");

}  // namespace

TEST_CASE("who asks all rules at once is told of the broken one and of what is not built") {
  for (const violation& v : violations) {
    CAPTURE(v.said);
    bool told = false;
    for (const mp::verdict& said : mp::check_all(v.s.m, v.s.j, v.s.p)) {
      if (said.broken == v.broken) told = said.why == v.said;
      else CHECK(said.broken == rule::feature_not_built_yet);
    }
    CHECK(told);
  }
}
