// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a user reads: the exact words of refusals.
#include <meshpar/typing/typing.hpp>

#include <doctest/doctest.h>

#include <array>
#include <initializer_list>

using namespace meshpar;
namespace ty = meshpar::typing;

namespace {

constexpr mesh m{extent{axes::dp, 2}, extent{axes::tp, 4}};
constexpr split_dim seq = make_dim(dims::seq, 64, m), seq_tp = make_dim(dims::seq, 64, m, axes::tp),
                    batch = make_dim(dims::batch, 8, m, axes::dp), hidden = make_dim(dims::hidden, 32, m),
                    hidden_tp = make_dim(dims::hidden, 32, m, axes::tp), ffn = make_dim(dims::ffn, 128, m, axes::tp);
constexpr layout x = make_layout(seq, batch, hidden), x_seq = make_layout(seq_tp, batch, hidden),
                 x_hidden = make_layout(seq, batch, hidden_tp), x_owed = with_owed(x, axes::tp, m),
                 x_invariant = with_invariant(x, axes::tp, m);
constexpr layout up = make_layout(hidden, ffn), gain = make_layout(hidden);
constexpr ty::over over_hidden{{dims::hidden}, 1};

constexpr bool says(const verdict& v, rule r, const char* words) { return v.broken == r && v.why == words; }

// Rules are constant expressions, words included.
static_assert(says(ty::nonlinear(x_owed, "gelu").no, rule::partial_sum_in_a_nonlinearity,
                   "gelu of a partial sum (P over tp); sum it first with to<R>(x, axes::tp)"));
static_assert(says(ty::place("ffn", 130, axes::tp, m).no, rule::split_does_not_divide,
                   "ffn = 130 does not divide over tp = 4; the nearest tp that divides is 2"));

}  // namespace

TEST_CASE("contract") {
  CHECK(ty::contract(x_invariant, up, over_hidden).no.why ==
        "contract: left is I, right split(ffn) over tp; I mixes only with I: to<R>(left, axes::tp)");
  CHECK(ty::contract(x_seq, up, over_hidden).no.why ==
        "contract: left is split(seq), right split(ffn) over tp; gather one: to<R>(left, axes::tp)");
  CHECK(ty::contract(x_hidden, up, over_hidden).no.why ==
        "contract: hidden is over tp left, whole right; split both or to<R>(left, axes::tp)");
  const verdict sizes = ty::contract(x, make_layout(make_dim(dims::hidden, 16, m), ffn), over_hidden).no;
  CHECK(says(sizes, rule::dimension_sizes_differ,
             "contract: a rank holds 32 of hidden on the left, 16 of hidden on the right"));
  CHECK(sizes.left == 32);
  CHECK(sizes.right == 16);
  CHECK(ty::contract(x, up, ty::over{{dims::ffn}, 1}).no.why == "contract: the left operand has no ffn in its place");
}

