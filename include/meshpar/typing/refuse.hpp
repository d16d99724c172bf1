// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/layout/print.hpp>
#include <meshpar/typing/judged.hpp>

namespace meshpar::inline v0::typing {

// Dimensions named by an operation: what it contracts, sums or normalises over.
using over = fixed_vector<dim_name, 3>;

// How rules refuse. Nothing here runs while a rule holds: words are only made for a refusal.

constexpr verdict broken_by(rule r, const text& why, std::int64_t left = 0, std::int64_t right = 0,
                            std::int64_t repair = 0) {
  verdict v;
  v.broken = r, v.left = left, v.right = right, v.repair = repair, v.why = why;
  return v;
}

// The slowest axis of a set that is not empty.
constexpr axis first_of(axis_set s) {
  std::uint8_t i = 0;
  while (!s.contains(axis{i})) ++i;
  return axis{i};
}

// "to<R>(left, axes::tp)"
constexpr text moved_to(const char* state, const char* operand, axis a) {
  return text{} << "to<" << state << ">(" << operand << ", axes::" << name_of(a) << ')';
}

// "what: left is I, right split(ffn) over tp; "
constexpr text states_at(const char* what, const layout& x, const layout& y, axis a) {
  return text{} << what << ": left is " << state_of(x, a) << ", right " << state_of(y, a) << " over " << name_of(a)
                << "; ";
}

constexpr verdict no_dim(const char* what, const char* operand, dim_name d) {
  return broken_by(rule::dimension_missing,
                   text{} << what << ": " << operand << " has no " << name_of(d) << " in its place");
}
constexpr verdict sizes_differ(const char* what, const split_dim& x, const split_dim& y) {
  return broken_by(rule::dimension_sizes_differ,
                   text{} << what << ": a rank holds " << static_cast<long>(x.local) << " of " << name_of(x.name)
                          << " on the left, " << static_cast<long>(y.local) << " of " << name_of(y.name)
                          << " on the right",
                   x.local, y.local);
}
constexpr verdict split_differently(const char* what, const split_dim& x, const split_dim& y) {
  text t;
  t << what << ": " << name_of(x.name) << " is " << (x.by.empty() ? "" : "over ") << name_of(x.by) << " left, "
    << (y.by.empty() ? "" : "over ") << name_of(y.by) << " right; ";
  if (x.by.empty() || y.by.empty())
    t << "split both or " << moved_to("R", x.by.empty() ? "right" : "left", (x.by.empty() ? y : x).by[0].along);
  else t << "give both one order with to_layout_of";
  return broken_by(rule::dimension_split_differently, t, x.local, y.local);
}
constexpr verdict not_whole(const char* what, const split_dim& d) {
  const axis a = d.by[0].along;
  return broken_by(rule::dimension_must_be_whole,
                   text{} << what << " needs " << name_of(d.name) << " whole, a rank holds "
                          << static_cast<long>(d.local) << " (over " << name_of(d.by) << "); gather it with "
                          << moved_to("R", "x", a),
                   d.local);
}
constexpr verdict owed_sum(const char* what, const layout& x) {
  const axis a = first_of(x.owed);
  return broken_by(rule::partial_sum_in_a_nonlinearity, text{} << what << " of a partial sum (P over " << name_of(a)
                                                               << "); sum it first with " << moved_to("R", "x", a));
}
constexpr verdict pending_maximum(const char* what, const layout& x) {
  return broken_by(rule::maximum_still_pending, text{} << what << ": over " << name_of(x.maximum)
                                                       << " a maximum is pending; finish it with "
                                                       << moved_to("I", "x", first_of(x.maximum)));
}
constexpr verdict invariant_mixed(const char* what, const layout& x, const layout& y) {
  const axis a = first_of((x.invariant | y.invariant) - (x.invariant & y.invariant));
  const char* side = x.invariant.contains(a) ? "left" : "right";
  return broken_by(rule::invariant_mixed, states_at(what, x, y, a)
                                              << "I mixes only with I: " << moved_to("R", side, a));
}

// Two dims that meet must have equal local sizes and equal factor lists.
constexpr bool same(const split_dim& x, const split_dim& y) { return x.local == y.local && x.by == y.by; }
constexpr verdict unlike(const char* what, const split_dim& x, const split_dim& y) {
  return x.by == y.by ? sizes_differ(what, x, y) : split_differently(what, x, y);
}

}  // namespace meshpar::inline v0::typing
