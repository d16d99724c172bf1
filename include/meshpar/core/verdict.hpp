// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/core/rule.hpp>
#include <meshpar/core/text.hpp>

namespace meshpar::inline v0 {

// What a rule says of a configuration: it holds, or which rule is broken, the numbers at odds, the number that would
// repair it (0: see the sentence), and one sentence that names all of them and the cheapest repair.
struct verdict {
  rule broken = rule::none;
  long left = 0, right = 0, repair = 0;
  int line = 0;  // where the refused operation stands, when an operation was refused
  text why{};
  fix remedy = fix::none;  // what `repair` is the new value of, or the axis of

  constexpr bool holds() const { return broken == rule::none; }
};

}  // namespace meshpar::inline v0
