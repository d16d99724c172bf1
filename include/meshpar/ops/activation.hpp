// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/ops/tensor.hpp>
#include <meshpar/typing/elementwise.hpp>

namespace meshpar::inline v0 {

enum class pointwise : std::uint8_t { gelu, relu, silu };  // gelu in its tanh form, as GPT-2

// y = f(x), element by element; n = {elements, kind}. The gradient needs x only.
struct activation_op {
  pointwise kind;

  static constexpr void input_grad(tracer& t, const record& r);
  static constexpr operation info{.name = "activation", .input_grad = &input_grad};
  static constexpr operation grad_info{.name = "activation_grad"};  // dx from {dy, x}

  static constexpr judged rule(const layout& x, const mesh&) { return typing::nonlinear(x, "an activation"); }
  constexpr int emit(tracer& t, int line, const layout& out, int x) const {
    const int y = t.make(out, t.values[x].type);
    t.add({.op = &info, .in = values_of(x), .out = values_of(y), .n = {t.count(x), static_cast<int>(kind)}}, line);
    return y;
  }
};

constexpr void activation_op::input_grad(tracer& t, const record& r) {
  const int dx = t.make(dual(t.shape(r.in[0]), t.plan.ranks), t.values[r.in[0]].type);
  t.add({.op = &grad_info,
         .in = values_of(t.grad_of(r.out[0]), t.need(r.in[0])),
         .out = values_of(dx),
         .n = {r.n[0], r.n[1]}},
        r.line);
  t.contribute(r.in[0], dx);
}

template <class X>
constexpr auto gelu(X x, int line = __builtin_LINE()) {
  static_assert(decltype(judge<activation_op>(x))::ok);
  return apply(activation_op{pointwise::gelu}, line, x);
}
template <class X>
constexpr auto relu(X x, int line = __builtin_LINE()) {
  static_assert(decltype(judge<activation_op>(x))::ok);
  return apply(activation_op{pointwise::relu}, line, x);
}
template <class X>
constexpr auto silu(X x, int line = __builtin_LINE()) {
  static_assert(decltype(judge<activation_op>(x))::ok);
  return apply(activation_op{pointwise::silu}, line, x);
}

// y = silu(gate) * up (Shazeer 2020, arXiv 2002.05202); n = {elements}.
struct swiglu_op {
  static constexpr void input_grad(tracer& t, const record& r);
  static constexpr operation info{.name = "swiglu", .input_grad = &input_grad};
  static constexpr operation grad_info{.name = "swiglu_grad"};  // {dgate, dup} from {dy, gate, up}

  static constexpr judged rule(const layout& gate, const layout& up, const mesh&) {
    const judged j = typing::nonlinear(gate, "swiglu");
    return j.holds() ? typing::product(gate, up, "swiglu") : j;
  }
  constexpr int emit(tracer& t, int line, const layout& out, int gate, int up) const {
    const int y = t.make(out, t.values[up].type);
    t.add({.op = &info, .in = values_of(gate, up), .out = values_of(y), .n = {t.count(up)}}, line);
    return y;
  }
};

constexpr void swiglu_op::input_grad(tracer& t, const record& r) {
  const layout l = dual(t.shape(r.in[0]), t.plan.ranks);
  const int dgate = t.make(l, t.values[r.in[0]].type), dup = t.make(l, t.values[r.in[0]].type);
  t.add({.op = &grad_info,
         .in = values_of(t.grad_of(r.out[0]), t.need(r.in[0]), t.need(r.in[1])),
         .out = values_of(dgate, dup),
         .n = {r.n[0]}},
        r.line);
  t.contribute(r.in[0], dgate);
  t.contribute(r.in[1], dup);
}

template <class Gate, class Up>
constexpr auto swiglu(Gate gate, Up up, int line = __builtin_LINE()) {
  static_assert(decltype(judge<swiglu_op>(gate, up))::ok);
  return apply(swiglu_op{}, line, gate, up);
}

}  // namespace meshpar::inline v0
