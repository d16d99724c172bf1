// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/core/require.hpp>
#include <meshpar/ops/tracer.hpp>
#include <meshpar/typing/judged.hpp>

namespace meshpar::inline v0 {

// A tensor inside a layer, in two forms that the same layer accepts. `traced` has its layout as data: plans are traced
// with it, at compile time and at run time, by code compiled once. `tensor` has its layout in its type: a user's layer
// is checked with it, and what is refused names the user's own line.
struct traced {
  tracer* on = nullptr;
  int id = no_value;

  constexpr const layout& shape() const { return on->shape(id); }
  constexpr const context& plan() const { return on->plan; }
};

template <layout L, const context& Plan>
struct tensor {
  tracer* on = nullptr;
  int id = no_value;

  static constexpr layout shape() { return L; }
  static constexpr const context& plan() { return Plan; }
};

// A rule applied to the layouts of typed operands, in the form that require<> reads.
template <class Op, const context& Plan, layout... In>
struct check {
  static constexpr judged judgement = Op::rule(In..., Plan.ranks);
  static constexpr verdict result = judgement.no;
};

// Every operation on tensors ends here: judge the operands' layouts by the operation's rule, then add its records.
// Op::rule(layouts..., mesh) -> judged; op.emit(tracer, layout of the result, value ids...) -> value id.
template <class Op, class... More>
constexpr traced apply(const Op& op, int line, traced x, More... more) {
  if (x.on->refused()) return x;
  const judged j = Op::rule(x.shape(), more.shape()..., x.plan().ranks);
  if (!j.holds()) return x.on->refuse(j.no, line), x;
  return {x.on, op.emit(*x.on, line, j.out, x.id, more.id...)};
}
template <class Op, layout L, const context& Plan, class... More>
constexpr auto apply(const Op& op, int line, tensor<L, Plan> x, More... more) {
  using judge = check<Op, Plan, L, More::shape()...>;
  static_assert(require<judge>::ok);
  return tensor<judge::judgement.out, Plan>{x.on, op.emit(*x.on, line, judge::judgement.out, x.id, more.id...)};
}

}  // namespace meshpar::inline v0
