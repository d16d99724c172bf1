// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/kernels/attention_shape.hpp>
#include <meshpar/ops/tensor.hpp>
#include <meshpar/typing/attention.hpp>

namespace meshpar::inline v0 {

// Causal softmax(q k^T scale) v, tiled (Dao et al. 2022, arXiv 2205.14135): q [seq, batch, heads, head_dim], k and v
// [seq, batch, kv_heads, head_dim], each KV head serving heads / kv_heads query heads. What is saved is the logarithm
// of the softmax's sum, [batch, heads, seq]; scratch is O(tile). n = {seq, batch, heads, head_dim, kv_heads, dropout
// site}, a = {scale, dropout rate}.
struct attention_op {
  double rate;

  static constexpr void input_grad(tracer& t, const record& r);
  // Scores and their product with v over the causal half: 2 products of 2 flops, half of them masked.
  static constexpr long flops(const record& r) { return 2 * r.n[0] * r.n[0] * r.n[1] * r.n[2] * r.n[3]; }
  // Five products instead of two.
  static constexpr long grad_flops(const record& r) { return flops(r) / 2 * 5; }
  static constexpr operation info{.name = "attention", .input_grad = &input_grad, .flops = &flops};
  static constexpr operation grad_info{.name = "attention_grad", .flops = &grad_flops};

  static constexpr judged rule(const layout& q, const layout& k, const layout& v, const mesh&) {
    return typing::attention(q, k, v);
  }
  constexpr int emit(tracer& t, int line, const layout& out, int q, int k, int v) const {
    const std::int64_t d = out.dims[3].local;
    const dtype statistics = accumulator_of(t.plan.compute);
    const int o = t.make(out, t.values[q].type), lse = t.make_raw(t.count(q) / d, statistics);
    const int scratch = t.make_raw(scratch_bytes(d, statistics, phase::forward), dtype::bytes);
    t.add({.op = &info,
           .in = values_of(q, k, v),
           .out = values_of(o, lse, scratch),
           .n = {out.dims[0].local, out.dims[1].local, out.dims[2].local, d, t.shape(k).dims[2].local, t.next_site()},
           .a = {inverse_square_root(static_cast<double>(d)), rate}},
          line);
    return o;
  }
  static constexpr std::int64_t scratch_bytes(std::int64_t head_dim, dtype statistics, phase when) {
    const std::int64_t floats = when == phase::forward ? kernels::attention_forward_scratch_bytes<float>(head_dim)
                                                       : kernels::attention_scratch_bytes<float>(head_dim);
    return floats / size_of(dtype::f32) * size_of(statistics);
  }
  // 1 / sqrt(x) by Newton's method, for constant expressions.
  static constexpr double inverse_square_root(double x) {
    double root = x;
    for (int i = 0; i < 40; ++i) root = (root + x / root) / 2;
    return 1 / root;
  }
};

constexpr void attention_op::input_grad(tracer& t, const record& r) {
  const int q = r.in[0], k = r.in[1], v = r.in[2];
  const auto make_dual = [&t](int id) { return t.make(dual(t.shape(id), t.plan.ranks), t.values[id].type); };
  const int dq = make_dual(q), dk = make_dual(k), dv = make_dual(v);
  const int scratch =
      t.make_raw(scratch_bytes(r.n[3], accumulator_of(t.plan.compute), phase::input_grad), dtype::bytes);
  record g = r;
  g.op = &grad_info;
  g.in = values_of(t.need(q), t.need(k), t.need(v), t.grad_of(r.out[0]), r.out[0], r.out[1]);
  g.out = values_of(dq, dk, dv, scratch);
  t.add(g, r.line);
  t.contribute(q, dq);
  t.contribute(k, dk);
  t.contribute(v, dv);
}

template <class Q, class K, class V>
constexpr auto attention(Q q, K k, V v, double rate, int line = __builtin_LINE()) {
  static_assert(decltype(judge<attention_op>(q, k, v))::ok);
  return apply(attention_op{rate}, line, q, k, v);
}

}  // namespace meshpar::inline v0
