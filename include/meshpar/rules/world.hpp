// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/rules/words.hpp>

namespace meshpar::inline v0 {

// Asked when a run starts: as many ranks as the plan has.
constexpr verdict world_size_matches_plan(const plan& p, long ranks) {
  const long needed = rank_count(p);
  if (ranks == needed) return {};
  text t;
  t << quantity{"ranks", ranks} << " are not pp * dp * cp * tp = " << p.pp << " * " << p.dp << " * " << p.cp << " * "
    << p.tp << " = " << needed;
  return refuse(rule::world_size_matches_plan, ranks, needed, {fix::set_ranks, needed}, t);
}

}  // namespace meshpar::inline v0
