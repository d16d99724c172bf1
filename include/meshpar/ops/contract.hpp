// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/ops/tensor.hpp>
#include <meshpar/typing/contract.hpp>

namespace meshpar::inline v0 {

// Several dims that are contracted together: over(dims::heads, dims::head_dim).
template <std::uint64_t... Names>
struct dim_list {};
template <std::uint64_t... Names>
constexpr dim_list<Names...> over(dim_id<Names>...) {
  return {};
}

// Forward and both pullbacks of a contraction are one kind of record, a matrix product c = op(a) op(b), with
// n = {rows, columns, depth, a is transposed, b is transposed, add to c}; all matrices are row-major and dense.
struct contract_op {
  enum : int { rows, columns, depth, transpose_a, transpose_b, accumulate };

  static constexpr void input_grad(tracer& t, const record& r);
  static constexpr void weight_grad(tracer& t, const record& r);
  static constexpr long flops(const record& r) { return 2 * r.n[rows] * r.n[columns] * r.n[depth]; }
  static constexpr operation info{"contract", &input_grad, &weight_grad, &flops};
};

// x [m, k] and w [k, n], or w [n, k] when b is transposed.
// dx [m, k] = dy [m, n] w^T;  a weight used as it stands is transposed here, and the reverse.
constexpr void contract_op::input_grad(tracer& t, const record& r) {
  if (!t.wants_grad(r.in[0])) return;
  const int dx = t.make(dual(t.shape(r.in[0]), t.plan.ranks), t.values[r.in[0]].type);
  t.add({.op = &info,
         .in = values_of(t.grad_of(r.out[0]), t.need(r.in[1])),
         .out = values_of(dx),
         .n = {r.n[rows], r.n[depth], r.n[columns], 0, 1 - r.n[transpose_b], 0}},
        r.line);
  t.contribute(r.in[0], dx);
}

// dw [k, n] += x^T dy, or dw [n, k] += dy^T x.
constexpr void contract_op::weight_grad(tracer& t, const record& r) {
  const int dy = t.grad_of(r.out[0]), x = t.need(r.in[0]), dw = t.grad_target(r.in[1]);
  const bool swap = r.n[transpose_b] != 0;
  t.add({.op = &info,
         .in = swap ? values_of(dy, x) : values_of(x, dy),
         .out = values_of(dw),
         .n = {swap ? r.n[columns] : r.n[depth], swap ? r.n[depth] : r.n[columns], r.n[rows], 1, 0, t.adds(dw)}},
        r.line);
  t.deliver(r.in[1], dw);
}

template <std::uint64_t... Names>
struct contract_named : contract_op {
  static constexpr judged rule(const layout& x, const layout& w, const mesh&) {
    return typing::contract(x, w, make_over());
  }
  constexpr int emit(tracer& t, int line, const layout& out, int x, int w) const {
    std::int64_t k = 1;
    for (const dim_name name : make_over()) k *= t.shape(w).dims[t.shape(w).find(name)].local;
    const std::int64_t m = t.count(x) / k, n = t.count(w) / k;
    const bool trailing = t.shape(w).find(make_over()[0]) != 0;
    const int y = t.make(out, t.values[x].type);
    t.add({.op = &info, .in = values_of(x, w), .out = values_of(y), .n = {m, n, k, 0, trailing, 0}}, line);
    return y;
  }
  static constexpr typing::over make_over() {
    typing::over o;
    (o.push_back(Names), ...);
    return o;
  }
};

template <class Over>
struct contract_over;
template <std::uint64_t Name>
struct contract_over<dim_id<Name>> : contract_named<Name> {};
template <std::uint64_t... Names>
struct contract_over<dim_list<Names...>> : contract_named<Names...> {};

// y = x w summed over the named dims, which stand last in x and first or last in w: y keeps the other dims of x, then
// those of w. Over a split dim the sum is still owed: y is P there.
template <class Over, class X, class W>
constexpr auto contract(Over, X x, W w, int line = __builtin_LINE()) {
  static_assert(decltype(judge<contract_over<Over>>(x, w))::ok);
  return apply(contract_over<Over>{}, line, x, w);
}

}  // namespace meshpar::inline v0
