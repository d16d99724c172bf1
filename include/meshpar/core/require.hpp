// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/core/verdict.hpp>

// A rule broken for the reasons that its arguments tell. Broken for none is a rule that holds. (Not in v0: rule.hpp.)
namespace meshpar {
template <auto... Why>
struct broken {};
template <>
struct broken<> {
  static constexpr bool ok = true;
};
}  // namespace meshpar

namespace meshpar::inline v0 {

// The one place that knows compilers. A check has a verdict, Check::result; ruling<Check>() is never called, its type
// has `ok` when the verdict holds. Otherwise asking for `ok` is the one error: the type's name carries what the verdict
// says, as "rule: sentence" where the compiler can print it, and piece by piece where it cannot.
//   static_assert(decltype(ruling<Check>())::ok);
// The error stands where that is written: in an operation its next line is the user's.

#if defined(__CUDACC__) || (defined(__clang__) && __clang_major__ < 16)  // strings come out letter by letter

template <auto... First, auto... Then>
constexpr broken<First..., Then...> operator+(broken<First...>, broken<Then...>) {
  return {};
}
template <auto What, bool Told = true>
constexpr auto tell() {
  if constexpr (Told) return broken<What>{};
  else return broken<>{};
}
// The number as an int where it is one, so that no compiler adds a suffix to it.
template <long N>
constexpr auto plain_number() {
  if constexpr (N == static_cast<int>(N)) return static_cast<int>(N);
  else return N;
}
// The kind of operation that is checked, if it is one.
template <class Check>
constexpr auto tell_operation() {
  if constexpr (requires { Check::operation::info; }) return broken<&Check::operation::info>{};
  else return broken<>{};
}
template <state State>
constexpr auto tell_state() {
  return tell<letter_of(State), State != state::none>();
}
// The rule, the operation, two numbers, the states of its operands, the axis, the repair; what there is not is left
// out.
template <class Check>
constexpr auto refusal() {
  constexpr const verdict& v = Check::result;
  constexpr bool numbers = v.left != 0 || v.right != 0;
  return tell<v.broken>() + tell_operation<Check>() + tell<plain_number<v.left>(), numbers>() +
         tell<plain_number<v.right>(), numbers>() + tell_state<v.left_is>() + tell_state<v.right_is>() +
         tell<v.over, v.over != along::none>() + tell<v.remedy, v.remedy != fix::none>() +
         tell<plain_number<v.repair>(), takes_a_value(v.remedy)>();
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
