// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/ops/tensor.hpp>
#include <meshpar/typing/elementwise.hpp>
#include <meshpar/typing/embedding.hpp>

namespace meshpar::inline v0 {

// y [seq, batch, hidden] = rows of table [vocab, hidden] at ids [seq, batch]; a rank that holds a piece of the
// vocabulary gives zeros for the rest, so that a sum is owed over it. n = {tokens, width, rows held}.
struct embedding_op {
  static constexpr void weight_grad(tracer& t, const record& r) {
    const int d = t.grad_target(r.in[0]);
    t.add({.op = &grad_info,
           .in = values_of(r.in[0], t.grad_of(r.out[0]), r.in[1]),
           .out = values_of(d),
           .n = {r.n[0], r.n[1], r.n[2], t.adds(d)}},
          r.line);
    t.deliver(r.in[0], d);
  }
  static constexpr operation info{.name = "embedding", .weight_grad = &weight_grad};
  static constexpr operation grad_info{.name =
                                           "embedding_grad"};  // dtable += rows of dy, in token order; {table, dy, ids}

  static constexpr judged rule(const layout& table, const layout& ids, const mesh&) {
    return typing::embedding(ids, table);
  }
  constexpr int emit(tracer& t, int line, const layout& out, int table, int ids) const {
    const std::int64_t width = out.dims.back().local;
    const int y = t.make(out, t.values[table].type);
    t.add({.op = &info,
           .in = values_of(table, ids),
           .out = values_of(y),
           .n = {t.count(ids), width, t.count(table) / width}},
          line);
    return y;
  }
};

template <class Table, class Ids>
constexpr auto embedding(Table table, Ids ids, int line = __builtin_LINE()) {
  static_assert(decltype(judge<embedding_op>(table, ids))::ok);
  return apply(embedding_op{}, line, table, ids);
}

// y = x + the rows of table [positions, hidden] at the global positions of x [seq, batch, hidden].
// n = {positions here, batch, width, add to dtable, rows of the table}.
struct positions_op {
  static constexpr void input_grad(tracer& t, const record& r) { t.contribute(r.in[0], t.grad_of(r.out[0])); }
  static constexpr void weight_grad(tracer& t, const record& r) {
    const int d = t.grad_target(r.in[1]);
    t.add({.op = &grad_info,
           .in = values_of(t.grad_of(r.out[0])),
           .out = values_of(d),
           .n = {r.n[0], r.n[1], r.n[2], t.adds(d), t.shape(r.in[1]).dims[0].local}},
          r.line);
    t.deliver(r.in[1], d);
  }
  static constexpr operation info{.name = "positions", .input_grad = &input_grad, .weight_grad = &weight_grad};
  static constexpr operation grad_info{.name = "positions_grad"};  // dtable[position] += sum over batch of dy

  static constexpr judged rule(const layout& x, const layout& table, const mesh& m) {
    layout tokens = x;
    if (!tokens.dims.empty()) tokens.dims.pop_back();
    const judged rows = typing::learned_positions(tokens, table, m);
    return rows.holds() ? typing::sum(x, rows.out) : rows;
  }
  constexpr int emit(tracer& t, int line, const layout& out, int x, int table) const {
    const int y = t.make(out, t.values[x].type);
    t.add({.op = &info,
           .in = values_of(x, table),
           .out = values_of(y),
           .n = {out.dims[0].local, out.dims[1].local, out.dims[2].local}},
          line);
    return y;
  }
};

template <class X, class Table>
constexpr auto learned_positions(X x, Table table, int line = __builtin_LINE()) {
  static_assert(decltype(judge<positions_op>(x, table))::ok);
  return apply(positions_op{}, line, x, table);
}

}  // namespace meshpar::inline v0
