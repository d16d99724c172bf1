// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/core/require.hpp>

#include <doctest/doctest.h>

namespace mp = meshpar;

namespace {

struct passing {
  static constexpr mp::verdict result{};
};
static_assert(mp::require<passing>::ok);

constexpr bool line_is(const mp::text& t, int index, int width, const char* words) {
  const mp::line_range r = mp::line_of(t, index, width);
  mp::text line;
  for (int i = r.first; i < r.last; ++i) line << t.s[i];
  return line == words;
}

constexpr mp::text sentence = mp::text{} << "heads (48) not divisible by tp (5); set tp to 4";
static_assert(mp::line_count(sentence, 36) == 2);
static_assert(line_is(sentence, 0, 36, "heads (48) not divisible by tp (5);"));
static_assert(line_is(sentence, 1, 36, "set tp to 4"));
static_assert(line_is(sentence, 2, 36, ""));
static_assert(mp::line_count(sentence, 512) == 1);

// A word longer than a line is cut; blanks at the ends of lines are dropped; a line may be exactly full.
constexpr mp::text long_word = mp::text{} << "  abcdefgh  ij klm ";
static_assert(mp::line_count(long_word, 5) == 4);
static_assert(line_is(long_word, 0, 5, "abcde") && line_is(long_word, 1, 5, "fgh") && line_is(long_word, 2, 5, "ij") &&
              line_is(long_word, 3, 5, "klm"));
static_assert(mp::line_count(mp::text{}, 5) == 0 && mp::line_count(mp::text{} << "   ", 5) == 0);
static_assert(mp::line_count(mp::text{} << "abcde", 5) == 1 && mp::line_count(mp::text{} << "abcde fghij", 5) == 2);

#if !defined(__clang__) || __clang_major__ >= 16
static_assert(mp::spelling<mp::rule::heads_divisible_by_tp>() == "heads_divisible_by_tp");
static_assert(mp::spelling<mp::rule::none>() == "none");
#endif

}  // namespace

TEST_CASE("no line is longer than the width and all words are there in order") {
  const mp::text t = mp::text{} << "seq (64) not divisible by tp (5); abcdefghijklmnopqrstuvwxyz set tp to 4";
  for (int width = 1; width < 80; ++width) {
    int at = 0;
    for (int k = 0; k < mp::line_count(t, width); ++k) {
      const mp::line_range r = mp::line_of(t, k, width);
      CHECK(r.last - r.first <= width);
      while (at < r.first) CHECK(t.s[at++] == ' ');
      at = r.last;
    }
    CHECK(at == t.n);
  }
}
