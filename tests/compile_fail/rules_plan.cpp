// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Configurations that do not compile, each beside its nearest correct neighbour.
#include <meshpar/check.hpp>

using namespace meshpar;

constexpr model m48{.layers = 4, .hidden = 96, .heads = 48, .ffn = 240, .vocab = 250, .seq = 240};
constexpr job b16{.global_batch = 16};

// One entry alone, for rules about features that are not built yet.
constexpr int entry_of(rule id) {
  int i = 0;
  while (catalogue[i].id != id) ++i;
  return i;
}
template <rule R, const model& M, const job& J, const plan& P>
using only = require<plan_check<M, J, P, entry_of(R)>>;

// sizes
constexpr model no_ffn{.layers = 4, .hidden = 96, .heads = 48, .vocab = 250, .seq = 240};
constexpr plan one{};
static_assert(checked_plan<no_ffn, b16, one>::ok);  // expect: positive_sizes, 0, 1
static_assert(checked_plan<m48, b16, one>::ok);

constexpr model all_dropped{.layers = 4, .hidden = 96, .heads = 48, .ffn = 240, .vocab = 250, .seq = 240, .dropout = 2};
constexpr model tenth_dropped{
    .layers = 4, .hidden = 96, .heads = 48, .ffn = 240, .vocab = 250, .seq = 240, .dropout = 0.1};
static_assert(checked_plan<all_dropped, b16, one>::ok);  // expect: values_in_range, 2
static_assert(checked_plan<tenth_dropped, b16, one>::ok);

// attention
constexpr model h100{.layers = 4, .hidden = 100, .heads = 48, .ffn = 240, .vocab = 250, .seq = 240};
constexpr model h100_given{
    .layers = 4, .hidden = 100, .heads = 48, .head_dim = 2, .ffn = 240, .vocab = 250, .seq = 240};
static_assert(checked_plan<h100, b16, one>::ok);  // expect: hidden_divisible_by_heads, 100, 48
static_assert(checked_plan<h100_given, b16, one>::ok);

constexpr model kv5{.layers = 4, .hidden = 96, .heads = 48, .kv_heads = 5, .ffn = 240, .vocab = 250, .seq = 240};
constexpr model kv6{.layers = 4, .hidden = 96, .heads = 48, .kv_heads = 6, .ffn = 240, .vocab = 250, .seq = 240};
static_assert(checked_plan<kv5, b16, one>::ok);  // expect: heads_divisible_by_kv_heads, 48, 5
static_assert(checked_plan<kv6, b16, one>::ok);

constexpr model hd7 = llama_like({.layers = 4, .hidden = 56, .heads = 8, .ffn = 240, .vocab = 250, .seq = 240});
constexpr model hd8 = llama_like({.layers = 4, .hidden = 64, .heads = 8, .ffn = 240, .vocab = 250, .seq = 240});
static_assert(checked_plan<hd7, b16, one>::ok);  // expect: head_dim_even_for_rotary, 7
static_assert(checked_plan<hd8, b16, one>::ok);

// tensor parallelism
constexpr plan tp5{.tp = 5};
constexpr plan tp4{.tp = 4};
constexpr plan tp3{.tp = 3};
static_assert(checked_plan<m48, b16, tp5>::ok);  // expect: heads_divisible_by_tp, 48, 5
static_assert(checked_plan<m48, b16, tp4>::ok);

static_assert(checked_plan<kv6, b16, tp4>::ok);  // expect: kv_heads_fit_tp, 6, 4
static_assert(checked_plan<kv6, b16, tp3>::ok);

constexpr model f242{.layers = 4, .hidden = 96, .heads = 48, .ffn = 242, .vocab = 250, .seq = 240};
static_assert(checked_plan<f242, b16, tp4>::ok);  // expect: ffn_divisible_by_tp, 242, 4
constexpr plan tp2{.tp = 2};
static_assert(checked_plan<f242, b16, tp2>::ok);

// sequence parallelism
constexpr model s242{.layers = 4, .hidden = 96, .heads = 48, .ffn = 240, .vocab = 250, .seq = 242};
constexpr plan tp4_sp{.tp = 4, .sequence_parallel = true};
constexpr plan sp{.sequence_parallel = true};
static_assert(checked_plan<s242, b16, tp4_sp>::ok);  // expect: sequence_divisible_by_tp, 242, 4
static_assert(checked_plan<s242, b16, tp4>::ok);
static_assert(checked_plan<m48, b16, tp4_sp>::ok);
static_assert(checked_plan<m48, b16, sp>::ok);  // expect: sequence_parallel_needs_tp, 1

// batch
constexpr plan dp3{.dp = 3};
constexpr plan dp4{.dp = 4};
static_assert(checked_plan<m48, b16, dp3>::ok);  // expect: global_batch_divisible, 16, 3
static_assert(checked_plan<m48, b16, dp4>::ok);

