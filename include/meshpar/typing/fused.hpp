// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/layout/fused.hpp>
#include <meshpar/typing/contract.hpp>

namespace meshpar::inline v0::typing {

// Part i of one product of x [kept..., k...] with a fused weight [k..., parts]: typed as its own contraction, with
// `shared` the layout of the weight without its last dim (the dims k and the states of all parts).
constexpr judged contract_part(const layout& x, const layout& shared, const fused& parts, int i, const over& k) {
  layout w = shared;
  w.dims.push_back(parts.parts[i]);
  return contract(x, w, k);
}

}  // namespace meshpar::inline v0::typing
