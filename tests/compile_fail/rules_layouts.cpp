// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What needs no rule of the catalogue because layouts do not allow it: the wrong step of each row of
// tests/rules/coverage.tsv, by its id, beside the right one.
#include <meshpar/core/require.hpp>
#include <meshpar/typing/typing.hpp>

using namespace meshpar;
namespace ty = meshpar::typing;

constexpr mesh m{extent{axes::dp, 2}, extent{axes::tp, 4}};
constexpr split_dim seq = make_dim(dims::seq, 64, m), seq_tp = make_dim(dims::seq, 64, m, axes::tp),
                    batch = make_dim(dims::batch, 8, m, axes::dp), hidden = make_dim(dims::hidden, 32, m),
                    hidden_tp = make_dim(dims::hidden, 32, m, axes::tp), ffn = make_dim(dims::ffn, 128, m),
                    ffn_tp = make_dim(dims::ffn, 128, m, axes::tp), vocab = make_dim(dims::vocab, 96, m),
                    vocab_tp = make_dim(dims::vocab, 96, m, axes::tp);
constexpr layout x = make_layout(seq, batch, hidden), x_seq = make_layout(seq_tp, batch, hidden),
                 x_hidden = make_layout(seq, batch, hidden_tp), x_ffn = make_layout(seq, batch, ffn_tp),
                 x_owed = with_owed(x, axes::tp, m);
constexpr layout gain = make_layout(hidden), gain_invariant = with_invariant(gain, axes::tp, m),
                 gain_owed = with_owed(gain, axes::tp, m);
constexpr layout labels = make_layout(seq, batch);
constexpr ty::over over_hidden{{dims::hidden}, 1}, over_ffn{{dims::ffn}, 1}, over_tokens{{dims::seq, dims::batch}, 2};

// ---- TP-02, TP-13: an extent that the ranks do not divide
struct tp13_uneven {
  static constexpr verdict result = ty::place("ffn", 130, axes::tp, m).no;
};
struct tp13_even {
  static constexpr verdict result = ty::place("ffn", 132, axes::tp, m).no;
};
// told: 130, 4, along::tp, fix::set_extent, 2
static_assert(require<tp13_uneven>::ok);  // expect: split_does_not_divide, 130, 4
static_assert(require<tp13_even>::ok);

// ---- TP-04, TP-06: the first half of what a rank holds is no half of the whole
struct tp04_half_of_a_piece {
  static constexpr verdict result = ty::slice(x_ffn, dims::ffn, 0, 16).no;
};
struct tp04_half_of_the_whole {
  static constexpr verdict result = ty::slice(make_layout(seq, batch, ffn), dims::ffn, 0, 64).no;
};
// told: 32, 0, 'S', along::tp, fix::declare_fused
static_assert(require<tp04_half_of_a_piece>::ok);  // expect: dimension_must_be_whole
static_assert(require<tp04_half_of_the_whole>::ok);

// ---- TP-07: a weight of another size
struct tp07_other_size {
  static constexpr verdict result = ty::contract(x, make_layout(make_dim(dims::hidden, 16, m), ffn_tp), over_hidden).no;
};
struct tp07_own_size {
  static constexpr verdict result = ty::contract(x, make_layout(hidden, ffn_tp), over_hidden).no;
};
// told: 32, 16
static_assert(require<tp07_other_size>::ok);  // expect: dimension_sizes_differ, 32, 16
static_assert(require<tp07_own_size>::ok);

// ---- TP-08, SP-03: rows of a weight are split, the input is not
struct tp08_whole_input {
  static constexpr verdict result =
      ty::contract(make_layout(seq, batch, ffn), make_layout(ffn_tp, hidden), over_ffn).no;
};
struct tp08_split_input {
  static constexpr verdict result = ty::contract(x_ffn, make_layout(ffn_tp, hidden), over_ffn).no;
};
// told: 'R', 'S', along::tp, fix::to_R_right
static_assert(require<tp08_whole_input>::ok);  // expect: dimension_split_differently
static_assert(require<tp08_split_input>::ok);

// ---- TP-09, SP-04: the gradient of a weight whose every use is the same work on each rank is summed over these ranks,
// and a gradient that has been summed is summed again
struct tp09_summed_over_copies {
  static constexpr verdict result = ty::reduce_gradient(gain_invariant, axes::tp).no;
};
struct sp04_summed_twice {
  static constexpr verdict result = ty::reduce_gradient(ty::reduce_gradient(gain_owed, axes::tp).out, axes::tp).no;
};
struct sp04_summed_once {
  static constexpr verdict result = ty::reduce_gradient(gain_owed, axes::tp).no;
};
// told: 'I', along::tp, fix::leave_as_it_is
static_assert(require<tp09_summed_over_copies>::ok);  // expect: reduction_needs_a_partial_sum
// told: 'R', along::tp, fix::leave_as_it_is
static_assert(require<sp04_summed_twice>::ok);  // expect: reduction_needs_a_partial_sum
static_assert(require<sp04_summed_once>::ok);

// ---- TP-10: a loss of gathered logits, which each of 4 ranks of tp would count
template <const layout& Logits>
struct loss_of {
  static constexpr verdict result =
      ty::seed(
          ty::sum_over(ty::sum_over(ty::cross_entropy(Logits, labels).out, {{dims::batch}, 1}).out, {{dims::seq}, 1})
              .out,
          m)
          .no;
};
constexpr layout logits_gathered = make_layout(seq, batch, vocab), logits_split = make_layout(seq, batch, vocab_tp);
using tp10_gathered = loss_of<logits_gathered>;
using tp10_split = loss_of<logits_split>;
// told: 4, 1, 'R', along::tp, fix::to_I
static_assert(require<tp10_gathered>::ok);  // expect: loss_partial_or_invariant, 4
static_assert(require<tp10_split>::ok);

