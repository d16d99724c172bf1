// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/core/verdict.hpp>

namespace meshpar::inline v0 {

// The one place that knows compilers. A check has a verdict, Check::result; ruling<Check>() is never called, its type
// has `ok` when the verdict holds. Otherwise asking for `ok` is the one error: the type's name carries the rule, its
// numbers and the repair, as "rule: sentence" where the compiler can print it.
//   static_assert(decltype(ruling<Check>())::ok);
// The error stands where that is written: in an operation its next line is the user's.

// A rule broken for the reasons that its arguments tell. Broken for none is a rule that holds.
template <auto... Why>
struct broken {};
template <>
struct broken<> {
  static constexpr bool ok = true;
};

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
constexpr int longest_word(const text& t) {
  int longest = 0;
  for (int i = 0, n = 0; i < t.n; ++i) longest = (n = t.s[i] == ' ' ? 0 : n + 1) > longest ? n : longest;
  return longest;
}
// The least width at which a text has no more lines than these and no word is cut.
constexpr int narrowest(const text& t, int lines) {
  int width = longest_word(t) > t.n / lines ? longest_word(t) : t.n / lines;
  while (line_count(t, width) > lines) ++width;
  return width;
}

#if defined(__CUDACC__) || (defined(__clang__) && __clang_major__ < 16)  // strings come out letter by letter

// The number as an int where it is one, so that no compiler adds a suffix to it.
template <long N>
constexpr auto plain_number() {
  if constexpr (N == static_cast<int>(N)) return static_cast<int>(N);
  else return N;
}
template <class Check>
constexpr auto refusal() {
  constexpr const verdict& v = Check::result;
  return broken<v.broken, plain_number<v.left>(), plain_number<v.right>(), v.remedy, plain_number<v.repair>()>{};
}

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
inline constexpr text sentence_of = spelling<Check::result.broken>() << ": " << Check::result.why;

#ifdef __clang__  // prints at most 36 characters of a string, and none that ends before its array

template <int Lines, int Width>
struct why {
  char s[Lines][Width + 1];
};
// In as few lines as there can be, each as long as the longest must be.
template <const text& Sentence, int Lines = line_count(Sentence, 36), int Width = narrowest(Sentence, Lines)>
constexpr why<Lines, Width> quote() {
  why<Lines, Width> q{};
  for (int k = 0; k < Lines; ++k) {
    const line_range r = line_of(Sentence, k, Width);
    for (int i = 0; i < Width; ++i) q.s[k][i] = r.first + i < r.last ? Sentence.s[r.first + i] : ' ';
    q.s[k][Width] = '\0';
  }
  return q;
}

#else

struct why {
  char s[sizeof text{}.s]{};
};
template <const text& Sentence>
constexpr why quote() {
  why q;
  for (int i = 0; i < Sentence.n; ++i) q.s[i] = Sentence.s[i];
  return q;
}

#endif

template <class Check>
constexpr auto refusal() {
  return broken<quote<sentence_of<Check>>()>{};
}

#endif

#ifdef __clang__  // takes a function in whose body there was an error for an unusable one, and its callers too

template <class Check, bool = Check::result.holds()>
struct told : broken<> {};
template <class Check>
struct told<Check, false> {
#if defined(__cpp_static_assert) && __cpp_static_assert >= 202306L  // it prints a computed sentence
  static_assert(false, sentence_of<Check>);
#else
  static_assert(decltype(refusal<Check>())::ok);
#endif
  static constexpr bool ok = true;
};
template <class Check>
told<Check> ruling();

#else

template <class Check>
constexpr auto ruling() {
  if constexpr (Check::result.holds()) return broken<>{};
  else return refusal<Check>();
}

#endif

// The same as a class, to be a base or a member: it stays usable, so that nothing else fails.
template <class Check, bool = Check::result.holds()>
struct require {
  static constexpr bool ok = true;
};
template <class Check>
struct require<Check, false> {
  static_assert(decltype(ruling<Check>())::ok);
  static constexpr bool ok = true;
};

}  // namespace meshpar::inline v0