TEST_CASE("states, axis and repair are in the verdict too, for compilers that print no sentence") {
  struct told {
    state left, right;
    along over;
    fix remedy;
    bool operator==(const told&) const = default;
  };
  const auto told_of = [](const verdict& v) { return told{v.left_is, v.right_is, v.over, v.remedy}; };
  using enum state;
  const auto one_move = [](const layout& from, const layout& to) { return ty::transition(from, to, m).no; };
  const layout cut_twice = make_layout(make_dim(dims::seq, 64, m, axes::dp | axes::tp));
  CHECK(told_of(ty::contract(x_invariant, up, over_hidden).no) == told{I, S, along::tp, fix::to_R_left});
  CHECK(told_of(ty::contract(x_hidden, up, over_hidden).no) == told{S, S, along::tp, fix::to_R_left});
  CHECK(told_of(ty::sum(x_owed, x).no) == told{P, R, along::tp, fix::to_R_left});
  CHECK(told_of(ty::sum(x, x_owed).no) == told{R, P, along::tp, fix::to_R_right});
  CHECK(told_of(ty::sum(x, x_seq).no) == told{R, S, along::tp, fix::to_R_right});
  CHECK(told_of(ty::nonlinear(x_owed, "gelu").no) == told{P, none, along::tp, fix::to_R});
  CHECK(told_of(ty::nonlinear(ty::row_max(x_hidden).out, "exp").no) == told{M, none, along::tp, fix::to_I});
  CHECK(told_of(ty::norm(x_hidden, gain, dims::hidden).no) == told{S, none, along::tp, fix::to_R});
  CHECK(told_of(ty::sum(make_layout(seq_tp), make_layout(make_dim(dims::seq, 32, m, axes::dp))).no) ==
        told{R, S, along::dp, fix::to_layout_of});
  CHECK(told_of(one_move(x_owed, make_layout(seq, make_dim(dims::batch, 8, m), hidden))) ==
        told{S, R, along::dp, fix::one_axis_at_a_time});
  CHECK(told_of(one_move(cut_twice, make_layout(seq_tp))) == told{S, S, along::tp, fix::to_R});
  CHECK(told_of(ty::reduce_gradient(x, axes::tp).no) == told{R, none, along::tp, fix::leave_as_it_is});
  CHECK(told_of(ty::updatable(x_owed).no) == told{P, none, along::tp, fix::reduce_gradient});
  CHECK(told_of(ty::contract(x, up, ty::over{{dims::ffn}, 1}).no) ==
        told{none, none, along::none, fix::name_another_dimension});
  CHECK(told_of(ty::place("heads", 12, axes::dp, mesh{extent{axes::dp, 8}}).no) ==
        told{none, none, along::dp, fix::set_extent});
  CHECK(ty::sum(x, x_owed).no.why ==
        "sum: left is R, right P over tp; sum the right first with to<R>(right, axes::tp)");
  for (const axis a : {axis(axes::pp), axis(axes::dp), axis(axes::cp), axis(axes::tp), axis(axes::kv_rep)})
    CHECK(static_cast<int>(std::array{along::pp, along::dp, along::cp, along::tp, along::kv_rep}[a.id]) == a.id);
  static_assert(static_cast<int>(along::etp) == axes::etp.id);
}

TEST_CASE("sums, biases, norms") {
  CHECK(ty::sum(x_owed, x).no.why == "sum: left is P, right R over tp; sum the left first with to<R>(left, axes::tp)");
  CHECK(ty::bias(x_owed, gain).no.broken == rule::sum_of_unlike_states);
  CHECK(ty::norm(x_hidden, make_layout(hidden_tp), dims::hidden).no.why ==
        "norm needs hidden whole, a rank holds 8 (over tp); gather it with to<R>(x, axes::tp)");
  CHECK(ty::norm(x_invariant, gain, dims::hidden).no.broken == rule::invariant_mixed);
}

TEST_CASE("placement names the nearest extent that divides") {
  const verdict v = ty::place("heads", 12, axes::tp, mesh{extent{axes::tp, 8}}).no;
  CHECK(v.why == "heads = 12 does not divide over tp = 8; the nearest tp that divides is 6");
  CHECK(v.left == 12);
  CHECK(v.right == 8);
  CHECK(v.repair == 6);
  CHECK(ty::place("seq", 20, axes::dp | axes::tp, m).no.why ==
        "seq = 20 (10 of it before tp) does not divide over tp = 4; the nearest tp that divides is 2");
  CHECK(ty::place("seq", 12, axes::cp, mesh{extent{axes::cp, 4}}, order::zigzag).no.why ==
        "seq = 12 does not divide over cp = 4 (zigzag: 2 pieces a rank); the nearest cp that divides is 3");
  CHECK(ty::place("ffn", 128, axes::tp, m).dim == ffn);
}

TEST_CASE("tp is one axis, also where KV heads make two of it") {
  const mesh two{extent{axes::tp, 2}, extent{axes::kv_rep, 2}};
  const axis_set tp = whole_axis(axes::tp);
  CHECK(ty::place("ffn", 6, tp, two).no.why == "ffn = 6 does not divide over tp = 4; the nearest tp that divides is 3");
  CHECK(ty::split(make_layout(make_dim(dims::head_dim, 10, two)), dims::head_dim, tp, two).no.why ==
        "split: a rank holds 10 of head_dim, not divisible by tp = 4; the nearest tp is 2");
  CHECK(ty::norm(make_layout(make_dim(dims::hidden, 32, two, tp)), make_layout(make_dim(dims::hidden, 32, two, tp)),
                 dims::hidden)
            .no.why == "norm needs hidden whole, a rank holds 8 (over tp); gather it with to<R>(x, axes::tp)");
  CHECK(ty::seed(make_layout(), two).no.why ==
        "seed: the loss is R over tp, so 4 ranks would count it; make it I with to<I>(x, axes::tp)");
  const mesh c{extent{axes::cp, 2}, extent{axes::tp, 2}, extent{axes::kv_rep, 2}};
  CHECK(ty::transition(make_layout(make_dim(dims::seq, 64, c, c.all())), make_layout(make_dim(dims::seq, 64, c, tp)), c)
            .no.why == "to: seq is over cp.tp, of which only the last can move; gather tp too");
  CHECK(name_of(make_dim(dims::kv_heads, 2, two, axes::kv_rep).by) == "kv_rep");  // a part by itself has its own name
}

