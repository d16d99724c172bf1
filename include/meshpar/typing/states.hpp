// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/typing/refuse.hpp>

namespace meshpar::inline v0::typing {

// The algebra of states, one axis at a time, for all axes of a mesh at once. Dims are the caller's business.

// Multiplication: R is the unit; P times P and P times split are errors; I mixes only with I. `met` holds the axes that
// split a dim which both operands share; any other axis may split one operand only.
constexpr verdict multiply(const char* what, const layout& x, const layout& y, axis_set met) {
  if (!(x.maximum | y.maximum).empty()) return pending_maximum(what, x.maximum.empty() ? y : x);
  if (!(x.invariant == y.invariant)) return invariant_mixed(what, x, y);
  const axis_set xs = x.split(), ys = y.split();
  if (const axis_set both = x.owed & y.owed; !both.empty()) {
    const axis a = first_of(both);
    return mended_by(fix::to_R_left, at(a, x, y), rule::product_of_two_partial_sums,
                     text{} << what << ": both are P over " << name_of(a) << " (cross terms); sum one first: ");
  }
  if (const axis_set clash = (x.owed & ys) | (y.owed & xs); !clash.empty()) {
    const axis a = first_of(clash);
    return mended_by(x.owed.contains(a) ? fix::to_R_left : fix::to_R_right, at(a, x, y),
                     rule::partial_sum_meets_a_split, states_at(what, x, y, a) << "P multiplies only R: ");
  }
  if (const axis_set clash = (xs & ys) - met; !clash.empty()) {
    const axis a = first_of(clash);
    return mended_by(fix::to_R_left, at(a, x, y), rule::axis_on_two_dimensions,
                     states_at(what, x, y, a) << "gather one: ");
  }
  return {};
}

// Addition: T + T = T, and nothing else.
constexpr verdict add(const char* what, const layout& x, const layout& y) {
  if (!(x.maximum | y.maximum).empty()) return pending_maximum(what, x.maximum.empty() ? y : x);
  if (!(x.invariant == y.invariant)) return invariant_mixed(what, x, y);
  if (x.owed == y.owed) return {};
  const axis a = first_of((x.owed | y.owed) - (x.owed & y.owed));
  return mended_by(x.owed.contains(a) ? fix::to_R_left : fix::to_R_right, at(a, x, y), rule::sum_of_unlike_states,
                   states_at(what, x, y, a) << "sum the " << (x.owed.contains(a) ? "left" : "right") << " first with ");
}

// Any function that is not linear: no sum may be pending.
constexpr verdict settled(const char* what, const layout& x) {
  if (!x.maximum.empty()) return pending_maximum(what, x);
  if (!x.owed.empty()) return owed_sum(what, x);
  return {};
}

}  // namespace meshpar::inline v0::typing
