// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/rules/words.hpp>

namespace meshpar::inline v0 {

inline constexpr const char* world_demand = "A run has as many ranks as the plan: pp * dp * cp * tp.";
inline constexpr const char* world_matters =
    "Ranks that belong to no group wait for ever, or worse, work on another's samples.";

// Asked when a run starts.
constexpr verdict world_size_matches_plan(const plan& p, long ranks) {
  const long needed = rank_count(p);
  if (ranks == needed) return {};
  const remedy r{fix::set_ranks, needed};
  text t;
  t << quantity{"ranks", ranks} << " are not pp * dp * cp * tp = " << p.pp << " * " << p.dp << " * " << p.cp << " * "
    << p.tp << " = " << needed << "; " << r;
  return refuse(rule::world_size_matches_plan, ranks, needed, r, t);
}

}  // namespace meshpar::inline v0
