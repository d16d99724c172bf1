// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/nn/make.hpp>
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
  const char *scope, *norm_scope;

  constexpr residual(const model& m, const char* name, const char* norm_name)
      : norm(m), inner(make<Inner>(m)), rate(m.dropout), scope(name), norm_scope(norm_name) {}

  constexpr auto forward(const auto& r, auto x) const {
    return sum(x, dropout(inner.forward(r.in(scope), norm.forward(r.in(norm_scope), x)), rate));
  }
};

}  // namespace meshpar::inline v0
