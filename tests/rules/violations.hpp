// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
// For each rule of the catalogue configurations that break it and no other, with what a user is told, written by hand.
// The pages of docs/rules show them, with the words that the rule returns.
#include "rules/setup.hpp"

namespace rules_test {

struct violation {
  rule broken;
  setup s;
  const char* said;
};

constexpr void moe(setup& s) { s.m.experts = 8, s.m.top_k = 2; }

inline constexpr violation violations[] = {
    {rule::positive_sizes, with([](setup& s) { s.m.ffn = 0; }), "ffn (0) must be at least 1; set ffn to 1 or more"},
    {rule::values_in_range, with([](setup& s) { s.m.dropout = 1; }),
     "dropout (1) must be at least 0 and below 1; set dropout to 0"},
    {rule::values_in_range, with([](setup& s) { s.p.zero = 4; }), "zero (4) must be 0, 1, 2 or 3; set zero to 3"},
    {rule::hidden_divisible_by_heads, with([](setup& s) { s.m.heads = 48; }),
     "hidden (64) not divisible by heads (48); set hidden to 96"},
    {rule::heads_divisible_by_kv_heads, with([](setup& s) { s.m.kv_heads = 3; }),
     "heads (8) not divisible by kv_heads (3); set kv_heads to 2"},
    {rule::head_dim_even_for_rotary, with([](setup& s) { s.m.hidden = 56, s.m.positions = mp::position_kind::rotary; }),
     "head_dim (7) is odd but rotary turns pairs; set head_dim to 8"},
    {rule::heads_divisible_by_tp, with([](setup& s) { s.m.ffn = 160, s.p.tp = 5; }),
     "heads (8) not divisible by tp (5); set tp to 4"},
    {rule::kv_heads_fit_tp, with([](setup& s) { s.m.hidden = 96, s.m.heads = 12, s.m.kv_heads = 6, s.p.tp = 4; }),
     "kv_heads (6) and tp (4): neither divides the other; set tp to 2"},
    {rule::ffn_divisible_by_tp, with([](setup& s) { s.m.ffn = 130, s.p.tp = 4; }),
     "ffn (130) not divisible by tp (4); set tp to 2"},
    {rule::ffn_divisible_by_tp, with([](setup& s) { moe(s), s.j.global_batch = 12, s.p.dp = 6, s.p.etp = 3; }),
     "ffn (128) not divisible by etp (3); set etp to 2"},
    {rule::sequence_divisible_by_tp, with([](setup& s) { s.m.seq = 66, s.p.tp = 4, s.p.sequence_parallel = true; }),
     "seq (66) not divisible by tp (4); set tp to 2"},
    {rule::sequence_parallel_needs_tp, with([](setup& s) { s.p.sequence_parallel = true; }),
     "sequence_parallel splits over tp, which is 1; set sequence_parallel to false"},
    {rule::global_batch_divisible, with([](setup& s) { s.j.micro_batch = 3, s.p.dp = 2; }),
     "global_batch (16) not divisible by dp * micro_batch (6); set micro_batch to 2"},
    {rule::global_batch_divisible, with([](setup& s) { s.p.dp = 3; }),
     "global_batch (16) not divisible by dp * micro_batch (6); set global_batch to 18"},
    {rule::precision_is_supported,
     with([](setup& s) { s.p.precision = {.param = mp::dtype::bf16, .moments = mp::dtype::bf16}; }),
     "moments bf16 is not supported; use f32"},
    {rule::layers_divisible_by_pp, with([](setup& s) { s.p.pp = 3; }),
     "layers (4) not divisible by pp (3); set stage_layers to at most 2"},
    {rule::layers_divisible_by_pp,
     with([](setup& s) { s.p.pp = 4, s.p.virtual_stages = 2, s.p.schedule = mp::schedule_kind::zb_v; }),
     "layers (4) not divisible by pp * virtual_stages (8); set pp to 2"},
    {rule::stage_layers_add_up, with([](setup& s) { s.p.pp = 2, s.p.stage_layers[0] = 3, s.p.stage_layers[1] = 2; }),
     "stage_layers add up to 5 but layers is 4; set stage_layers to at most 2"},
    {rule::stage_layers_add_up, with([](setup& s) { s.p.pp = 4, s.p.stage_layers[0] = s.p.stage_layers[1] = 2; }),
     "stage_layers names 2 stages but the plan has 4; set stage_layers to at most 1"},
    {rule::virtual_stages_fit_schedule, with([](setup& s) { s.p.pp = 2, s.p.schedule = mp::schedule_kind::zb_v; }),
     "virtual_stages (1) but schedule zb_v has 2; set virtual_stages to 2"},
    {rule::virtual_stages_fit_schedule, with([](setup& s) { s.p.virtual_stages = 2; }),
     "virtual_stages (2) without a pipeline: pp is 1; set virtual_stages to 1"},
    {rule::micro_batches_fit_schedule, with([](setup& s) {
       s.m.layers = 8, s.j.global_batch = 4;
       s.p.pp = 4, s.p.virtual_stages = 2, s.p.schedule = mp::schedule_kind::interleaved;
     }),
     "schedule interleaved needs pp (4) micro-batches, not 2; set micro_batch to 1"},
    {rule::micro_batches_fit_schedule,
     with([](setup& s) { s.j = {.global_batch = 9}, s.p.pp = 4, s.p.schedule = mp::schedule_kind::dualpipe; }),
     "schedule dualpipe needs micro-batches in pairs, not 9; set global_batch to 10"},
    {rule::pp_is_even_for_dualpipe,
     with([](setup& s) { s.m.layers = 6, s.p.pp = 3, s.p.schedule = mp::schedule_kind::dualpipe; }),
     "pp (3) is odd but schedule dualpipe pairs its ranks; set pp to 2"},
    {rule::sequence_divisible_by_cp, with([](setup& s) { s.m.seq = 60, s.p.cp = 4; }),
     "seq (60) not divisible by 2 * cp (8); set seq to 64"},
    {rule::heads_divisible_by_cp,
     with([](setup& s) { s.p.cp = s.p.tp = 4, s.p.context_exchange = mp::exchange_kind::heads; }),
     "heads (8) not divisible by tp * cp (16); set cp to 2"},
    {rule::experts_divisible_by_ep, with([](setup& s) { moe(s), s.j.global_batch = 12, s.p.dp = 6, s.p.ep = 3; }),
     "experts (8) not divisible by ep (3); set ep to 2"},
    {rule::top_k_fits_experts, with([](setup& s) { s.m.experts = 8, s.m.top_k = 9; }),
     "top_k (9) does not fit experts (8); set top_k to 8"},
    {rule::moe_with_tp_needs_sequence_parallel, with([](setup& s) { moe(s), s.p.tp = 4; }),
     "experts (8) get each token tp (4) times; set sequence_parallel to true"},
    {rule::folding_products_agree, with([](setup& s) { moe(s), s.p.dp = 8, s.p.edp = s.p.ep = 4; }),
     "edp * ep * etp (16) is not dp * cp * tp (8); set edp to 2"},
    {rule::folding_products_agree, with([](setup& s) { moe(s), s.m.experts = 6, s.p.dp = 4, s.p.ep = 3; }),
     "dp * cp * tp (4) not divisible by ep * etp (3); set ep to 2"},
    {rule::feature_not_built_yet, with([](setup& s) { s.p.pp = 2; }), "not built yet: pp (2); set pp to 1"},
};
inline constexpr int violation_count = static_cast<int>(sizeof violations / sizeof violations[0]);

}  // namespace rules_test
