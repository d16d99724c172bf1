// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/ops/tensor.hpp>
#include <meshpar/typing/elementwise.hpp>

namespace meshpar::inline v0 {

// z = x + y; n = {elements}. Both gradients are dz itself: no record.
struct sum_op {
  static constexpr void input_grad(tracer& t, const record& r) {
    t.contribute(r.in[0], t.grad_of(r.out[0]));
    t.contribute(r.in[1], t.grad_of(r.out[0]));
  }
  static constexpr operation info{.name = "sum", .input_grad = &input_grad};

  static constexpr judged rule(const layout& x, const layout& y, const mesh&) { return typing::sum(x, y); }
  constexpr int emit(tracer& t, int line, const layout& out, int x, int y) const {
    const int z = t.make(out, t.values[x].type);
    t.add({.op = &info, .in = values_of(x, y), .out = values_of(z), .n = {t.count(x)}}, line);
    return z;
  }
};

template <class X, class Y>
constexpr auto sum(X x, Y y, int line = __builtin_LINE()) {
  static_assert(decltype(judge<sum_op>(x, y))::ok);
  return apply(sum_op{}, line, x, y);
}

// y = x + b along the last dims of x; n = {rows, width, add to db}.
struct bias_op {
  static constexpr void input_grad(tracer& t, const record& r) { t.contribute(r.in[0], t.grad_of(r.out[0])); }
  static constexpr void weight_grad(tracer& t, const record& r) {
    const int db = t.grad_target(r.in[1]);
    t.add({.op = &grad_info,
           .in = values_of(t.grad_of(r.out[0])),
           .out = values_of(db),
           .n = {r.n[0], r.n[1], t.adds(db)}},
          r.line);
    t.deliver(r.in[1], db);
  }
  static constexpr operation info{"bias", &input_grad, &weight_grad};
  static constexpr operation grad_info{.name = "bias_grad"};  // db[width] += sum over rows of dy

  static constexpr judged rule(const layout& x, const layout& b, const mesh&) { return typing::bias(x, b); }
  constexpr int emit(tracer& t, int line, const layout& out, int x, int b) const {
    const int y = t.make(out, t.values[x].type);
    t.add({.op = &info, .in = values_of(x, b), .out = values_of(y), .n = {t.count(x) / t.count(b), t.count(b)}}, line);
    return y;
  }
};

template <class X, class B>
constexpr auto bias(X x, B b, int line = __builtin_LINE()) {
  static_assert(decltype(judge<bias_op>(x, b))::ok);
  return apply(bias_op{}, line, x, b);
}

}  // namespace meshpar::inline v0
