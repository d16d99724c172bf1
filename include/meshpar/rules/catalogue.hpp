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
#include <meshpar/rules/schedule.hpp>
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
  const char* demand;
  const char* why_it_matters;
};

inline constexpr catalogue_entry catalogue[] = {
    {rule::positive_sizes, "positive_sizes", area::sizes, positive_sizes,
     "Sizes, batches and ranks are at least 1; kv_heads, head_dim, experts, top_k and edp may be 0.",
     "A size that was forgotten is 0, and would show as a division by zero or an empty tensor far from its cause."},
    {rule::values_in_range, "values_in_range", area::sizes, values_in_range,
     "Probabilities are in [0, 1), norm_eps and rope_theta above 0, zero is 0 to 3, there are at most 2^30 ranks, and "
     "the padded vocabulary is an int.",
     "A drop probability of 1 or an epsilon of 0 gives losses that are not finite, after some steps."},
    {rule::hidden_divisible_by_heads, "hidden_divisible_by_heads", area::attention, hidden_divisible_by_heads,
     "hidden is a multiple of heads, or head_dim is given.",
     "Without head_dim the heads share hidden; a rounded share leaves features that no head sees."},
    {rule::heads_divisible_by_kv_heads, "heads_divisible_by_kv_heads", area::attention, heads_divisible_by_kv_heads,
     "heads is a multiple of kv_heads.",
     "Each KV head serves a group of query heads; unequal groups would pair queries with the wrong keys."},
    {rule::head_dim_even_for_rotary, "head_dim_even_for_rotary", area::attention, head_dim_even_for_rotary,
     "head_dim is even where positions are rotary.",
     "Rotary positions turn features in pairs; the last one of an odd number would carry no position."},
    {rule::heads_divisible_by_tp, "heads_divisible_by_tp", area::tensor, heads_divisible_by_tp,
     "heads is a multiple of tp.",
     "Every rank of tp computes as many whole heads; a rounded share drops heads or cuts one in two."},
    {rule::kv_heads_fit_tp, "kv_heads_fit_tp", area::tensor, kv_heads_fit_tp,
     "kv_heads is a multiple of tp, or tp of kv_heads.",
     "KV heads are split over tp or copied a whole number of times; in between, ranks would need parts of two."},
    {rule::ffn_divisible_by_tp, "ffn_divisible_by_tp", area::tensor, ffn_divisible_by_tp,
     "ffn is a multiple of tp; in a mixture of experts, of etp.",
     "Gate, up and down are each cut over the width; unequal pieces would pair a gate with another rank's values."},
    {rule::sequence_divisible_by_tp, "sequence_divisible_by_tp", area::sequence, sequence_divisible_by_tp,
     "With sequence_parallel, seq / cp is a multiple of tp.",
     "Sequence parallelism gives each rank of tp as many positions; a reduce-scatter has equal pieces."},
    {rule::sequence_parallel_needs_tp, "sequence_parallel_needs_tp", area::sequence, sequence_parallel_needs_tp,
     "sequence_parallel goes with a tp above 1.",
     "With one rank of tp there is nothing to split, and a plan that asks for it was meant to be another."},
    {rule::global_batch_divisible, "global_batch_divisible", area::batch, global_batch_divisible,
     "global_batch is a multiple of dp * micro_batch.",
     "Every data rank takes as many whole micro-batches; otherwise samples are dropped or weighted twice."},
    {rule::precision_is_supported, "precision_is_supported", area::precision, precision_is_supported,
     "Parameters are f32, f64 or bf16. The optimizer works in f32, with f64 parameters in f64; gradients are of that "
     "type or the parameters', and sums over ranks are of a floating type.",
     "An optimizer that works in bf16 loses updates smaller than 1/256 of a weight without a sign of it."},
    {rule::layers_divisible_by_pp, "layers_divisible_by_pp", area::pipeline, layers_divisible_by_pp,
     "layers is a multiple of pp * virtual_stages, or stage_layers says how they are shared.",
     "Layers beyond the equal share of the stages would belong to none and silently not be trained."},
    {rule::stage_layers_add_up, "stage_layers_add_up", area::pipeline, stage_layers_add_up,
     "Where stage_layers is given, each of the pp * virtual_stages stages has a layer and together they have all.",
     "Layer counts given by hand that do not make up the model train another model."},
    {rule::virtual_stages_fit_schedule, "virtual_stages_fit_schedule", area::pipeline, virtual_stages_fit_schedule,
     "gpipe, one_f_one_b, zb_h1 and dualpipe have one stage on a rank, zb_v and dualpipe_v two, interleaved two or "
     "more; without a pipeline there is one.",
     "A schedule orders the stages that it knows; with another number some would never run."},
    {rule::micro_batches_fit_schedule, "micro_batches_fit_schedule", area::pipeline, micro_batches_fit_schedule,
     "interleaved has at least pp micro-batches, dualpipe and dualpipe_v 2 * pp, dualpipe an even number.",
     "These schedules take micro-batches in rounds; in one that cannot be filled ranks wait for what nobody sends."},
    {rule::pp_is_even_for_dualpipe, "pp_is_even_for_dualpipe", area::pipeline, pp_is_even_for_dualpipe,
     "With dualpipe, pp is even.",
     "Micro-batches enter at both ends, and each rank holds its own stage and its partner's; one in the middle has "
     "none."},
    {rule::sequence_divisible_by_cp, "sequence_divisible_by_cp", area::context, sequence_divisible_by_cp,
     "seq is a multiple of cp, in zigzag order of 2 * cp.",
     "Every rank of cp holds as many positions, in zigzag order as two pieces; the ring sends equal pieces."},
    {rule::heads_divisible_by_cp, "heads_divisible_by_cp", area::context, heads_divisible_by_cp,
     "Where context_exchange is heads, heads and kv_heads are multiples of tp * cp.",
     "An all-to-all that trades sequence for heads gives each rank as many whole heads."},
    {rule::experts_divisible_by_ep, "experts_divisible_by_ep", area::experts, experts_divisible_by_ep,
     "experts is a multiple of ep; a model without experts has ep and etp 1.",
     "Experts beyond the equal share would belong to no rank, and the tokens sent to them vanish."},
    {rule::top_k_fits_experts, "top_k_fits_experts", area::experts, top_k_fits_experts,
     "top_k is from 1 to experts; 0 in a model without experts.",
     "A token cannot go to more experts than there are, and in a mixture it goes to one at least."},
    {rule::moe_with_tp_needs_sequence_parallel, "moe_with_tp_needs_sequence_parallel", area::experts,
     moe_with_tp_needs_sequence_parallel, "A mixture of experts under a tp above 1 has sequence_parallel.",
     "Without sequence parallelism every rank of tp holds every token and would send it again."},
    {rule::folding_products_agree, "folding_products_agree", area::experts, folding_products_agree,
     "edp * ep * etp is dp * cp * tp; an edp of 0 is what is left, a whole number.",
     "The expert mesh is a second factorisation of the same ranks of a stage."},
    {rule::feature_not_built_yet, "feature_not_built_yet", area::built, feature_not_built_yet,
     "What the plan asks for is built.", "The plan can already say it, but nothing runs it yet."},
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
