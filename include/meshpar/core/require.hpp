// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/core/verdict.hpp>

#include <utility>

namespace meshpar::inline v0 {

// The one place that knows compilers: require<Check> compiles when the verdict Check::result holds; otherwise the first
// line of the one error that it gives carries the rule, its numbers and, where the compiler can print it, the sentence.

#if defined(__cpp_static_assert) && __cpp_static_assert >= 202306L  // the compiler prints a computed sentence

template <class Check, bool = Check::result.holds()>
struct require {
  static constexpr bool ok = true;
};
template <class Check>
struct require<Check, false> {
  static_assert(Check::result.holds(), Check::result.why);
  static constexpr bool ok = true;
};

#elif defined(__CUDACC__)  // nvcc prints strings letter by letter: rule and numbers only

template <rule, long Left, long Right, long Repair>
struct broken_rule;
template <class Check, bool = Check::result.holds()>
struct require {
  static constexpr bool ok = true;
};
template <class Check>
struct require<Check, false>
    : broken_rule<Check::result.broken, Check::result.left, Check::result.right, Check::result.repair> {
  static constexpr bool ok = true;
};

#else  // g++ and clang: the sentence as template arguments, cut at blanks because clang cuts long ones

inline constexpr int quote_width = 36;

template <int N>
struct quote {
  char s[N + 1]{};
};
template <rule, long Left, long Right, quote... Why>
struct broken_rule;

// The [first, last) range of line `index` of a sentence broken at blanks; first == last past the end.
struct line_range {
  int first = 0, last = 0;
};
constexpr line_range line_of(const text& t, int index) {
  line_range r{};
  for (int k = 0; k <= index; ++k) {
    r.first = r.last;
    while (r.first < t.n && t.s[r.first] == ' ') ++r.first;
    r.last = r.first + quote_width < t.n ? r.first + quote_width : t.n;
    if (r.last < t.n)
      for (int cut = r.last; cut > r.first; --cut)
        if (t.s[cut] == ' ') {
          r.last = cut;
          break;
        }
  }
  return r;
}
constexpr int line_count(const text& t) {
  int k = 0;
  while (line_of(t, k).first < t.n) ++k;
  return k;
}
template <class Check, int Index>
constexpr auto line_quote() {
  constexpr line_range r = line_of(Check::result.why, Index);
  quote<r.last - r.first> q{};
  for (int i = r.first; i < r.last; ++i) q.s[i - r.first] = Check::result.why.s[i];
  return q;
}

template <class Check, class Lines>
struct broken;
template <class Check, int... Index>
struct broken<Check, std::integer_sequence<int, Index...>>
    : broken_rule<Check::result.broken, Check::result.left, Check::result.right, line_quote<Check, Index>()...> {};

template <class Check, bool = Check::result.holds()>
struct require {
  static constexpr bool ok = true;
};
template <class Check>
struct require<Check, false> : broken<Check, std::make_integer_sequence<int, line_count(Check::result.why)>> {
  static constexpr bool ok = true;
};

#endif

}  // namespace meshpar::inline v0
