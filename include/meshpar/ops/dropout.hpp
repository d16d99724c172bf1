// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/ops/tensor.hpp>
#include <meshpar/typing/elementwise.hpp>

namespace meshpar::inline v0 {

// y = x masked and scaled by 1 / (1 - rate); the mask is a function of global indices, so forward and backward are one
// record kind and no mask is saved. n = {tokens, width, site within the block, batch}, a = {rate}. The operand's layout
// tells where its elements stand globally.
struct dropout_op {
  double rate;

  static constexpr void input_grad(tracer& t, const record& r) {
    const int dx = t.make(dual(t.shape(r.in[0]), t.plan.ranks), t.values[r.in[0]].type);
    t.add({.op = &info,
           .in = values_of(t.grad_of(r.out[0])),
           .out = values_of(dx),
           .n = {r.n[0], r.n[1], r.n[2], r.n[3]},
           .a = {r.a[0]}},
          r.line);
    t.contribute(r.in[0], dx);
  }
  static constexpr operation info{.name = "dropout", .input_grad = &input_grad};

  // The mask counts samples, positions and features, so these must be the dims.
  static constexpr judged rule(const layout& x, const mesh&) {
    if (x.dims.size() == 3 && x.dims[0].name == dims::seq && x.dims[1].name == dims::batch) return typing::dropout(x);
    text t;
    t << "dropout: takes [seq, batch, width], this is " << name_of(x);
    return {.no = {.broken = rule::dimension_missing, .why = t}};
  }
  constexpr int emit(tracer& t, int line, const layout& out, int x) const {
    if (rate == 0) return x;
    const std::int64_t width = out.dims.back().local;
    const int y = t.make(out, t.values[x].type);
    t.add({.op = &info,
           .in = values_of(x),
           .out = values_of(y),
           .n = {t.count(x) / width, width, t.next_site(), out.dims[1].local},
           .a = {rate}},
          line);
    return y;
  }
};

// Each place of a model where dropout happens has a mask of its own.
template <class X>
constexpr auto dropout(X x, double rate, int line = __builtin_LINE()) {
  static_assert(decltype(judge<dropout_op>(x))::ok);
  return apply(dropout_op{rate}, line, x);
}

}  // namespace meshpar::inline v0
