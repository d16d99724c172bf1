// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/core/rule.hpp>
#include <meshpar/core/state.hpp>
#include <meshpar/core/text.hpp>

namespace meshpar::inline v0 {

// What a rule says of a configuration: it holds, or which rule is broken, the numbers at odds, and one sentence that
// names them and the cheapest repair. A rule of operations says the states of the operands too, in the order of the
// sentence (of a transition: before and after), and the axis along which it wants others.
struct verdict {
  rule broken = rule::none;
  long left = 0, right = 0, repair = 0;
  int line = 0;  // where the refused operation stands, when an operation was refused
  text why{};
  fix remedy = fix::none;  // what `repair` is the new value of, where it takes one
  state left_is = state::none, right_is = state::none;
  along over = along::none;

  constexpr bool holds() const { return broken == rule::none; }
};

}  // namespace meshpar::inline v0
