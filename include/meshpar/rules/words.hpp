// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/config/plan.hpp>
#include <meshpar/core/verdict.hpp>

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
constexpr text& operator<<(text& t, const remedy& r) { return t << name_of(r.field) << r.value; }

constexpr verdict refuse(rule broken, long left, long right, remedy r, const text& why) {
  return {.broken = broken, .left = left, .right = right, .repair = r.value, .why = why, .remedy = r.field};
}

// Sizes that are not positive are the business of positive_sizes alone.
constexpr bool divides(long part, long whole) { return part <= 0 || whole <= 0 || whole % part == 0; }

// The largest n <= from that is good; 1 when none is found near (a constant expression has bounded loops).
template <class Predicate>
constexpr long largest_that(long from, Predicate good) {
  for (long n = from; n > 1 && n > from - 4096; --n)
    if (good(n)) return n;
  return 1;
}
constexpr long largest_divisor(long whole, long from) {
  return largest_that(from, [whole](long n) { return whole % n == 0; });
}

// "whole (48) not divisible by part (5); set tp to 4"
constexpr verdict not_divisible(rule broken, quantity whole, quantity part, remedy r) {
  text t;
  t << whole << " not divisible by " << part << "; " << r;
  return refuse(broken, whole.n, part.n, r, t);
}

}  // namespace meshpar::inline v0