TEST_CASE("transitions") {
  CHECK(ty::transition(x_seq, make_layout(seq, make_dim(dims::batch, 8, m), hidden), m).no.why ==
        "to: dp goes from split(batch) to R, tp from split(seq) to R; write one `to` per axis");
  const mesh c{extent{axes::cp, 2}, extent{axes::tp, 2}};
  CHECK(ty::transition(make_layout(make_dim(dims::seq, 64, c, c.all())),
                       make_layout(make_dim(dims::seq, 64, c, axes::tp)), c)
            .no.why == "to: seq is over cp.tp, of which only the last can move; gather tp too");
}

TEST_CASE("the loss and the optimizer") {
  const verdict v = ty::seed(with_owed(make_layout(), axes::dp, m), m).no;
  CHECK(v.why == "seed: the loss is R over tp, so 4 ranks would count it; make it I with to<I>(x, axes::tp)");
  CHECK(v.left == 4);
  CHECK(ty::updatable(x_owed).no.why ==
        "the optimizer's gradient is P over tp; sum it first with reduce_gradient over tp");
  CHECK(ty::reduce_gradient(x, axes::tp).no.why ==
        "all_reduce: the operand is R over tp, a sum would multiply it; leave it as it is");
}

TEST_CASE("a pending maximum goes nowhere but to its end") {
  const layout most = ty::row_max(x_hidden).out;
  CHECK(name_of(most) == "[seq 64, batch 4/dp] P(max, tp)");
  const char* words = "exp: over tp a maximum is pending; finish it with to<I>(x, axes::tp)";
  CHECK(ty::nonlinear(most, "exp").no.why == words);
  for (const judged& j : {ty::linear(most), ty::sum(most, most), ty::product(most, most), ty::bias(most, most),
                          ty::sum_over(most, ty::over{{dims::seq}, 1}), ty::updatable(most), ty::row_max(most),
                          ty::concat(most, most, dims::seq), ty::slice(most, dims::seq, 0, 1)})
    CHECK_FALSE(j.holds());
}

TEST_CASE("rules that only name dims") {
  CHECK(ty::slice(make_layout(ffn), dims::ffn, 0, 8).no.why ==
        "slice: ffn is over tp, a rank has no piece of each part; declare them as fused(...)");
  CHECK(ty::rotary(make_layout(seq, batch, make_dim(dims::heads, 8, m), make_dim(dims::head_dim, 7, m))).no.repair ==
        8);
  CHECK(ty::rotary(x).no.broken == rule::dimension_missing);
  CHECK(ty::attention(x, x, x).no.broken == rule::dimension_missing);
  CHECK(ty::contract(x, make_layout(hidden, make_dim(dims::seq, 4, m)), over_hidden).no.broken ==
        rule::dimension_appears_twice);
  CHECK(
      ty::learned_positions(make_layout(seq, batch), make_layout(make_dim(dims::positions, 32, m), hidden), m).no.why ==
      "learned_positions: 64 positions of seq, but only 32 rows of positions");
  const layout swapped = make_layout(make_dim(dims::head_dim, 8, m), make_dim(dims::heads, 4, m));
  CHECK(ty::merge_dims(swapped, dims::heads, dims::head_dim, dims::hidden, m).no.broken ==
        rule::dimensions_not_adjacent);
  CHECK(ty::transition(x, make_layout(batch, seq, hidden), m).no.broken == rule::dimension_missing);
  CHECK(ty::transition(x, make_layout(seq, batch, make_dim(dims::hidden, 64, m)), m).no.broken ==
        rule::dimension_sizes_differ);
}
