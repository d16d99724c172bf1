// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/typing/states.hpp>

namespace meshpar::inline v0::typing {

// The sum over some dims: owed over the axes that split them.
constexpr judged sum_over(const layout& x, const over& k) {
  if (!x.maximum.empty()) return {{}, pending_maximum("sum_over", x)};
  for (dim_name d : k)
    if (x.find(d) < 0) return {{}, no_dim("sum_over", "the operand", d)};
  layout out{{}, x.owed, x.invariant, {}};
  for (const split_dim& d : x.dims) {
    bool summed = false;
    for (dim_name n : k) summed = summed || n == d.name;
    if (summed) out.owed = out.owed | d.by.axes();
    else out.dims.push_back(d);
  }
  return {out, {}};
}

// The sum of a gradient over the ranks of `along`: only what is owed is summed, so that neither a missing nor a second
// reduction compiles. The result is R there.
constexpr judged reduce_gradient(const layout& g, axis_set along) {
  if (!g.owed.contains(along)) {
    const axis a = first_of(along - g.owed);
    return {{},
            located(at(a, g), broken_by(rule::reduction_needs_a_partial_sum, fix::leave_as_it_is,
                                        text{} << "all_reduce: the operand is " << state_of(g, a) << " over "
                                               << name_of(a) << ", a sum would multiply it; leave it as it is"))};
  }
  layout out = g;
  out.owed = g.owed - along;
  return {out, {}};
}

// What the optimizer takes: any layout that owes nothing.
constexpr judged updatable(const layout& g) {
  if (g.owed.empty() && g.maximum.empty()) return {g, {}};
  const axis a = first_of(g.owed | g.maximum);
  return {{},
          located(at(a, g), broken_by(rule::update_needs_the_whole_gradient, fix::reduce_gradient,
                                      text{} << "the optimizer's gradient is P over " << name_of(a)
                                             << "; sum it first with reduce_gradient over " << name_of(a)))};
}

}  // namespace meshpar::inline v0::typing
