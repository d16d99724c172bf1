// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/layout/print.hpp>
#include <meshpar/typing/judged.hpp>

namespace meshpar::inline v0::typing {

// Dimensions named by an operation: what it contracts, sums or normalises over.
using over = fixed_vector<dim_name, 3>;

// How rules refuse. Nothing here runs while a rule holds: words are only made for a refusal.

constexpr verdict broken_by(rule r, fix remedy, const text& why, std::int64_t left = 0, std::int64_t right = 0,
                            std::int64_t repair = 0) {
  verdict v;
  v.broken = r, v.remedy = remedy, v.left = left, v.right = right, v.repair = repair, v.why = why;
  return v;
}

// The slowest axis of a set that is not empty.
constexpr axis first_of(axis_set s) {
  std::uint8_t i = 0;
  while (!s.contains(axis{i})) ++i;
  return axis{i};
}

// How the operands of a refused operation stand over an axis.
struct standing {
  axis over{};
  state left = state::none, right = state::none;
};
constexpr standing at(axis a, const layout& x) { return {a, state_at(x, a)}; }
constexpr standing at(axis a, const layout& x, const layout& y) { return {a, state_at(x, a), state_at(y, a)}; }
constexpr verdict located(const standing& where, verdict v) {
  v.over = static_cast<along>(where.over.id), v.left_is = where.left, v.right_is = where.right;
  return v;
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

// A rule broken where a move over an axis repairs it: that ends the sentence.
constexpr verdict mended_by(fix remedy, const char* operand, const standing& where, rule r, const text& why,
                            std::int64_t left = 0, std::int64_t right = 0) {
  const text move = moved_to(remedy == fix::to_I ? "I" : "R", operand, where.over);
  return located(where, broken_by(r, remedy, text{} << why << move, left, right));
}
constexpr verdict mended_by(fix left_or_right, const standing& where, rule r, const text& why) {
  return mended_by(left_or_right, left_or_right == fix::to_R_left ? "left" : "right", where, r, why);
}

constexpr verdict no_dim(const char* what, const char* operand, dim_name d) {
  return broken_by(rule::dimension_missing, fix::name_another_dimension,
                   text{} << what << ": " << operand << " has no " << name_of(d) << " in its place");
}
constexpr verdict sizes_differ(const char* what, const split_dim& x, const split_dim& y) {
  return broken_by(rule::dimension_sizes_differ, fix::none,
                   text{} << what << ": a rank holds " << static_cast<long>(x.local) << " of " << name_of(x.name)
                          << " on the left, " << static_cast<long>(y.local) << " of " << name_of(y.name)
                          << " on the right",
                   x.local, y.local);
}
// An axis of one list that the other lacks; the first where they differ in order only.
constexpr axis differing(const factor_list& x, const factor_list& y) {
  const axis_set a = x.axes(), b = y.axes(), one = (a | b) - (a & b);
  return one.empty() ? x[0].along : first_of(one);
}
constexpr verdict split_differently(const char* what, const split_dim& x, const split_dim& y, const layout& left,
                                    const layout& right) {
  text t;
  t << what << ": " << name_of(x.name) << " is " << (x.by.empty() ? "" : "over ") << name_of(x.by) << " left, "
    << (y.by.empty() ? "" : "over ") << name_of(y.by) << " right; ";
  if (!x.by.empty() && !y.by.empty())
    return located(
        at(differing(x.by, y.by), left, right),
        broken_by(rule::dimension_split_differently, fix::to_layout_of, t << "give both one order with to_layout_of"));
  return mended_by(x.by.empty() ? fix::to_R_right : fix::to_R_left, at((x.by.empty() ? y : x).by[0].along, left, right),
                   rule::dimension_split_differently, t << "split both or ");
}
constexpr verdict not_whole(const char* what, const split_dim& d) {
  return mended_by(fix::to_R, "x", {d.by[0].along, state::S}, rule::dimension_must_be_whole,
                   text{} << what << " needs " << name_of(d.name) << " whole, a rank holds "
                          << static_cast<long>(d.local) << " (over " << name_of(d.by) << "); gather it with ",
                   d.local);
}
constexpr verdict owed_sum(const char* what, const layout& x) {
  const axis a = first_of(x.owed);
  return mended_by(fix::to_R, "x", at(a, x), rule::partial_sum_in_a_nonlinearity,
                   text{} << what << " of a partial sum (P over " << name_of(a) << "); sum it first with ");
}
constexpr verdict pending_maximum(const char* what, const layout& x) {
  return mended_by(fix::to_I, "x", at(first_of(x.maximum), x), rule::maximum_still_pending,
                   text{} << what << ": over " << name_of(x.maximum) << " a maximum is pending; finish it with ");
}
constexpr verdict invariant_mixed(const char* what, const layout& x, const layout& y) {
  const axis a = first_of((x.invariant | y.invariant) - (x.invariant & y.invariant));
  return mended_by(x.invariant.contains(a) ? fix::to_R_left : fix::to_R_right, at(a, x, y), rule::invariant_mixed,
                   states_at(what, x, y, a) << "I mixes only with I: ");
}

// Two dims that meet must have equal local sizes and equal factor lists.
constexpr bool same(const split_dim& x, const split_dim& y) { return x.local == y.local && x.by == y.by; }
constexpr verdict unlike(const char* what, const layout& x, int i, const layout& y, int j) {
  const split_dim &a = x.dims[i], &b = y.dims[j];
  return a.by == b.by ? sizes_differ(what, a, b) : split_differently(what, a, b, x, y);
}

}  // namespace meshpar::inline v0::typing
