// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/config/model.hpp>
#include <meshpar/ops/activation.hpp>
#include <meshpar/ops/contract.hpp>
#include <meshpar/ops/scope.hpp>
#include <meshpar/ops/sum.hpp>
#include <meshpar/ops/to.hpp>

namespace meshpar::inline v0 {

// Two products with an activation between, or SwiGLU's three. Column- and row-parallel are what `contract` yields when
// the plan splits `ffn`.
struct mlp {
  activation_kind activation;
  bool biased;
  param<dims::hidden, dims::ffn> up{"up"};
  param<dims::hidden, dims::ffn> gate{"gate"};
  param<dims::ffn, dims::hidden> down{"down", initial::residual};
  param<dims::ffn> up_bias{"up_bias", initial::zeros};
  param<dims::hidden> down_bias{"down_bias", initial::zeros};

  constexpr explicit mlp(const model& m) : activation(m.activation), biased(m.bias) {}

  constexpr auto forward(const auto& r, auto x) const {
    const auto h = to<R>(x, axes::tp);
    const auto wide = widen(r, h);
    const auto y = to_layout_of(x, contract(dims::ffn, wide, r[down]));
    return biased ? bias(y, r(down_bias, y)) : y;
  }

 private:
  constexpr auto widen(const auto& r, auto h) const {
    if (activation == activation_kind::swiglu) {
      const auto g = contract(dims::hidden, h, r[gate]);
      return swiglu(g, contract(dims::hidden, h, r[up]));
    }
    const auto plain = contract(dims::hidden, h, r[up]);
    const auto y = biased ? bias(plain, r[up_bias]) : plain;
    return activation == activation_kind::relu ? relu(y) : gelu(y);
  }
};

}  // namespace meshpar::inline v0
