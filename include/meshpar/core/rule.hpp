// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What messages write. Not in v0: a compiler that writes it would write that each time.
namespace meshpar {

// The names of the rules.
enum class rule : unsigned char {
  none,
  // operations on layouts (typing/)
  partial_sum_in_a_nonlinearity,
  product_of_two_partial_sums,
  sum_of_unlike_states,
  invariant_mixed,
  dimension_missing,
  dimension_sizes_differ,
  dimension_split_differently,
  axis_on_two_dimensions,
  dimension_must_be_whole,
  not_one_collective,
  split_does_not_divide,
  only_a_suffix_can_be_gathered,
  loss_partial_or_invariant,
  dimensions_not_adjacent,
  indices_and_table_share_an_axis,
  heads_and_kv_heads_disagree,
  partial_sum_meets_a_split,
  dimension_appears_twice,
  maximum_still_pending,
  reduction_needs_a_partial_sum,
  update_needs_the_whole_gradient,
  divisor_differs,
  dimension_must_be_even,
  block_fits_the_trace,
  parameter_named_twice,
  parameter_in_two_states,
  tied_parameters_placed_alike,
  // configurations (rules/)
  positive_sizes,
  values_in_range,
  heads_divisible_by_tp,
  kv_heads_fit_tp,
  heads_divisible_by_kv_heads,
  hidden_divisible_by_heads,
  ffn_divisible_by_tp,
  sequence_divisible_by_tp,
  sequence_parallel_needs_tp,
  global_batch_divisible,
  head_dim_even_for_rotary,
  precision_is_supported,
  moe_with_tp_needs_sequence_parallel,
  folding_products_agree,
  layers_divisible_by_pp,
  stage_layers_add_up,
  experts_divisible_by_ep,
  top_k_fits_experts,
  sequence_divisible_by_cp,
  heads_divisible_by_cp,
  feature_not_built_yet,
  memory_fits,
  world_size_matches_plan,
  device_has_no_kernel,
  virtual_stages_fit_schedule,
  micro_batches_fit_schedule,
  pp_is_even_for_dualpipe,
};

// What the cheapest repair changes; its new value is beside it in a verdict. For compilers that print no sentence.
enum class fix : unsigned char {
  none,
  set_extent,  // of the axis
  set_heads,
  set_kv_heads,
  set_head_dim,
  set_hidden,
  set_seq,
  set_layers,
  set_experts,
  set_top_k,
  set_global_batch,
  set_micro_batch,
  set_pp,
  set_dp,
  set_cp,
  set_tp,
  set_edp,
  set_ep,
  set_etp,
  set_sequence_parallel,
  set_virtual_stages,
  set_stage_layers,
  set_zero,
  set_recompute,
  set_ranks,
  set_ffn,
  set_vocab,
  set_dropout,
  set_label_smoothing,
  set_norm_eps_to_1e_minus,
  set_rope_theta,
  // those that take no value
  use_f32,
  use_f64,
  raise_tp,
  to_R,  // the operand, along the axis
  to_R_left,
  to_R_right,
  to_I,
  to_layout_of,
  sum_over,
  reduce_gradient,
  leave_as_it_is,
  one_axis_at_a_time,
  split_alike,
  split_further,
  split_over_fewer,
  name_another_dimension,
  rename_one_dimension,
  leave_one_out,
  give_it_a_size,
  declare_fused,
  make_two_layers,
  name_each_parameter,
  use_it_in_one_state,
  declare_it_alike,
  add_a_kernel,
};
constexpr bool takes_a_value(fix f) { return f != fix::none && f < fix::use_f32; }

// An axis by its number (mesh/axis.hpp).
enum class along : unsigned char { pp, dp, cp, tp, kv_rep, edp, ep, etp, none = 255 };

inline namespace v0 {

// What a user does about it, as a sentence says it before the value.
constexpr const char* name_of(fix f) {
  constexpr const char* words[] = {"",
                                   "set the extent to ",
                                   "set heads to ",
                                   "set kv_heads to ",
                                   "set head_dim to ",
                                   "set hidden to ",
                                   "set seq to ",
                                   "set layers to ",
                                   "set experts to ",
                                   "set top_k to ",
                                   "set global_batch to ",
                                   "set micro_batch to ",
                                   "set pp to ",
                                   "set dp to ",
                                   "set cp to ",
                                   "set tp to ",
                                   "set edp to ",
                                   "set ep to ",
                                   "set etp to ",
                                   "set sequence_parallel to ",
                                   "set virtual_stages to ",
                                   "set stage_layers to at most ",
                                   "set zero to ",
                                   "set recompute to ",
                                   "start ",
                                   "set ffn to ",
                                   "set vocab to ",
                                   "set dropout to ",
                                   "set label_smoothing to ",
                                   "set norm_eps to 1e-",
                                   "set rope_theta to "};
  static_assert(sizeof words / sizeof *words == static_cast<int>(fix::use_f32));
  return takes_a_value(f) ? words[static_cast<int>(f)] : "";
}

}  // namespace v0
}  // namespace meshpar
