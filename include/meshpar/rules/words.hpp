// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/config/plan.hpp>
#include <meshpar/core/verdict.hpp>

#include <climits>

namespace meshpar::inline v0 {

// A number with the name that a user knows it by.
struct quantity {
  const char* name;
  long n;
};
constexpr text& operator<<(text& t, const quantity& q) { return t << q.name << " (" << q.n << ")"; }

// The cheapest repair: a field and its new value.
struct remedy {
  fix field = fix::none;
  long value = 0;
};
constexpr text& operator<<(text& t, const remedy& r) {
  t << name_of(r.field);
  switch (r.field) {
    case fix::use_f32: return t << "use f32";
    case fix::use_f64: return t << "use f64";
    case fix::set_recompute: return t << "none";
    case fix::set_sequence_parallel: return t << (r.value != 0 ? "true" : "false");
    case fix::set_ranks: return t << r.value << " ranks";
    default: return t << r.value;
  }
}

// What one number cannot mend: the first change, which leads on to the others, and the words for all of them.
struct remedies {
  remedy first{};
  text words{};
  constexpr remedies() = default;
  constexpr remedies(remedy r) { *this << r; }
  constexpr remedies& operator<<(remedy r) {
    if (words.empty()) first = r;
    else words << " and ";
    words << r;
    return *this;
  }
};

// Names one after the other, as many as a line of an error holds; the rest is counted.
struct listing {
  int room;
  text words{};
  long names = 0, unnamed = 0;
  template <class Name>
  constexpr void add(const Name& name) {
    ++names;
    if (words.size() > room) ++unnamed;
    else (words.empty() ? words : words << ", ") << name;
  }
};
constexpr text& operator<<(text& t, const listing& l) {
  t << l.words;
  return l.unnamed > 0 ? t << " and " << l.unnamed << " more" : t;
}

constexpr verdict refuse(rule broken, long left, long right, remedy r, const text& why) {
  return {.broken = broken, .left = left, .right = right, .repair = r.value, .why = why, .remedy = r.field};
}

// Sizes that are not positive are the business of positive_sizes alone.
constexpr bool divides(long part, long whole) { return part <= 0 || whole <= 0 || whole % part == 0; }

// Counts can be anything that an int holds; a product that no long holds is the largest long, and 0 stands for one of a
// factor that is not positive.
constexpr long capped_product(long a, long b) { return a < 1 || b < 1 ? 0 : b > LONG_MAX / a ? LONG_MAX : a * b; }
constexpr long rank_count(const plan& p) {
  return capped_product(capped_product(p.pp, p.dp), capped_product(p.cp, p.tp));
}
inline constexpr long rank_limit = 1L << 30;

// The multiple of `part` that is nearest above n, or below it where a field could not hold that; 0: there is none.
constexpr long near_multiple(long n, long part) {
  const long up = round_up(n, part);
  return up <= INT_MAX ? up : n / part * part;
}

// The largest n <= from that is good; 1 when none is found near (a constant expression has bounded loops).
template <class Predicate>
constexpr long largest_that(long from, Predicate good) {
  for (long n = from; n > 1 && n > from - 2048; --n)
    if (good(n)) return n;
  return 1;
}
constexpr long largest_divisor(long whole, long from) {
  return largest_that(from < whole ? from : whole, [whole](long n) { return whole % n == 0; });
}

// "whole (48) not divisible by part (5); set tp to 4"
constexpr verdict not_divisible(rule broken, quantity whole, quantity part, const remedies& r) {
  text t;
  t << whole << " not divisible by " << part << "; " << r.words;
  return refuse(broken, whole.n, part.n, r.first, t);
}

}  // namespace meshpar::inline v0
