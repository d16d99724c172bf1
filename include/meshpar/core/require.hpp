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

#if defined(__CUDACC__) || (defined(__clang__) && __clang_major__ < 16)  // strings come out letter by letter

// The number as an int where it is one, so that no compiler adds a suffix to it.
template <long N>
constexpr auto plain_number() {
  if constexpr (N == static_cast<int>(N)) return static_cast<int>(N);
  else return N;
}
// What the remedy takes: a number, or an axis.
template <fix Remedy, long N>
constexpr auto taken_by() {
  if constexpr (Remedy >= fix::to_R) return static_cast<along>(N);
  else return plain_number<N>();
}
template <class Check>
constexpr auto refusal() {
  constexpr const verdict& v = Check::result;
  return broken<v.broken, plain_number<v.left>(), plain_number<v.right>(), v.remedy, taken_by<v.remedy, v.repair>()>{};
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

inline constexpr int quoted_width = 36;
template <int Pieces, int Rest>
struct why {
  char s[Pieces][quoted_width + 1];
  char rest[Rest + 1];
};
template <const text& Sentence, int Pieces = (Sentence.n - 1) / quoted_width,
          int Rest = (Sentence.n - 1) % quoted_width + 1>
constexpr why<Pieces, Rest> quote() {
  why<Pieces, Rest> q{};
  for (int k = 0; k < Pieces; ++k)
    for (int i = 0; i <= quoted_width; ++i) q.s[k][i] = i < quoted_width ? Sentence.s[quoted_width * k + i] : '\0';
  for (int i = 0; i <= Rest; ++i) q.rest[i] = Sentence.s[quoted_width * Pieces + i];
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

template <class Check>
struct told {
#if defined(__cpp_static_assert) && __cpp_static_assert >= 202306L  // it prints a computed sentence
  static_assert(false, sentence_of<Check>);
#else
  static_assert(decltype(refusal<Check>())::ok);
#endif
  static constexpr bool ok = true;
};
template <class Check>
  requires(!Check::result.holds())
told<Check> ruling();

#else

template <class Check>
  requires(!Check::result.holds())
constexpr auto ruling() {
  return refusal<Check>();
}

#endif

template <class Check>
  requires(Check::result.holds())
broken<> ruling();

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
