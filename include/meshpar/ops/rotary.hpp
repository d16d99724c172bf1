// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/ops/tensor.hpp>
#include <meshpar/typing/attention.hpp>

namespace meshpar::inline v0 {

// Rotary position embedding (Su et al. 2021, arXiv 2104.09864), pairs (i, i + head_dim / 2), of x [seq, batch, heads,
// head_dim]. Its pullback is the rotation by the opposite angle. n = {positions here, rows per position, head_dim,
// backward, positions of the whole sequence}, a = {theta}; the operand's layout tells its global positions. The table
// of angles is a constant of the program: [positions of the whole sequence, head_dim] of cosines, then sines.
struct rotary_op {
  double theta;

  static constexpr void input_grad(tracer& t, const record& r) {
    const int dx = t.make(dual(t.shape(r.in[0]), t.plan.ranks), t.values[r.in[0]].type);
    t.add({.op = &info,
           .in = values_of(t.grad_of(r.out[0]), r.in[1]),
           .out = values_of(dx),
           .n = {r.n[0], r.n[1], r.n[2], 1 - r.n[3], r.n[4]},
           .a = {r.a[0]}},
          r.line);
    t.contribute(r.in[0], dx);
  }
  static constexpr operation info{.name = "rotary", .input_grad = &input_grad};

  static constexpr judged rule(const layout& x, const mesh&) { return typing::rotary(x); }
  constexpr int emit(tracer& t, int line, const layout& out, int x) const {
    const std::int64_t positions = out.dims[0].local, width = out.dims.back().local;
    const std::int64_t whole = out.global_size(0, t.plan.ranks);
    const int table = t.make_constant(whole * width, accumulator_of(t.plan.compute), theta);
    const int y = t.make(out, t.values[x].type);
    t.add({.op = &info,
           .in = values_of(x, table),
           .out = values_of(y),
           .n = {positions, t.count(x) / positions / width, width, 0, whole},
           .a = {theta}},
          line);
    return y;
  }
};

template <class X>
constexpr auto rotary(X x, double theta, int line = __builtin_LINE()) {
  static_assert(decltype(judge<rotary_op>(x))::ok);
  return apply(rotary_op{theta}, line, x);
}

}  // namespace meshpar::inline v0
