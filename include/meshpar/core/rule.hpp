// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
namespace meshpar::inline v0 {

// The names of the rules, as error messages print them.
enum class rule : unsigned char {
  none,
  // operations on layouts (typing/)
  partial_sum_in_a_nonlinearity,
  product_of_two_partial_sums,
  sum_of_unlike_states,
  invariant_mixed_with_another_state,
  dimension_missing,
  dimension_sizes_differ,
  dimension_split_differently,
  one_axis_splits_two_dimensions,
  dimension_must_be_whole,
  transition_is_not_one_collective,
  split_does_not_divide,
  only_a_suffix_can_be_gathered,
  seed_needs_a_partial_or_invariant_loss,
  dimensions_not_adjacent,
  indices_and_table_share_an_axis,
  heads_and_kv_heads_disagree,
  partial_sum_meets_a_split,
  dimension_appears_twice,
  maximum_still_pending,
  reduction_needs_a_partial_sum,
  update_needs_the_whole_gradient,
  divisor_must_be_the_same_everywhere,
  dimension_must_be_even,
  // configurations (rules/)
  positive_sizes,
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
  experts_divisible_by_ep,
  sequence_divisible_by_cp,
  feature_not_built_yet,
  memory_fits,
  world_size_matches_plan,
};

}  // namespace meshpar::inline v0
