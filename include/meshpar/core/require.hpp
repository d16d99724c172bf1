// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/core/verdict.hpp>

#include <utility>

namespace meshpar::inline v0 {

// The one place that knows compilers: require<Check> compiles when the verdict Check::result holds; otherwise the one
// error that it gives carries the rule, its numbers and the repair in its first line. Where the compiler can print it
// that line is "rule: sentence". Classes that derive from require or hold it stay usable, so that nothing else fails.

// The [first, last) range of a line of a sentence that is broken at blanks; first == last past the end.
struct line_range {
  int first = 0, last = 0;
};
constexpr line_range line_after(const text& t, line_range previous, int width) {
  line_range r{previous.last, t.n};
  while (r.first < t.n && t.s[r.first] == ' ') ++r.first;
  if (r.last - r.first > width) {
    r.last = r.first + width;
    int blank = r.last;
    while (blank > r.first && t.s[blank] != ' ') --blank;
    if (blank > r.first) r.last = blank;
  }
  while (r.last > r.first && t.s[r.last - 1] == ' ') --r.last;
  return r;
}
constexpr line_range line_of(const text& t, int index, int width) {
  line_range r = line_after(t, {}, width);
  while (index-- > 0) r = line_after(t, r, width);
  return r;
}
constexpr int line_count(const text& t, int width) {
  int lines = 0;
  for (line_range r = line_after(t, {}, width); r.first < r.last; r = line_after(t, r, width)) ++lines;
  return lines;
}

#if defined(__CUDACC__) || (defined(__clang__) && __clang_major__ < 16)  // strings come out letter by letter

template <rule, auto Left, auto Right, fix, auto Value>
struct broken_rule;

// The number as an int where it is one, so that no compiler adds a suffix to it.
template <long N>
constexpr auto plain_number() {
  if constexpr (N == static_cast<int>(N)) return static_cast<int>(N);
  else return N;
}

template <class Check, bool = Check::result.holds()>
struct require {
  static constexpr bool ok = true;
};
template <class Check>
struct require<Check, false>
    : broken_rule<Check::result.broken, plain_number<Check::result.left>(), plain_number<Check::result.right>(),
                  Check::result.remedy, plain_number<Check::result.repair>()> {
  static constexpr bool ok = true;
};

#else

// The name of a rule as it is declared, taken from the compiler so that no table repeats it.
template <rule Rule>
constexpr text spelling() {
  const char* end = __PRETTY_FUNCTION__;
  while (*end != '\0') ++end;
  --end;  // the closing bracket
  const char* first = end;
  while (first[-1] != ':') --first;
  text t;
  while (first != end) t << *first++;
  return t;
}

template <class Check>
constexpr text rule_and_sentence() {
  return spelling<Check::result.broken>() << ": " << Check::result.why;
}

#if defined(__cpp_static_assert) && __cpp_static_assert >= 202306L  // the compiler prints a computed sentence

template <class Check, bool = Check::result.holds()>
struct require {
  static constexpr bool ok = true;
};
template <class Check>
struct require<Check, false> {
  static_assert(false, rule_and_sentence<Check>());
  static constexpr bool ok = true;
};

#else  // the sentence as template arguments

template <int N>
struct why {
  char s[N + 1]{};
};
// It lacks the type that is asked for: of all errors that name a type this is the shortest, without notes.
template <why... Sentence>
struct broken_rule {};

// clang prints at most 36 characters of a string, g++ any number.
#ifdef __clang__
inline constexpr int quoted_width = 36;
#else
inline constexpr int quoted_width = sizeof text{}.s;
#endif

template <class Check>
inline constexpr text sentence_of = rule_and_sentence<Check>();

template <class Check, int Index>
constexpr auto quoted_line() {
  constexpr line_range r = line_of(sentence_of<Check>, Index, quoted_width);
  why<r.last - r.first> q{};
  for (int i = r.first; i < r.last; ++i) q.s[i - r.first] = sentence_of<Check>.s[i];
  q.s[r.last - r.first] = '\0';  // clang prints a string only if its end was written
  return q;
}

template <class Check, int... Line>
auto refusal_of(std::integer_sequence<int, Line...>) -> broken_rule<quoted_line<Check, Line>()...>;

template <class Check, bool = Check::result.holds()>
struct require {
  static constexpr bool ok = true;
};
template <class Check>
struct require<Check, false> {
  static constexpr bool ok = true;
  using lines = std::make_integer_sequence<int, line_count(sentence_of<Check>, quoted_width)>;
  using refusal = typename decltype(refusal_of<Check>(lines{}))::ok;
};

#endif
#endif

}  // namespace meshpar::inline v0
