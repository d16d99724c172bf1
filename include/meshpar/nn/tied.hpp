// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/layout/print.hpp>
#include <meshpar/ops/tracer.hpp>

namespace meshpar::inline v0 {

// A parameter that both ends of a model declare is one parameter (tied): they must place it alike.
constexpr verdict tied_parameters_placed_alike(const tracer& first, const tracer& last) {
  for (const parameter& p : first.parameters)
    for (const parameter& q : last.parameters)
      if (same_name(p, q) && !(first.shape(p.id) == last.shape(q.id))) {
        text t;
        t << p.name << " is " << name_of(first.shape(p.id)) << " and " << name_of(last.shape(q.id))
          << "; declare it alike";
        return {.broken = rule::tied_parameters_placed_alike, .why = t, .remedy = fix::declare_it_alike};
      }
  return {};
}

}  // namespace meshpar::inline v0
