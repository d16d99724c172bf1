// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/config/cluster.hpp>
#include <meshpar/core/require.hpp>
#include <meshpar/meta/cost.hpp>

namespace meshpar::inline v0 {

template <class Net>
constexpr step_cost price_of() {
  program p(Net::what, Net::task, Net::how, Net::make_layers());
  return p.refused() ? step_cost{} : price(p);
}

// What a step of rank 0 costs, as a constant.
template <class Net>
inline constexpr step_cost cost_of = price_of<Net>();

// The arena and the cluster's reserve must fit into a device's memory.
constexpr verdict memory_fits(std::int64_t height, const cluster& c) {
  if (height + c.reserve_bytes <= c.memory_bytes) return {};
  const long need = height / 1'000'000, have = usable_bytes(c) / 1'000'000;
  text t;
  t << "a rank needs " << need << " MB, a device has " << have
    << " MB beside its reserve; raise tp or take smaller micro-batches";
  return {.broken = rule::memory_fits, .left = need, .right = have, .why = t, .remedy = fix::raise_tp};
}

template <class Net, const cluster& Cluster>
struct memory_check {
  static constexpr verdict result = memory_fits(cost_of<Net>.height, Cluster);
};
// The refusal stands in a class of its own, so that what asks for it does not fail as well.
template <class Net, const cluster& Cluster>
struct memory_checked {
  static_assert(require<memory_check<Net, Cluster>>::ok);
};
// `static_assert(fits<net, h200>)`: running out of memory is a compile error that says by how much.
template <class Net, const cluster& Cluster>
inline constexpr bool fits = sizeof(memory_checked<Net, Cluster>) > 0;

}  // namespace meshpar::inline v0
