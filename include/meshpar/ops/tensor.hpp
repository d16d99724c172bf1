// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/core/require.hpp>
#include <meshpar/ops/backward.hpp>
#include <meshpar/typing/judged.hpp>

namespace meshpar::inline v0 {

// A tensor inside a layer, in two forms that the same layer accepts. `traced` has its layout as data: programs are made
// with it, at compile time and at run time, by code compiled once for all plans. `tensor` has its layout in its type
// and nothing else: a user's layer is checked with it under each plan, at no cost in the program, and what is refused
// names the user's own line. `refused` is what a refused operation returns: every operation takes it in silence, so
// that nothing cascades.
struct traced {
  tracer* on = nullptr;
  int id = no_value;

  constexpr const layout& shape() const { return on->shape(id); }
};

template <layout L, const context& Plan>
struct tensor {
  static constexpr layout shape() { return L; }
};

struct refused {
  static constexpr layout shape() { return {}; }
};

// A rule applied to the layouts of typed operands, in the form that require<> reads.
template <class Op, const context& Plan, layout... In>
struct check {
  static constexpr judged judgement = Op::rule(In..., Plan.ranks);
  static constexpr verdict result = judgement.no;
};

// The result of a check: a tensor, or the one error and `refused`. The assertion stands in a class, because clang takes
// a function in whose body there was an error for an unusable one, and its callers too.
template <class Check, const context& Plan, bool = Check::result.holds()>
struct outcome {
  static_assert(require<Check>::ok);
  using type = refused;
};
template <class Check, const context& Plan>
struct outcome<Check, Plan, true> {
  using type = tensor<Check::judgement.out, Plan>;
};
template <class Check, const context& Plan>
constexpr auto result_of() {
  return typename outcome<Check, Plan>::type{};
}

// Every operation on tensors ends here: judge the operands' layouts by the operation's rule, then add its records.
// Op::rule(layouts..., mesh) -> judged; op.emit(tracer, line, layout of the result, value ids...) -> value id.
template <class Op, class... More>
constexpr traced apply(const Op& op, int line, traced x, More... more) {
  if (x.on->refused()) return x;
  const judged j = Op::rule(x.shape(), more.shape()..., x.on->plan.ranks);
  if (!j.holds()) return x.on->refuse(j.no, line), x;
  return {x.on, op.emit(*x.on, line, j.out, x.id, more.id...)};
}
template <class Op, layout L, const context& Plan, layout... More>
constexpr auto apply(const Op&, int, tensor<L, Plan>, tensor<More, Plan>...) {
  return result_of<check<Op, Plan, L, More...>, Plan>();
}
template <class Op, class... More>
  requires(std::is_same_v<More, refused> || ...)
constexpr refused apply(const Op&, int, More...) {
  return {};
}

}  // namespace meshpar::inline v0
