// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
// For each rule of operations (typing/) a step that it refuses, for the page that lists them.
#include <meshpar/typing/typing.hpp>

namespace rules_test {

namespace ops {

using namespace meshpar;
namespace ty = meshpar::typing;

constexpr mesh m{extent{axes::dp, 2}, extent{axes::tp, 4}};
constexpr split_dim seq = make_dim(dims::seq, 64, m), seq_tp = make_dim(dims::seq, 64, m, axes::tp),
                    batch = make_dim(dims::batch, 8, m, axes::dp), hidden = make_dim(dims::hidden, 32, m),
                    hidden_tp = make_dim(dims::hidden, 32, m, axes::tp), ffn_tp = make_dim(dims::ffn, 128, m, axes::tp),
                    head_dim = make_dim(dims::head_dim, 8, m);
constexpr layout x = make_layout(seq, batch, hidden), x_seq = make_layout(seq_tp, batch, hidden),
                 x_hidden = make_layout(seq, batch, hidden_tp), x_owed = with_owed(x, axes::tp, m),
                 x_invariant = with_invariant(x, axes::tp, m), up = make_layout(hidden, ffn_tp);
constexpr ty::over over_hidden{{dims::hidden}, 1};
constexpr local_operand x_operand{"x", {dims::seq, dims::batch, dims::hidden}}, w{"w", {dims::ffn, dims::hidden}};
constexpr local_edges rows_of_w{.inputs = {x_operand, w},
                                .result = {"y", {dims::seq, dims::batch, dims::ffn}},
                                .splits = {dims::seq, dims::batch, dims::hidden}},
    whole_of_pieces{.inputs = {x_operand, w},
                    .result = {"y", {dims::seq, dims::batch, dims::ffn}},
                    .along = {{{edge::R, edge::split(dims::ffn)}, edge::R}}};

inline verdict no(const ty::move& t) { return t.no; }
inline verdict no(const judged& j) { return j.no; }

}  // namespace ops

// What refuses it; the rule is the verdict's own.
inline std::vector<meshpar::verdict> refused_operations() {
  using namespace ops;
  const layout heads = make_layout(seq, batch, make_dim(dims::heads, 8, m, axes::tp), head_dim);
  return {
      no(ty::nonlinear(x_owed, "gelu")),
      no(ty::product(x_owed, x_owed)),
      no(ty::sum(x_owed, x)),
      no(ty::contract(x_invariant, up, over_hidden)),
      no(ty::contract(x, up, {{dims::ffn}, 1})),
      no(ty::contract(x, make_layout(make_dim(dims::hidden, 16, m), ffn_tp), over_hidden)),
      no(ty::contract(x_hidden, up, over_hidden)),
      no(ty::contract(x_seq, up, over_hidden)),
      no(ty::norm(x_hidden, make_layout(hidden_tp), dims::hidden)),
      no(ty::transition(x_seq, make_layout(seq, make_dim(dims::batch, 8, m), hidden), m)),
      ty::place("ffn", 130, axes::tp, m).no,
      no(ty::transition(make_layout(make_dim(dims::hidden, 32, m, axes::dp | axes::tp)), make_layout(hidden_tp), m)),
      no(ty::seed(with_owed(make_layout(), axes::dp, m), m)),
      no(ty::merge_dims(make_layout(head_dim, make_dim(dims::heads, 4, m)), dims::heads, dims::head_dim, dims::hidden,
                        m)),
      no(ty::embedding(make_layout(seq_tp, batch), make_layout(make_dim(dims::vocab, 96, m, axes::tp), hidden))),
      no(ty::attention(heads, make_layout(seq, batch, make_dim(dims::kv_heads, 8, m), head_dim),
                       make_layout(seq, batch, make_dim(dims::kv_heads, 8, m), head_dim))),
      no(ty::contract(x_owed, up, over_hidden)),
      no(ty::contract(x, make_layout(hidden, make_dim(dims::seq, 4, m)), over_hidden)),
      no(ty::nonlinear(ty::row_max(x_hidden).out, "exp")),
      no(ty::reduce_gradient(x, axes::tp)),
      no(ty::updatable(x_owed)),
      no(ty::quotient(x, with_owed(make_layout(), axes::dp, m))),
      no(ty::rotary(make_layout(seq, batch, make_dim(dims::heads, 8, m), make_dim(dims::head_dim, 7, m)))),
      no(ty::local("my_product", rows_of_w, {{{x, make_layout(ffn_tp, hidden)}, 2}, m})),
      no(ty::local("my_product", whole_of_pieces, {{{x, make_layout(ffn_tp, hidden)}, 2}, m})),
  };
}

}  // namespace rules_test
