// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/core/require.hpp>
#include <meshpar/ops/backward.hpp>
#include <meshpar/ops/numbered.hpp>
#include <meshpar/typing/judged.hpp>

#include <type_traits>

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

// A rule applied to typed tensors, by their numbers: its verdict and the type of the result.
template <class Op, int X, int... More>
struct check {
  using operation = Op;
  static constexpr judged judgement =
      Op::rule(entry<X>.shape, entry<More>.shape..., plan_numbered<entry<X>.plan>.ranks);
  static constexpr verdict result = judgement.no;
  using type = typename v0::result<result.holds()>::template type<judgement.out, entry<X>.plan>;
};

// Every operation on tensors has two lines. The first, static_assert(decltype(judge<Op>(x, y))::ok), judges the layouts
// of typed operands by Op::rule(layouts..., mesh) -> judged: it refuses in the operation itself, so that the next line
// of the message is the user's. Traced operands are judged by the second line, and what follows a refusal is not
// judged.
template <class Op, int... X>
auto judge(tensor<X>...) -> decltype(ruling<check<Op, X...>>());
template <class Op, class... X>
  requires((std::is_same_v<X, traced> || std::is_same_v<X, refused>) || ...)
broken<> judge(X...);

// The second, apply(op, line, x, y), adds its records, or finds the type of the result.
// op.emit(tracer, line, layout of the result, value ids...) -> value id.
template <class Op, class... More>
constexpr traced apply(const Op& op, int line, traced x, More... more) {
  if (x.on->refused()) return x;
  const judged j = Op::rule(x.shape(), more.shape()..., x.on->plan.ranks);
  if (!j.holds()) return x.on->refuse(j.no, line), x;
  return {x.on, op.emit(*x.on, line, j.out, x.id, more.id...)};
}
template <class Op, int... X>
constexpr auto apply(const Op&, int, tensor<X>...) {
  return typename check<Op, X...>::type{};
}
template <class Op, class... X>
  requires(std::is_same_v<X, refused> || ...)
constexpr refused apply(const Op&, int, X...) {
  return {};
}

}  // namespace meshpar::inline v0
