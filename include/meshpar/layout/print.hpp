// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/layout/layout.hpp>

namespace meshpar::inline v0 {

// "R", "I", "P", "P(max)" or "split(seq)": the state of a layout over one axis.
constexpr text state_of(const layout& l, axis a) {
  text t;
  const state s = state_at(l, a);
  if (s == state::M) return t << "P(max)";
  for (const split_dim& d : l.dims)
    if (s == state::S && d.by.axes().contains(a)) return t << "split(" << name_of(d.name) << ")";
  return t << letter_of(s);
}

// "cp.tp", "cp(zigzag)", or "whole" where nothing splits. tp is one name for both of its parts.
constexpr text name_of(const factor_list& by) {
  text t;
  if (by.empty()) return t << "whole";
  for (int k = 0; k < by.size(); ++k) {
    if (by[k].along == axes::kv_rep && k > 0 && by[k - 1].along == axes::tp) continue;
    t << (k > 0 ? "." : "") << name_of(by[k].along);
    if (by[k].by == order::zigzag) t << "(zigzag)";
  }
  return t;
}

// The axis in which such a list ends, by the same name.
constexpr axis last_axis(const factor_list& by) {
  const axis a = by[by.size() - 1].along;
  return a == axes::kv_rep && by.axes().contains(axes::tp) ? axes::tp : a;
}

// "[seq 32/cp.tp, batch 2/dp, hidden 64] P(tp)": local sizes, the axes that split, the states that are not R.
constexpr text name_of(const layout& l) {
  text t;
  t << '[';
  for (int i = 0; i < l.dims.size(); ++i) {
    const split_dim& d = l.dims[i];
    t << (i > 0 ? ", " : "") << name_of(d.name) << ' ' << static_cast<long>(d.local);
    if (!d.by.empty()) t << '/' << name_of(d.by);
  }
  t << ']';
  if (!l.owed.empty()) t << " P(" << name_of(l.owed) << ')';
  if (!l.invariant.empty()) t << " I(" << name_of(l.invariant) << ')';
  if (!l.maximum.empty()) t << " P(max, " << name_of(l.maximum) << ')';
  return t;
}

}  // namespace meshpar::inline v0
