// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/config/model.hpp>
#include <meshpar/ops/norm.hpp>
#include <meshpar/ops/scope.hpp>

namespace meshpar::inline v0 {

// The norm before each block, over the residual stream. Its weights are replicated where tokens are split, so that
// their gradient is summed there, and invariant where every rank of tp norms the same tokens.
struct norm_layer {
  norm_kind kind;
  double eps;
  param<dims::hidden> gain{"gain", initial::ones};
  param<dims::hidden> shift{"bias", initial::zeros};

  constexpr explicit norm_layer(const model& m) : kind(m.norm), eps(m.norm_eps) {}

  constexpr auto forward(const auto& r, auto x) const {
    if (kind == norm_kind::rms) return rms_norm(dims::hidden, x, r(gain, x), eps);
    const auto g = r(gain, x);
    return layer_norm(dims::hidden, x, g, r(shift, x), eps);
  }
};

}  // namespace meshpar::inline v0
