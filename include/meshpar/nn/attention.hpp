// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/config/model.hpp>
#include <meshpar/ops/attention.hpp>
#include <meshpar/ops/contract.hpp>
#include <meshpar/ops/norm.hpp>
#include <meshpar/ops/rotary.hpp>
#include <meshpar/ops/scope.hpp>
#include <meshpar/ops/sum.hpp>
#include <meshpar/ops/to.hpp>

namespace meshpar::inline v0 {

// Causal self-attention with as many KV heads as the model says: multi-head, grouped or multi-query. Heads are split
// over tp because the plan splits the dim `heads`; where tp exceeds the KV heads, these are replicated over a part of
// it.
struct attention_layer {
  bool biased, rotated, normed;
  double eps, theta, rate;
  param<dims::hidden, dims::heads, dims::head_dim> query{"query"};
  param<dims::hidden, dims::kv_heads, dims::head_dim> key{"key"};
  decltype(key) value{"value"};
  param<dims::heads, dims::head_dim, dims::hidden> output{"output", initial::residual};
  param<dims::heads, dims::head_dim> query_bias{"query_bias", initial::zeros};
  param<dims::kv_heads, dims::head_dim> key_bias{"key_bias", initial::zeros};
  decltype(key_bias) value_bias{"value_bias", initial::zeros};
  param<dims::hidden> output_bias{"output_bias", initial::zeros};
  param<dims::head_dim> query_gain{"query_norm", initial::ones};
  param<dims::head_dim> key_gain{"key_norm", initial::ones};

  constexpr explicit attention_layer(const model& m)
      : biased(m.bias),
        rotated(m.positions == position_kind::rotary),
        normed(m.qk_norm),
        eps(m.norm_eps),
        theta(m.rope_theta),
        rate(m.dropout) {}

  constexpr auto forward(const auto& r, auto x) const {
    const auto h = to<R>(x, axes::tp);
    const auto q = place(r, project(r, h, query, query_bias), query_gain);
    const auto k = place(r, project(r, h, key, key_bias), key_gain);
    const auto v = project(r, h, value, value_bias);
    const auto o = attention(q, k, v, rate);
    const auto y = to_layout_of(x, contract(over(dims::heads, dims::head_dim), o, r[output]));
    return biased ? bias(y, r(output_bias, y)) : y;
  }

 private:
  constexpr auto project(const auto& r, auto h, const auto& weight, const auto& shift) const {
    const auto y = contract(dims::hidden, h, r[weight]);
    return biased ? bias(y, r[shift]) : y;
  }
  // Queries and keys: normed per head (Qwen3), then rotated by their positions.
  constexpr auto place(const auto& r, auto q, const auto& gain) const {
    const auto n = normed ? rms_norm(dims::head_dim, q, r[gain], eps) : q;
    return rotated ? rotary(n, theta) : n;
  }
};

}  // namespace meshpar::inline v0
