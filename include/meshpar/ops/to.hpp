// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/ops/tensor.hpp>
#include <meshpar/typing/target.hpp>

namespace meshpar::inline v0 {

// The states that a user names as a target of to<>.
struct R {};
struct I {};

// x in state R (or I) over an axis: all-gather where it is split, all-reduce where a sum is owed, free otherwise.
template <class State, class Axis>
struct to_axis_op : to_op {
  static constexpr judged rule(const layout& x, const mesh& m) {
    const axis_set along = whole_axis(Axis::value) & m.all();
    const layout target = std::is_same_v<State, R> ? typing::replicate(x, along, m) : typing::invariant(x, along, m);
    const typing::move step = typing::transition(x, target, m);
    return {target, step.no};
  }
  constexpr int emit(tracer& t, int line, const layout& out, int x) const { return emit_to(t, line, out, x); }
};

template <class State, class X, class Axis>
constexpr auto to(X x, Axis, int line = __builtin_LINE()) {
  static_assert(decltype(judge<to_axis_op<State, Axis>>(x))::ok);
  return apply(to_axis_op<State, Axis>{}, line, x);
}

// y in the layout of x: a sum that is owed becomes a reduce-scatter where x is split, an all-reduce where it is whole.
struct to_like_op : to_op {
  static constexpr judged rule(const layout& x, const layout& y, const mesh& m) {
    return {x, typing::transition(y, x, m).no};
  }
  constexpr int emit(tracer& t, int line, const layout& out, int, int y) const { return emit_to(t, line, out, y); }
};
template <class X, class Y>
constexpr auto to_layout_of(X x, Y y, int line = __builtin_LINE()) {
  static_assert(decltype(judge<to_like_op>(x, y))::ok);
  return apply(to_like_op{}, line, x, y);
}

// x with `dim` split further over an axis: each rank keeps its piece.
template <class Dim, class Axis>
struct split_op : to_op {
  static constexpr judged rule(const layout& x, const mesh& m) {
    const judged target = typing::split(x, Dim::name, whole_axis(Axis::value), m);
    return target.holds() ? judged{target.out, typing::transition(x, target.out, m).no} : target;
  }
  constexpr int emit(tracer& t, int line, const layout& out, int x) const { return emit_to(t, line, out, x); }
};
template <class X, class Dim, class Axis>
constexpr auto split(X x, Dim, Axis, int line = __builtin_LINE()) {
  static_assert(decltype(judge<split_op<Dim, Axis>>(x))::ok);
  return apply(split_op<Dim, Axis>{}, line, x);
}

}  // namespace meshpar::inline v0
