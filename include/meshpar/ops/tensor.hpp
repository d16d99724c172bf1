// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/core/require.hpp>
#include <meshpar/ops/backward.hpp>
#include <meshpar/ops/numbered.hpp>
#include <meshpar/typing/judged.hpp>

namespace meshpar::inline v0 {

// A tensor inside a layer, in two forms that the same layer accepts. `traced` has its layout as data: programs are made
// with it, at compile time and at run time, by code compiled once for all plans. `tensor` (numbered.hpp) has its layout
// in its type and nothing else: a user's layer is checked with it under each plan, at no cost in the program, and what
// is refused names the user's own line. `refused` is what a refused operation returns: every operation takes it in
// silence, so that nothing cascades.
struct traced {
  tracer* on = nullptr;
  int id = no_value;

  constexpr const layout& shape() const { return on->shape(id); }
};

struct refused {
  static constexpr layout shape() { return {}; }
};

// A rule applied to operands: its verdict on the layouts of typed ones, and the type of the result. Of traced ones the
// trace judges; what follows a refusal is not judged.
template <class Op, class... X>
struct check {
  static constexpr verdict result{};
  using type = refused;
};
template <class Op, class... More>
struct check<Op, traced, More...> {
  static constexpr verdict result{};
  using type = traced;
};
template <class Op, int X, int... More>
struct check<Op, tensor<X>, tensor<More>...> {
  static constexpr judged judgement =
      Op::rule(tensor<X>::shape(), tensor<More>::shape()..., plan_numbered<entry<X>.plan>.ranks);
  static constexpr verdict result = judgement.no;
  using type = result_type<result.holds(), judgement.out, entry<X>.plan>;
};

// static_assert(decltype(judge<Op>(x, y))::ok) is the first line of every operation: it refuses there, so that the next
// line of the message is the user's.
template <class Op, class... X>
auto judge(X...) -> decltype(ruling<check<Op, X...>>());

// The second line: add the operation's records, or find the type of its result.
// Op::rule(layouts..., mesh) -> judged; op.emit(tracer, line, layout of the result, value ids...) -> value id.
template <class Op, class... More>
constexpr traced apply(const Op& op, int line, traced x, More... more) {
  if (x.on->refused()) return x;
  const judged j = Op::rule(x.shape(), more.shape()..., x.on->plan.ranks);
  if (!j.holds()) return x.on->refuse(j.no, line), x;
  return {x.on, op.emit(*x.on, line, j.out, x.id, more.id...)};
}
template <class Op, class... X>
constexpr auto apply(const Op&, int, X...) {
  return typename check<Op, X...>::type{};
}

}  // namespace meshpar::inline v0
