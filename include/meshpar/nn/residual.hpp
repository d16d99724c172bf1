// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/nn/norm.hpp>
#include <meshpar/ops/dropout.hpp>
#include <meshpar/ops/sum.hpp>

namespace meshpar::inline v0 {

// x + dropout(inner(norm(x))): the pre-norm residual block.
template <class Inner>
struct residual {
  norm_layer norm;
  Inner inner;
  double rate;

  constexpr explicit residual(const model& m) : norm(m), inner(m), rate(m.dropout) {}

  constexpr auto forward(const auto& r, auto x) const {
    return sum(x, dropout(inner.forward(r.in(Inner::scope), norm.forward(r.in(Inner::norm_scope), x)), rate, 0));
  }
};

}  // namespace meshpar::inline v0