// ---- TP-11: the mean of log-probabilities over the own part of the vocabulary, added to the loss of a token
constexpr layout token_loss = with_invariant(labels, axes::tp, m), own_mean = with_owed(labels, axes::tp, m);
struct tp11_own_part {
  static constexpr verdict result = ty::sum(token_loss, own_mean).no;
};
struct tp11_all_of_it {
  static constexpr verdict result = ty::sum(token_loss, token_loss).no;
};
// told: 'I', 'P', along::tp, fix::to_R_left
static_assert(require<tp11_own_part>::ok);  // expect: invariant_mixed
static_assert(require<tp11_all_of_it>::ok);

// ---- TP-12: a norm that sees a part of hidden
struct tp12_part {
  static constexpr verdict result = ty::norm(x_hidden, make_layout(hidden_tp), dims::hidden).no;
};
struct tp12_whole {
  static constexpr verdict result = ty::norm(x_seq, gain, dims::hidden).no;
};
// told: 8, 0, 'S', along::tp, fix::to_R
static_assert(require<tp12_part>::ok);  // expect: dimension_must_be_whole
static_assert(require<tp12_whole>::ok);

// ---- SP-05, SP-06: the gain of a norm over split positions has a term of its gradient on each rank
struct sp05_used_before_the_sum {
  static constexpr verdict result = ty::updatable(gain_owed).no;
};
struct sp05_used_after_the_sum {
  static constexpr verdict result = ty::updatable(ty::reduce_gradient(gain_owed, axes::tp).out).no;
};
// told: 'P', along::tp, fix::reduce_gradient
static_assert(require<sp05_used_before_the_sum>::ok);  // expect: update_needs_the_whole_gradient
static_assert(require<sp05_used_after_the_sum>::ok);

// ---- MESH-17: of two axes that cut one dim only the last can be gathered
constexpr layout cut_twice = make_layout(make_dim(dims::hidden, 32, m, axes::dp | axes::tp));
struct mesh17_first_axis {
  static constexpr verdict result = ty::transition(cut_twice, make_layout(hidden_tp), m).no;
};
struct mesh17_last_axis {
  static constexpr verdict result =
      ty::transition(cut_twice, make_layout(make_dim(dims::hidden, 32, m, axes::dp)), m).no;
};
// told: 'S', 'S', along::tp, fix::to_R
static_assert(require<mesh17_first_axis>::ok);  // expect: only_a_suffix_can_be_gathered
static_assert(require<mesh17_last_axis>::ok);

// ---- MESH-18: two axes change at once
struct mesh18_two_axes {
  static constexpr verdict result =
      ty::transition(make_layout(seq_tp, batch, hidden), make_layout(seq, make_dim(dims::batch, 8, m), hidden), m).no;
};
struct mesh18_one_axis {
  static constexpr verdict result = ty::transition(make_layout(seq_tp, batch, hidden), x, m).no;
};
// told: 'S', 'R', along::dp, fix::one_axis_at_a_time
static_assert(require<mesh18_two_axes>::ok);  // expect: not_one_collective
static_assert(require<mesh18_one_axis>::ok);

// ---- ETP-01: a bias added to what is still owed over the ranks that share an expert
constexpr mesh folded{extent{axes::ep, 2}, extent{axes::etp, 2}};
constexpr split_dim token = make_dim(dims::seq, 64, folded), width = make_dim(dims::hidden, 32, folded);
struct etp01_before_the_sum {
  static constexpr verdict result =
      ty::bias(with_owed(make_layout(token, width), axes::etp, folded), make_layout(width)).no;
};
struct etp01_after_the_sum {
  static constexpr verdict result = ty::bias(make_layout(token, width), make_layout(width)).no;
};
// told: 'P', 'R', along::etp, fix::to_R_left
static_assert(require<etp01_before_the_sum>::ok);  // expect: sum_of_unlike_states
static_assert(require<etp01_after_the_sum>::ok);

// ---- MOE-08: a decision taken from counts that lack the tokens of other ranks
struct moe08_own_counts {
  static constexpr verdict result = ty::nonlinear(with_owed(make_layout(hidden), axes::dp, m), "sign").no;
};
struct moe08_all_counts {
  static constexpr verdict result = ty::nonlinear(make_layout(hidden), "sign").no;
};
// told: 'P', along::dp, fix::to_R
static_assert(require<moe08_own_counts>::ok);  // expect: partial_sum_in_a_nonlinearity
static_assert(require<moe08_all_counts>::ok);

// ---- ZERO-02, ZERO-03: a gradient or a loss divided by what each rank counts for itself
struct zero03_own_count {
  static constexpr verdict result = ty::quotient(x_owed, with_owed(make_layout(), axes::dp, m)).no;
};
struct zero03_count_of_all {
  static constexpr verdict result = ty::quotient(x_owed, with_invariant(make_layout(), axes::dp, m)).no;
};
// told: 'S', 'P', along::dp, fix::to_R
static_assert(require<zero03_own_count>::ok);  // expect: divisor_differs
static_assert(require<zero03_count_of_all>::ok);
