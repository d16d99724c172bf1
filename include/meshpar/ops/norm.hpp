// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/ops/tensor.hpp>
#include <meshpar/typing/norm.hpp>

namespace meshpar::inline v0 {

// RMSNorm (Zhang and Sennrich 2019) over the last dim: y = x / sqrt(mean(x^2) + eps) * gain; LayerNorm (Ba et al. 2016)
// also subtracts the mean and adds a bias. n = {rows, width, add to the gain's gradient, to the bias's}, a = {eps}.
// What is saved beside x are the row statistics {1/deviation} or {mean, 1/deviation}.
struct norm_op {
  static constexpr void input_grad(tracer& t, const record& r);
  static constexpr void weight_grad(tracer& t, const record& r);
};

struct rms_norm_kind : norm_op {
  static constexpr operation info{"rms_norm", &input_grad, &weight_grad};
  static constexpr operation input_grad_info{.name = "rms_norm_input_grad"};    // dx from {dy, x, gain, rstd}
  static constexpr operation weight_grad_info{.name = "rms_norm_weight_grad"};  // dgain += from {dy, x, rstd}
};
struct layer_norm_kind : norm_op {
  static constexpr operation info{"layer_norm", &input_grad, &weight_grad};
  static constexpr operation input_grad_info{.name = "layer_norm_input_grad"};  // dx from {dy, x, gain, mean, rstd}
  static constexpr operation weight_grad_info{.name =
                                                  "layer_norm_weight_grad"};  // {dgain, dbias} += {dy, x, mean, rstd}
};

constexpr void norm_op::input_grad(tracer& t, const record& r) {
  const bool rms = r.op == &rms_norm_kind::info;
  const int dx = t.make(dual(t.shape(r.in[0]), t.plan.ranks), t.values[r.in[0]].type);
  record g{.op = rms ? &rms_norm_kind::input_grad_info : &layer_norm_kind::input_grad_info,
           .in = values_of(t.grad_of(r.out[0]), t.need(r.in[0]), r.in[1]),
           .out = values_of(dx),
           .n = {r.n[0], r.n[1]},
           .a = {r.a[0]}};
  for (int i = 1; i < r.out.size(); ++i) g.in.push_back(r.out[i]);
  t.add(g, r.line);
  t.contribute(r.in[0], dx);
}

constexpr void norm_op::weight_grad(tracer& t, const record& r) {
  const bool rms = r.op == &rms_norm_kind::info;
  record g{.op = rms ? &rms_norm_kind::weight_grad_info : &layer_norm_kind::weight_grad_info,
           .in = values_of(t.grad_of(r.out[0]), t.need(r.in[0])),
           .n = {r.n[0], r.n[1]}};
  for (int i = 1; i < r.out.size(); ++i) g.in.push_back(r.out[i]);
  for (int i = 1; i < r.in.size(); ++i) g.out.push_back(static_cast<std::int16_t>(t.grad_target(r.in[i])));
  for (int i = 0; i < g.out.size(); ++i) g.n[2 + i] = t.adds(g.out[i]);
  t.add(g, r.line);
  for (int i = 1; i < r.in.size(); ++i) t.deliver(r.in[i], g.out[i - 1]);
}

template <dim_name Over>
struct rms_norm_op : rms_norm_kind {
  double eps;
  static constexpr judged rule(const layout& x, const layout& gain, const mesh&) { return typing::norm(x, gain, Over); }
  constexpr int emit(tracer& t, int line, const layout& out, int x, int gain) const {
    const std::int64_t width = t.count(gain), rows = t.count(x) / width;
    const int y = t.make(out, t.values[x].type);
    const int rstd = t.make_raw(rows, accumulator_of(t.plan.compute));
    t.add({.op = &info, .in = values_of(x, gain), .out = values_of(y, rstd), .n = {rows, width}, .a = {eps}}, line);
    return y;
  }
};

template <dim_name Over>
struct layer_norm_op : layer_norm_kind {
  double eps;
  static constexpr judged rule(const layout& x, const layout& gain, const layout& shift, const mesh&) {
    return typing::norm(x, gain, shift, Over);
  }
  constexpr int emit(tracer& t, int line, const layout& out, int x, int gain, int bias) const {
    const std::int64_t width = t.count(gain), rows = t.count(x) / width;
    const int y = t.make(out, t.values[x].type);
    const dtype statistics = accumulator_of(t.plan.compute);
    const int mean = t.make_raw(rows, statistics), rstd = t.make_raw(rows, statistics);
    t.add(
        {.op = &info, .in = values_of(x, gain, bias), .out = values_of(y, mean, rstd), .n = {rows, width}, .a = {eps}},
        line);
    return y;
  }
};

template <class D, class X, class G>
constexpr auto rms_norm(D, X x, G gain, double eps, int line = __builtin_LINE()) {
  static_assert(decltype(judge<rms_norm_op<D::name>>(x, gain))::ok);
  return apply(rms_norm_op<D::name>{{}, eps}, line, x, gain);
}
template <class D, class X, class G, class B>
constexpr auto layer_norm(D, X x, G gain, B b, double eps, int line = __builtin_LINE()) {
  static_assert(decltype(judge<layer_norm_op<D::name>>(x, gain, b))::ok);
  return apply(layer_norm_op<D::name>{{}, eps}, line, x, gain, b);
}

}  // namespace meshpar::inline v0
