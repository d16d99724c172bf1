// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/core/fixed_vector.hpp>
#include <meshpar/rules/attention.hpp>
#include <meshpar/rules/batch.hpp>
#include <meshpar/rules/context_parallel.hpp>
#include <meshpar/rules/experts.hpp>
#include <meshpar/rules/not_built_yet.hpp>
#include <meshpar/rules/pipeline.hpp>
#include <meshpar/rules/precision.hpp>
#include <meshpar/rules/sizes.hpp>
#include <meshpar/rules/tensor_parallel.hpp>

#include <cstdint>

namespace meshpar::inline v0 {

enum class area : unsigned char {
  sizes,
  attention,
  tensor,
  sequence,
  batch,
  precision,
  pipeline,
  context,
  experts,
  built
};

// A rule over a configuration. The predicate is asked with run-time values by tools and with constants by checked_plan.
struct catalogue_entry {
  rule id;
  const char* name;
  area where;
  verdict (*check)(const model&, const job&, const plan&);
  const char* why_it_matters;
};

inline constexpr catalogue_entry catalogue[] = {
    {rule::positive_sizes, "positive_sizes", area::sizes, positive_sizes,
     "A size that was forgotten is 0, and would show as a division by zero or an empty tensor far from its cause."},
    {rule::values_in_range, "values_in_range", area::sizes, values_in_range,
     "A drop probability of 1 or an epsilon of 0 gives losses that are not finite, after some steps."},
    {rule::hidden_divisible_by_heads, "hidden_divisible_by_heads", area::attention, hidden_divisible_by_heads,
     "Without head_dim the heads share hidden; a rounded share leaves features that no head sees."},
    {rule::heads_divisible_by_kv_heads, "heads_divisible_by_kv_heads", area::attention, heads_divisible_by_kv_heads,
     "Each KV head serves a group of query heads; unequal groups would pair queries with the wrong keys."},
    {rule::head_dim_even_for_rotary, "head_dim_even_for_rotary", area::attention, head_dim_even_for_rotary,
     "Rotary positions turn features in pairs; the last one of an odd number would carry no position."},
    {rule::heads_divisible_by_tp, "heads_divisible_by_tp", area::tensor, heads_divisible_by_tp,
     "Every rank of tp computes as many whole heads; a rounded share drops heads or cuts one in two."},
    {rule::kv_heads_fit_tp, "kv_heads_fit_tp", area::tensor, kv_heads_fit_tp,
     "KV heads are split over tp or copied a whole number of times; in between, ranks would need parts of two."},
    {rule::ffn_divisible_by_tp, "ffn_divisible_by_tp", area::tensor, ffn_divisible_by_tp,
     "Gate, up and down are each cut over the width; unequal pieces would pair a gate with another rank's values."},
    {rule::sequence_divisible_by_tp, "sequence_divisible_by_tp", area::sequence, sequence_divisible_by_tp,
     "Sequence parallelism gives each rank of tp as many positions; a reduce-scatter has equal pieces."},
    {rule::sequence_parallel_needs_tp, "sequence_parallel_needs_tp", area::sequence, sequence_parallel_needs_tp,
     "With one rank of tp there is nothing to split, and a plan that asks for it was meant to be another."},
    {rule::global_batch_divisible, "global_batch_divisible", area::batch, global_batch_divisible,
     "Every data rank takes as many whole micro-batches; otherwise samples are dropped or weighted twice."},
    {rule::precision_is_supported, "precision_is_supported", area::precision, precision_is_supported,
     "An optimizer that works in bf16 loses updates smaller than 1/256 of a weight without a sign of it."},
    {rule::layers_divisible_by_pp, "layers_divisible_by_pp", area::pipeline, layers_divisible_by_pp,
     "Layers beyond the equal share of the stages would belong to none and silently not be trained."},
    {rule::stage_layers_add_up, "stage_layers_add_up", area::pipeline, stage_layers_add_up,
     "Layer counts given by hand that do not make up the model train another model."},
    {rule::sequence_divisible_by_cp, "sequence_divisible_by_cp", area::context, sequence_divisible_by_cp,
     "Every rank of cp holds as many positions, in zigzag order as two pieces; the ring sends equal pieces."},
    {rule::heads_divisible_by_cp, "heads_divisible_by_cp", area::context, heads_divisible_by_cp,
     "An all-to-all that trades sequence for heads gives each rank as many whole heads."},
    {rule::experts_divisible_by_ep, "experts_divisible_by_ep", area::experts, experts_divisible_by_ep,
     "Experts beyond the equal share would belong to no rank, and the tokens sent to them vanish."},
    {rule::top_k_fits_experts, "top_k_fits_experts", area::experts, top_k_fits_experts,
     "A token cannot go to more experts than there are, and in a mixture it goes to one at least."},
    {rule::moe_with_tp_needs_sequence_parallel, "moe_with_tp_needs_sequence_parallel", area::experts,
     moe_with_tp_needs_sequence_parallel,
     "Without sequence parallelism every rank of tp holds every token and would send it again."},
    {rule::folding_products_agree, "folding_products_agree", area::experts, folding_products_agree,
     "The expert mesh is a second factorisation of the same ranks of a stage."},
    {rule::feature_not_built_yet, "feature_not_built_yet", area::built, feature_not_built_yet,
     "The plan can already say it, but nothing runs it yet."},
};
inline constexpr int catalogue_size = static_cast<int>(sizeof catalogue / sizeof catalogue[0]);
static_assert(catalogue_size <= 64);

// Bit i: the configuration breaks catalogue[i].
constexpr std::uint64_t broken_entries(const model& m, const job& j, const plan& p) {
  std::uint64_t broken = 0;
  for (int i = 0; i < catalogue_size; ++i)
    if (!catalogue[i].check(m, j, p).holds()) broken |= std::uint64_t{1} << i;
  return broken;
}

// Everything that is wrong with a configuration, in the order of the catalogue.
constexpr fixed_vector<verdict, catalogue_size> check_all(const model& m, const job& j, const plan& p) {
  fixed_vector<verdict, catalogue_size> broken;
  for (const catalogue_entry& e : catalogue)
    if (verdict v = e.check(m, j, p); !v.holds()) broken.push_back(v);
  return broken;
}

// The name of a rule of the catalogue, as users and pages call it.
constexpr const char* name_of(rule id) {
  for (const catalogue_entry& e : catalogue)
    if (e.id == id) return e.name;
  return "";
}

}  // namespace meshpar::inline v0