// precision
constexpr plan bf16_moments{.precision = {.moments = dtype::bf16}};
constexpr plan bf16_params{.precision = mixed_bf16};
static_assert(checked_plan<m48, b16, bf16_moments>::ok);  // expect: precision_is_supported
static_assert(checked_plan<m48, b16, bf16_params>::ok);

// pipeline
constexpr plan pp3{.pp = 3};
constexpr plan pp3_uneven{.pp = 3, .stage_layers = {1, 2, 1}};
constexpr plan pp3_six{.pp = 3, .stage_layers = {1, 2, 3}};
static_assert(only<rule::layers_divisible_by_pp, m48, b16, pp3>::ok);  // expect: layers_divisible_by_pp, 4, 3
static_assert(only<rule::layers_divisible_by_pp, m48, b16, pp3_uneven>::ok);
static_assert(only<rule::stage_layers_add_up, m48, b16, pp3_six>::ok);  // expect: stage_layers_add_up, 6, 4
static_assert(only<rule::stage_layers_add_up, m48, b16, pp3_uneven>::ok);

constexpr plan zb_v_1{.pp = 2, .schedule = schedule_kind::zb_v};
constexpr plan zb_v_2{.pp = 2, .schedule = schedule_kind::zb_v, .virtual_stages = 2};
using zb_v_1_check = only<rule::virtual_stages_fit_schedule, m48, b16, zb_v_1>;
static_assert(zb_v_1_check::ok);  // expect: virtual_stages_fit_schedule, 1, 2
static_assert(only<rule::virtual_stages_fit_schedule, m48, b16, zb_v_2>::ok);

constexpr job b6{.global_batch = 6};
constexpr plan dualpipe_4{.pp = 4, .schedule = schedule_kind::dualpipe};
using dualpipe_b6_check = only<rule::micro_batches_fit_schedule, m48, b6, dualpipe_4>;
static_assert(dualpipe_b6_check::ok);  // expect: micro_batches_fit_schedule, 6, 8
static_assert(only<rule::micro_batches_fit_schedule, m48, b16, dualpipe_4>::ok);

constexpr plan dualpipe_3{.pp = 3, .schedule = schedule_kind::dualpipe};
static_assert(only<rule::pp_is_even_for_dualpipe, m48, b16, dualpipe_3>::ok);  // expect: pp_is_even_for_dualpipe, 3
static_assert(only<rule::pp_is_even_for_dualpipe, m48, b16, dualpipe_4>::ok);

// context
constexpr plan cp7{.cp = 7};
constexpr plan cp8{.cp = 8};
static_assert(only<rule::sequence_divisible_by_cp, m48, b16, cp7>::ok);  // expect: sequence_divisible_by_cp, 240, 14
static_assert(only<rule::sequence_divisible_by_cp, m48, b16, cp8>::ok);
constexpr plan heads32{.cp = 8, .tp = 4, .context_exchange = exchange_kind::heads};
constexpr plan heads16{.cp = 4, .tp = 4, .context_exchange = exchange_kind::heads};
static_assert(only<rule::heads_divisible_by_cp, m48, b16, heads32>::ok);  // expect: heads_divisible_by_cp, 48, 32
static_assert(only<rule::heads_divisible_by_cp, m48, b16, heads16>::ok);

// experts
constexpr model e8{
    .layers = 4, .hidden = 96, .heads = 48, .ffn = 240, .vocab = 250, .seq = 240, .experts = 8, .top_k = 2};
constexpr model e8_k9{
    .layers = 4, .hidden = 96, .heads = 48, .ffn = 240, .vocab = 250, .seq = 240, .experts = 8, .top_k = 9};
constexpr plan ep3{.dp = 3, .ep = 3};
constexpr plan ep4{.dp = 4, .ep = 4};
constexpr plan ep4_of_6{.dp = 6, .ep = 4};
static_assert(only<rule::experts_divisible_by_ep, e8, b16, ep3>::ok);  // expect: experts_divisible_by_ep, 8, 3
static_assert(only<rule::experts_divisible_by_ep, e8, b16, ep4>::ok);
static_assert(only<rule::top_k_fits_experts, e8_k9, b16, one>::ok);  // expect: top_k_fits_experts, 9, 8
static_assert(only<rule::top_k_fits_experts, e8, b16, one>::ok);
static_assert(only<rule::folding_products_agree, e8, b16, ep4_of_6>::ok);  // expect: folding_products_agree, 6, 4
static_assert(only<rule::folding_products_agree, e8, b16, ep4>::ok);
using moe_tp4 = only<rule::moe_with_tp_needs_sequence_parallel, e8, b16, tp4>;
static_assert(moe_tp4::ok);  // expect: moe_with_tp_needs_sequence_parallel, 8, 4
static_assert(only<rule::moe_with_tp_needs_sequence_parallel, e8, b16, tp4_sp>::ok);

// not built yet
static_assert(checked_plan<m48, b16, cp8>::ok);  // expect: feature_not_built_yet, 8
