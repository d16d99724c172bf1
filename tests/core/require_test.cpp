// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/core/require.hpp>

#include <doctest/doctest.h>

#include <type_traits>

namespace mp = meshpar;

namespace {

struct passing {
  static constexpr mp::verdict result{};
};
static_assert(mp::require<passing>::ok);
static_assert(decltype(mp::ruling<passing>())::ok);

#if !defined(__clang__) || __clang_major__ >= 16

static_assert(mp::spelling<mp::rule::heads_divisible_by_tp>() == "heads_divisible_by_tp");
static_assert(mp::spelling<mp::rule::none>() == "none");

// What is quoted is the sentence, whole and in order, however many pieces it is cut into.
template <const mp::text& Sentence>
constexpr bool quoted_whole() {
  constexpr auto q = mp::quote<Sentence>();
  mp::text all;
#ifdef __clang__
  for (const auto& piece : q.s) all << piece;
  all << q.rest;
#else
  all << q.s;
#endif
  return all == Sentence;
}
constexpr mp::text just_over = mp::text{} << "heads (48) not divisible by tp (5); se";  // 36 + 2
constexpr mp::text two_full =
    mp::text{} << "heads (48) not divisible by tp (5); set tp to 4, or heads to 50; one, ab";  // 72
constexpr mp::text long_one = mp::text{} << two_full << two_full << "!";
static_assert(quoted_whole<just_over>() && quoted_whole<two_full>() && quoted_whole<long_one>());

#else

// What there is to tell stands in the type, and nothing else.
struct unlike_states {
  struct operation {
    static constexpr int info = 0;
  };
  static constexpr mp::verdict result{.broken = mp::rule::sum_of_unlike_states,
                                      .remedy = mp::fix::to_R_left,
                                      .left_is = mp::state::P,
                                      .right_is = mp::state::R,
                                      .over = mp::along::tp};
};
static_assert(std::is_same_v<decltype(mp::refusal<unlike_states>()),
                             mp::broken<mp::rule::sum_of_unlike_states, &unlike_states::operation::info, 'P', 'R',
                                        mp::along::tp, mp::fix::to_R_left>>);
struct five_ranks {
  static constexpr mp::verdict result{
      .broken = mp::rule::heads_divisible_by_tp, .left = 48, .right = 5, .repair = 4, .remedy = mp::fix::set_tp};
};
static_assert(std::is_same_v<decltype(mp::refusal<five_ranks>()),
                             mp::broken<mp::rule::heads_divisible_by_tp, 48, 5, mp::fix::set_tp, 4>>);
struct no_repair {
  static constexpr mp::verdict result{.broken = mp::rule::dimensions_not_adjacent};
};
static_assert(std::is_same_v<decltype(mp::refusal<no_repair>()), mp::broken<mp::rule::dimensions_not_adjacent>>);

#endif

}  // namespace

TEST_CASE("a sentence is quoted whole") {
#if !defined(__clang__) || __clang_major__ >= 16
  CHECK(two_full.n == 72);
  CHECK(quoted_whole<two_full>());
#endif
}
