// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every rule once passing and once failing, with the exact sentence.
#include "rules/setup.hpp"

#include <doctest/doctest.h>

#include <climits>
#include <cstring>
#include <type_traits>

namespace {

namespace mp = meshpar;
using mp::rule;
using rules_test::ask;
using rules_test::broken_in;
using rules_test::setup;

constexpr setup good{.p = {.dp = 2, .tp = 4, .sequence_parallel = true}};
template <class Change>
constexpr setup with(Change change) {
  return rules_test::with(change, good);
}

using predicate = mp::verdict (*)(const mp::model&, const mp::job&, const mp::plan&);
constexpr mp::verdict ask(predicate check, const setup& s) { return check(s.m, s.j, s.p); }
constexpr bool holds(predicate check, const setup& s) { return ask(check, s).holds(); }
constexpr bool refused(predicate check, const setup& s, rule broken, long left, long right, const char* why) {
  const mp::verdict v = ask(check, s);
  return v.broken == broken && v.left == left && v.right == right && v.why == why;
}

static_assert(mp::broken_entries(good.m, good.j, good.p) == 0);

// sizes
static_assert(refused(mp::positive_sizes, with([](setup& s) { s.m.ffn = 0; }), rule::positive_sizes, 0, 1,
                      "ffn (0) must be at least 1; set ffn to 1 or more"));
static_assert(refused(mp::positive_sizes, with([](setup& s) { s.m.hidden = s.m.vocab = 0, s.p.tp = -2; }),
                      rule::positive_sizes, 0, 1,
                      "hidden (0), vocab (0), tp (-2) must be at least 1; set each to that or more"));
static_assert(refused(mp::positive_sizes, with([](setup& s) { s.m.kv_heads = -1; }), rule::positive_sizes, -1, 0,
                      "kv_heads (-1) must be at least 0; set kv_heads to 0 or more"));
static_assert(refused(mp::positive_sizes, with([](setup& s) { s.m.kv_heads = -1, s.m.ffn = 0; }), rule::positive_sizes,
                      0, 1, "ffn (0) must be at least 1, kv_heads (-1) at least 0; set each to that or more"));
static_assert(ask(mp::positive_sizes, {.m = {}, .j = {}, .p = {}}).why ==
              "layers (0), hidden (0), heads (0), ffn (0) and 3 more must be at least 1; set each to that or more");
static_assert(holds(mp::values_in_range, with([](setup& s) { s.m.dropout = 0.1; })));
static_assert(holds(mp::values_in_range, with([](setup& s) { s.p.dp = 1 << 28; })));
static_assert(refused(mp::values_in_range, with([](setup& s) { s.p.dp = (1 << 28) + 1; }), rule::values_in_range,
                      1073741828, 0, "the number of ranks (1073741828) must be at most 2^30; set dp to 268435456"));
static_assert(holds(mp::values_in_range, with([](setup& s) { s.m.vocab = INT_MAX - 3; })));
static_assert(refused(mp::values_in_range, with([](setup& s) { s.m.vocab = INT_MAX; }), rule::values_in_range,
                      2147483648, 0, "vocab padded over tp (2147483648) must be below 2^31; set vocab to 2147483644"));
static_assert(refused(mp::values_in_range, with([](setup& s) { s.m.dropout = 1; }), rule::values_in_range, 1, 0,
                      "dropout (1) must be at least 0 and below 1; set dropout to 0"));
static_assert(refused(mp::values_in_range, with([](setup& s) { s.j.label_smoothing = -0.25; }), rule::values_in_range,
                      0, 0, "label_smoothing (-0.25) must be at least 0 and below 1; set label_smoothing to 0"));
static_assert(refused(mp::values_in_range, with([](setup& s) { s.m.norm_eps = 0; }), rule::values_in_range, 0, 0,
                      "norm_eps (0) must be above 0 and finite; set norm_eps to 1e-5"));
static_assert(refused(mp::values_in_range, with([](setup& s) { s.m.rope_theta = -10000; }), rule::values_in_range,
                      -10000, 0, "rope_theta (-10000) must be above 0 and finite; set rope_theta to 10000"));
static_assert(refused(mp::values_in_range, with([](setup& s) { s.p.zero = 4; }), rule::values_in_range, 4, 0,
                      "zero (4) must be 0, 1, 2 or 3; set zero to 3"));
static_assert(refused(mp::values_in_range, with([](setup& s) { s.m.dropout = 1.5, s.p.zero = 7; }),
                      rule::values_in_range, 1, 0,
                      "dropout (1.5), zero (7) are out of range; set dropout to 0, set zero to 3"));
static_assert(refused(mp::values_in_range,
                      with([](setup& s) { s.m.dropout = 2, s.m.norm_eps = s.m.rope_theta = -1, s.p.zero = -1; }),
                      rule::values_in_range, 2, 0,
                      "dropout (2), norm_eps (-1) and 2 more are out of range; set dropout to 0, set norm_eps to 1e-5 "
                      "and 2 more"));
static_assert(mp::decimal(1.100001) == "1.100001" && mp::decimal(1e-9) == "0" && mp::decimal(1.5e12) == "above 1e12");
static_assert(!holds(mp::values_in_range, with([](setup& s) { s.j.label_smoothing = 1; })));

// attention
static_assert(holds(mp::hidden_divisible_by_heads, with([](setup& s) { s.m.heads = 48, s.m.head_dim = 3; })));
static_assert(refused(mp::hidden_divisible_by_heads, with([](setup& s) { s.m.heads = 48; }),
                      rule::hidden_divisible_by_heads, 64, 48,
                      "hidden (64) not divisible by heads (48); set hidden to 96"));
static_assert(holds(mp::heads_divisible_by_kv_heads, with([](setup& s) { s.m.kv_heads = 2; })));
static_assert(refused(mp::heads_divisible_by_kv_heads, with([](setup& s) { s.m.kv_heads = 3; }),
                      rule::heads_divisible_by_kv_heads, 8, 3,
                      "heads (8) not divisible by kv_heads (3); set kv_heads to 2"));
static_assert(refused(mp::heads_divisible_by_kv_heads, with([](setup& s) { s.m.heads = 12, s.m.kv_heads = 7; }),
                      rule::heads_divisible_by_kv_heads, 12, 7,
                      "heads (12) not divisible by kv_heads (7); set kv_heads to 4"));  // 6 would not fit tp
static_assert(refused(mp::heads_divisible_by_kv_heads, with([](setup& s) { s.m.kv_heads = 5000; }),
                      rule::heads_divisible_by_kv_heads, 8, 5000,
                      "heads (8) not divisible by kv_heads (5000); set kv_heads to 8"));
constexpr auto rotary = [](setup& s) { s.m.positions = mp::position_kind::rotary; };
static_assert(refused(mp::head_dim_even_for_rotary, with([](setup& s) { rotary(s), s.m.hidden = 56; }),
                      rule::head_dim_even_for_rotary, 7, 2,
                      "head_dim (7) is odd but rotary turns pairs; set head_dim to 8"));
static_assert(refused(mp::head_dim_even_for_rotary, with([](setup& s) { rotary(s), s.m.heads = 48, s.m.head_dim = 1; }),
                      rule::head_dim_even_for_rotary, 1, 2,
                      "head_dim (1) is odd but rotary turns pairs; set head_dim to 2"));
// What another rule refuses already is not refused twice.
static_assert(holds(mp::head_dim_even_for_rotary, with([](setup& s) { rotary(s), s.m.hidden = 60; })));
static_assert(holds(mp::head_dim_even_for_rotary, with([](setup& s) { rotary(s), s.m.head_dim = -3; })));
constexpr setup odd = with([](setup& s) { s.m.head_dim = 5, s.m.positions = mp::position_kind::rotary; });
static_assert(refused(mp::head_dim_even_for_rotary, odd, rule::head_dim_even_for_rotary, 5, 2,
                      "head_dim (5) is odd but rotary turns pairs; set head_dim to 6"));
static_assert(holds(mp::head_dim_even_for_rotary, with([](setup& s) { s.m.head_dim = 5; })));

// tensor and sequence
static_assert(holds(mp::heads_divisible_by_tp, with([](setup& s) { s.p.tp = 8; })));
static_assert(refused(mp::heads_divisible_by_tp, with([](setup& s) { s.p.tp = 5; }), rule::heads_divisible_by_tp, 8, 5,
                      "heads (8) not divisible by tp (5); set tp to 4"));
static_assert(holds(mp::kv_heads_fit_tp, with([](setup& s) { s.m.kv_heads = 2; })));
static_assert(holds(mp::kv_heads_fit_tp, with([](setup& s) { s.m.kv_heads = 2, s.p.tp = 1; })));
static_assert(refused(mp::kv_heads_fit_tp, with([](setup& s) { s.m.heads = 12, s.m.kv_heads = 6; }),
                      rule::kv_heads_fit_tp, 6, 4, "kv_heads (6) and tp (4): neither divides the other; set tp to 2"));
static_assert(holds(mp::ffn_divisible_by_tp, with([](setup& s) { s.m.ffn = 132; })));
static_assert(refused(mp::ffn_divisible_by_tp, with([](setup& s) { s.m.ffn = 130; }), rule::ffn_divisible_by_tp, 130, 4,
                      "ffn (130) not divisible by tp (4); set tp to 2"));
constexpr auto moe = [](setup& s) { s.m.experts = 8, s.m.top_k = 2; };
static_assert(holds(mp::ffn_divisible_by_tp,
                    with([](setup& s) { moe(s), s.m.ffn = 130; })));  // tp does not cut experts
static_assert(refused(mp::ffn_divisible_by_tp, with([](setup& s) { moe(s), s.p.etp = 3; }), rule::ffn_divisible_by_tp,
                      128, 3, "ffn (128) not divisible by etp (3); set etp to 2"));
static_assert(holds(mp::sequence_divisible_by_tp, with([](setup& s) { s.m.seq = 66, s.p.sequence_parallel = false; })));
static_assert(refused(mp::sequence_divisible_by_tp, with([](setup& s) { s.m.seq = 66; }),
                      rule::sequence_divisible_by_tp, 66, 4, "seq (66) not divisible by tp (4); set tp to 2"));
static_assert(refused(mp::sequence_divisible_by_tp, with([](setup& s) { s.m.seq = 72, s.p.cp = 4; }),
                      rule::sequence_divisible_by_tp, 18, 4, "seq / cp (18) not divisible by tp (4); set tp to 2"));
static_assert(holds(mp::sequence_divisible_by_tp, with([](setup& s) { s.m.seq = 60, s.p.cp = 8; })));  // cp's business
static_assert(holds(mp::sequence_parallel_needs_tp, good));
static_assert(refused(mp::sequence_parallel_needs_tp, with([](setup& s) { s.p.tp = 1; }),
                      rule::sequence_parallel_needs_tp, 1, 1,
                      "sequence_parallel splits over tp, which is 1; set sequence_parallel to false"));

static_assert(refused(mp::sequence_divisible_by_tp, with([](setup& s) { s.m.seq = 36, s.p.cp = 2; }),
                      rule::sequence_divisible_by_tp, 18, 4, "seq / cp (18) not divisible by tp (4); set tp to 2"));

// batch
static_assert(refused(mp::global_batch_divisible, with([](setup& s) { s.p.dp = 1, s.j.micro_batch = 3; }),
                      rule::global_batch_divisible, 16, 3,
                      "global_batch (16) not divisible by dp * micro_batch (3); set micro_batch to 2"));
static_assert(holds(mp::global_batch_divisible, with([](setup& s) { s.p.dp = 8; })));
static_assert(refused(mp::global_batch_divisible, with([](setup& s) { s.j.micro_batch = 3; }),
                      rule::global_batch_divisible, 16, 6,
                      "global_batch (16) not divisible by dp * micro_batch (6); set micro_batch to 2"));
static_assert(refused(mp::global_batch_divisible, with([](setup& s) { s.p.dp = 3; }), rule::global_batch_divisible, 16,
                      6, "global_batch (16) not divisible by dp * micro_batch (6); set global_batch to 18"));

// precision
constexpr setup kept_in(mp::precisions p) {
  setup s = good;
  s.p.precision = p;
  return s;
}
using mp::dtype;
static_assert(holds(mp::precision_is_supported, kept_in(mp::mixed_bf16)));
static_assert(holds(mp::precision_is_supported, kept_in(mp::mixed_bf16_grads)));
static_assert(holds(mp::precision_is_supported, kept_in(mp::all_f64)));
static_assert(refused(mp::precision_is_supported, kept_in({.reduce = dtype::i32}), rule::precision_is_supported, 4, 4,
                      "reduce i32 with param f32 is not supported; use f32"));
// Sums over ranks in another type than the optimizer's train, but are not built.
constexpr mp::precisions bf16_sums{.param = dtype::bf16, .grad = dtype::bf16, .reduce = dtype::bf16};
static_assert(holds(mp::precision_is_supported, kept_in(bf16_sums)));
static_assert(refused(mp::feature_not_built_yet, kept_in(bf16_sums), rule::feature_not_built_yet, 0, 0,
                      "not built yet: reduce (bf16); use f32"));
static_assert(holds(mp::feature_not_built_yet, kept_in(mp::all_f64)));
static_assert(holds(mp::feature_not_built_yet, kept_in(mp::mixed_bf16_grads)));
static_assert(refused(mp::precision_is_supported, kept_in({.param = dtype::bf16, .master = dtype::bf16}),
                      rule::precision_is_supported, 2, 2, "master bf16 is not supported; use f32"));
static_assert(refused(mp::precision_is_supported, kept_in({.moments = dtype::bf16}), rule::precision_is_supported, 2, 4,
                      "moments bf16 with param f32 is not supported; use f32"));
static_assert(refused(mp::precision_is_supported, kept_in({.param = dtype::f64}), rule::precision_is_supported, 4, 8,
                      "grad f32 with param f64 is not supported; use f64"));
static_assert(refused(mp::precision_is_supported, kept_in({.param = dtype::i32}), rule::precision_is_supported, 4, 4,
                      "param i32 is not supported; use f32"));

// pipeline
static_assert(holds(mp::layers_divisible_by_pp, with([](setup& s) { s.p.pp = 4; })));
static_assert(refused(mp::layers_divisible_by_pp, with([](setup& s) { s.p.pp = 3; }), rule::layers_divisible_by_pp, 4,
                      3, "layers (4) not divisible by pp (3); set stage_layers to at most 2"));
static_assert(refused(mp::layers_divisible_by_pp, with([](setup& s) { s.p.pp = 4, s.p.virtual_stages = 2; }),
                      rule::layers_divisible_by_pp, 4, 8,
                      "layers (4) not divisible by pp * virtual_stages (8); set pp to 2"));
constexpr setup stages(int first, int second, int third) {
  setup s = good;
  s.p.pp = 2;
  s.p.stage_layers[0] = first, s.p.stage_layers[1] = second, s.p.stage_layers[2] = third;
  return s;
}
static_assert(holds(mp::stage_layers_add_up, stages(3, 1, 0)) && holds(mp::layers_divisible_by_pp, stages(3, 1, 0)));
static_assert(holds(mp::stage_layers_add_up, stages(0, 0, 0)));
static_assert(refused(mp::stage_layers_add_up, stages(3, 2, 0), rule::stage_layers_add_up, 5, 4,
                      "stage_layers add up to 5 but layers is 4; set stage_layers to at most 2"));
static_assert(refused(mp::stage_layers_add_up, stages(2, 1, 1), rule::stage_layers_add_up, 3, 2,
                      "stage_layers names 3 stages but the plan has 2; set stage_layers to at most 2"));
static_assert(refused(mp::stage_layers_add_up, stages(4, 0, 0), rule::stage_layers_add_up, 1, 2,
                      "stage_layers names 1 stages but the plan has 2; set stage_layers to at most 2"));
static_assert(!holds(mp::stage_layers_add_up, stages(5, 1, -2)));
static_assert(refused(mp::stage_layers_add_up, with([](setup& s) { s.p.pp = 4, s.p.stage_layers[0] = 4; }),
                      rule::stage_layers_add_up, 1, 4,
                      "stage_layers names 1 stages but the plan has 4; set stage_layers to at most 1"));

// What cannot be written is no repair.
static_assert(refused(mp::layers_divisible_by_pp, with([](setup& s) { s.m.layers = 100, s.p.pp = 66; }),
                      rule::layers_divisible_by_pp, 100, 66, "layers (100) not divisible by pp (66); set pp to 50"));
static_assert(refused(mp::layers_divisible_by_pp, with([](setup& s) { s.m.layers = 1, s.p.virtual_stages = 2; }),
                      rule::layers_divisible_by_pp, 1, 2,
                      "layers (1) not divisible by pp * virtual_stages (2); set virtual_stages to 1"));
static_assert(holds(mp::stage_layers_add_up, with([](setup& s) { s.p.pp = 0, s.p.stage_layers[0] = 4; })));

// schedules: virtual stages, micro-batches, stages
constexpr setup scheduled(mp::schedule_kind kind, int pp, int virtual_stages, int micro_batches) {
  setup s{.m = {.layers = pp * virtual_stages, .hidden = 64, .heads = 8, .ffn = 128, .vocab = 250, .seq = 64}};
  s.j.global_batch = 2 * micro_batches;
  s.p.pp = pp, s.p.virtual_stages = virtual_stages, s.p.schedule = kind;
  return s;
}
constexpr bool legal(mp::schedule_kind kind, int pp, int virtual_stages, int micro_batches) {
  return broken_in(scheduled(kind, pp, virtual_stages, micro_batches)) == 0;
}
using enum mp::schedule_kind;
static_assert(legal(gpipe, 4, 1, 1) && !legal(gpipe, 4, 2, 1));
static_assert(legal(one_f_one_b, 4, 1, 1) && !legal(one_f_one_b, 4, 2, 8));
static_assert(legal(interleaved, 4, 2, 4) && legal(interleaved, 4, 5, 9) && legal(interleaved, 2, 2, 2));
static_assert(!legal(interleaved, 4, 1, 8) && !legal(interleaved, 4, 2, 3));
static_assert(legal(zb_h1, 4, 1, 1) && !legal(zb_h1, 4, 2, 8));
static_assert(legal(zb_v, 4, 2, 1) && !legal(zb_v, 4, 1, 8) && !legal(zb_v, 4, 3, 8));
static_assert(legal(dualpipe, 4, 1, 8) && legal(dualpipe, 2, 1, 4));
static_assert(!legal(dualpipe, 4, 2, 8) && !legal(dualpipe, 4, 1, 6) && !legal(dualpipe, 4, 1, 9));
static_assert(!legal(dualpipe, 3, 1, 8) && !legal(dualpipe, 5, 1, 10));
static_assert(legal(dualpipe_v, 4, 2, 8) && legal(dualpipe_v, 3, 2, 7) && legal(dualpipe_v, 4, 2, 9));
static_assert(!legal(dualpipe_v, 4, 1, 8) && !legal(dualpipe_v, 4, 3, 8) && !legal(dualpipe_v, 4, 2, 7));
static_assert(legal(zb_v, 1, 1, 1) && legal(dualpipe, 1, 1, 1) && !legal(zb_v, 1, 2, 8));
static_assert(ask(rule::virtual_stages_fit_schedule, scheduled(interleaved, 4, 1, 8)).why ==
              "virtual_stages (1) but schedule interleaved has 2 or more; set virtual_stages to 2");
static_assert(ask(rule::virtual_stages_fit_schedule, scheduled(dualpipe_v, 4, 3, 8)).why ==
              "virtual_stages (3) but schedule dualpipe_v has 2; set virtual_stages to 2");
static_assert(ask(rule::micro_batches_fit_schedule, scheduled(dualpipe_v, 4, 2, 7)).why ==
              "schedule dualpipe_v needs 2 * pp (8) micro-batches, not 7; set micro_batch to 1");
static_assert(ask(rule::micro_batches_fit_schedule, scheduled(dualpipe_v, 4, 2, 3)).why ==
              "schedule dualpipe_v needs 2 * pp (8) micro-batches, not 3; set global_batch to 16");
static_assert(
    refused(mp::pp_is_even_for_dualpipe, scheduled(dualpipe, 5, 1, 10), rule::pp_is_even_for_dualpipe, 5, 2,
            "pp (5) is odd but schedule dualpipe pairs its ranks; set pp to 4 and set stage_layers to at most 2"));
constexpr setup nine_layers = rules_test::with([](setup& s) { s.m.layers = 9; }, scheduled(dualpipe, 3, 1, 8));
static_assert(ask(rule::pp_is_even_for_dualpipe, nine_layers).why ==
              "pp (3) is odd but schedule dualpipe pairs its ranks; set pp to 2 and set stage_layers to at most 5");
static_assert(ask(rule::pp_is_even_for_dualpipe, rules_test::with([](setup& s) { s.m.layers = 1; }, nine_layers)).why ==
              "pp (3) is odd but schedule dualpipe pairs its ranks; set pp to 1");
constexpr setup too_many_samples = rules_test::with(
    [](setup& s) { s.p.dp = s.j.global_batch = 1 << 30, s.j.micro_batch = 1; }, scheduled(interleaved, 4, 2, 1));
static_assert(ask(rule::micro_batches_fit_schedule, too_many_samples).why ==
              "schedule interleaved needs pp (4) micro-batches, not 1; set pp to 1 and set virtual_stages to 1");
static_assert(holds(mp::pp_is_even_for_dualpipe, scheduled(dualpipe_v, 5, 2, 10)));

// context
static_assert(holds(mp::sequence_divisible_by_cp, with([](setup& s) { s.p.cp = 4; })));
static_assert(refused(mp::sequence_divisible_by_cp, with([](setup& s) { s.m.seq = 60, s.p.cp = 4; }),
                      rule::sequence_divisible_by_cp, 60, 8, "seq (60) not divisible by 2 * cp (8); set seq to 64"));
static_assert(holds(mp::sequence_divisible_by_cp,
                    with([](setup& s) { s.m.seq = 60, s.p.cp = 4, s.p.zigzag = false; })));
static_assert(refused(mp::sequence_divisible_by_cp, with([](setup& s) { s.p.cp = 3, s.p.zigzag = false; }),
                      rule::sequence_divisible_by_cp, 64, 3, "seq (64) not divisible by cp (3); set seq to 66"));
static_assert(!holds(mp::sequence_divisible_by_cp, with([](setup& s) { s.m.seq = 62, s.p.cp = 2; })));
static_assert(holds(mp::sequence_divisible_by_cp, with([](setup& s) { s.m.seq = 63; })));
constexpr auto exchange_heads = [](setup& s) { s.p.context_exchange = mp::exchange_kind::heads; };
static_assert(holds(mp::heads_divisible_by_cp, with([](setup& s) { exchange_heads(s), s.p.cp = 2; })));
static_assert(holds(mp::heads_divisible_by_cp, with([](setup& s) { s.p.cp = 4; })));
static_assert(holds(mp::heads_divisible_by_cp, with([](setup& s) { exchange_heads(s), s.p.tp = 5; })));
static_assert(refused(mp::heads_divisible_by_cp, with([](setup& s) { exchange_heads(s), s.p.cp = 4; }),
                      rule::heads_divisible_by_cp, 8, 16, "heads (8) not divisible by tp * cp (16); set cp to 2"));
static_assert(refused(mp::heads_divisible_by_cp,
                      with([](setup& s) { exchange_heads(s), s.m.kv_heads = 4, s.p.tp = s.p.cp = 4, s.m.heads = 16; }),
                      rule::heads_divisible_by_cp, 4, 16, "kv_heads (4) not divisible by tp * cp (16); set cp to 1"));

// experts
static_assert(holds(mp::experts_divisible_by_ep, with([](setup& s) { moe(s), s.p.ep = 4; })));
static_assert(refused(mp::experts_divisible_by_ep, with([](setup& s) { moe(s), s.p.ep = 3; }),
                      rule::experts_divisible_by_ep, 8, 3, "experts (8) not divisible by ep (3); set ep to 2"));
static_assert(refused(mp::experts_divisible_by_ep, with([](setup& s) { s.p.ep = 2; }), rule::experts_divisible_by_ep, 0,
                      2, "ep (2) but the model has no experts; set ep to 1"));
static_assert(refused(mp::experts_divisible_by_ep, with([](setup& s) { s.p.etp = 2; }), rule::experts_divisible_by_ep,
                      0, 2, "etp (2) but the model has no experts; set etp to 1"));
static_assert(holds(mp::top_k_fits_experts, with(moe)) && holds(mp::top_k_fits_experts, good));
static_assert(holds(mp::top_k_fits_experts, with([](setup& s) { s.m.experts = 8, s.m.top_k = 1; })));
static_assert(holds(mp::top_k_fits_experts, with([](setup& s) { s.m.experts = s.m.top_k = 8; })));
static_assert(refused(mp::top_k_fits_experts, with([](setup& s) { s.m.experts = 8, s.m.top_k = 9; }),
                      rule::top_k_fits_experts, 9, 8, "top_k (9) does not fit experts (8); set top_k to 8"));
static_assert(refused(mp::top_k_fits_experts, with([](setup& s) { s.m.experts = 8; }), rule::top_k_fits_experts, 0, 8,
                      "top_k (0) does not fit experts (8); set top_k to 1"));
static_assert(refused(mp::top_k_fits_experts, with([](setup& s) { s.m.top_k = 2; }), rule::top_k_fits_experts, 2, 0,
                      "top_k (2) does not fit experts (0); set top_k to 0"));
static_assert(holds(mp::moe_with_tp_needs_sequence_parallel, with(moe)));
static_assert(holds(mp::moe_with_tp_needs_sequence_parallel, with([](setup& s) { s.p.sequence_parallel = false; })));
static_assert(holds(mp::moe_with_tp_needs_sequence_parallel,
                    with([](setup& s) { moe(s), s.p.sequence_parallel = false, s.p.tp = 1; })));
static_assert(refused(mp::moe_with_tp_needs_sequence_parallel,
                      with([](setup& s) { moe(s), s.p.sequence_parallel = false; }),
                      rule::moe_with_tp_needs_sequence_parallel, 8, 4,
                      "experts (8) get each token tp (4) times; set sequence_parallel to true"));
static_assert(holds(mp::folding_products_agree, with([](setup& s) { moe(s), s.p.ep = 8; })));
static_assert(holds(mp::folding_products_agree, with([](setup& s) { moe(s), s.p.edp = 2, s.p.ep = 4; })));
static_assert(holds(mp::folding_products_agree, with([](setup& s) { s.p.edp = -1; })));
static_assert(refused(mp::folding_products_agree, with([](setup& s) { s.p.edp = 3; }), rule::folding_products_agree, 3,
                      8, "edp * ep * etp (3) is not dp * cp * tp (8); set edp to 8"));
static_assert(refused(mp::folding_products_agree, with([](setup& s) { s.p.dp = s.p.tp = 1, s.p.ep = 2; }),
                      rule::folding_products_agree, 1, 2,
                      "dp * cp * tp (1) not divisible by ep * etp (2); set ep to 1"));
static_assert(refused(mp::folding_products_agree, with([](setup& s) { moe(s), s.p.edp = 2, s.p.ep = 2; }),
                      rule::folding_products_agree, 4, 8, "edp * ep * etp (4) is not dp * cp * tp (8); set edp to 4"));
static_assert(refused(mp::folding_products_agree, with([](setup& s) { moe(s), s.p.ep = 3; }),
                      rule::folding_products_agree, 8, 3,
                      "dp * cp * tp (8) not divisible by ep * etp (3); set ep to 2"));
static_assert(refused(mp::folding_products_agree, with([](setup& s) { moe(s), s.p.ep = 2, s.p.etp = 3; }),
                      rule::folding_products_agree, 8, 6,
                      "dp * cp * tp (8) not divisible by ep * etp (6); set etp to 2"));

static_assert(refused(mp::folding_products_agree, with([](setup& s) { moe(s), s.p.ep = 5, s.p.etp = 3; }),
                      rule::folding_products_agree, 8, 15,
                      "dp * cp * tp (8) not divisible by ep * etp (15); set ep to 4 and set etp to 2"));
static_assert(refused(mp::folding_products_agree, with([](setup& s) { moe(s), s.p.edp = 2, s.p.ep = 5; }),
                      rule::folding_products_agree, 8, 5,
                      "dp * cp * tp (8) not divisible by ep * etp (5); set ep to 4"));
static_assert(refused(mp::folding_products_agree, with([](setup& s) { moe(s), s.p.edp = 3, s.p.ep = 5; }),
                      rule::folding_products_agree, 8, 5,
                      "dp * cp * tp (8) not divisible by ep * etp (5); set ep to 4 and set edp to 2"));
static_assert(refused(mp::experts_divisible_by_ep, with([](setup& s) { s.p.ep = s.p.etp = 2; }),
                      rule::experts_divisible_by_ep, 0, 2,
                      "ep (2) but the model has no experts; set ep to 1 and set etp to 1"));

// not built
static_assert(refused(mp::feature_not_built_yet, with([](setup& s) { s.p.recompute = mp::recompute_kind::full; }),
                      rule::feature_not_built_yet, 0, 0, "not built yet: recompute (full); set recompute to none"));
static_assert(refused(mp::feature_not_built_yet,
                      with([](setup& s) { s.p.zero = 1, s.p.recompute = mp::recompute_kind::selective; }),
                      rule::feature_not_built_yet, 1, 0,
                      "not built yet: zero (1), recompute (selective); leave them out"));
static_assert(holds(mp::feature_not_built_yet, good));
static_assert(refused(mp::feature_not_built_yet, with([](setup& s) { s.p.pp = 2, s.p.zero = 1; }),
                      rule::feature_not_built_yet, 2, 1, "not built yet: pp (2), zero (1); leave them out"));

static_assert(refused(mp::feature_not_built_yet, with([](setup& s) {
                        s.p.virtual_stages = s.p.cp = s.m.experts = s.p.ep = s.p.etp = 2;
                        s.p.recompute = mp::recompute_kind::full;
                      }),
                      rule::feature_not_built_yet, 2, 1,
                      "not built yet: virtual_stages (2), cp (2), experts (2) and 3 more; leave them out"));

// world
static_assert(mp::world_size_matches_plan(good.p, 8).holds());
static_assert(mp::world_size_matches_plan(good.p, 6).why ==
              "ranks (6) are not pp * dp * cp * tp = 1 * 2 * 1 * 4 = 8; start 8 ranks");

// Both forms of one configuration.
inline constexpr mp::model named_model = good.m;
inline constexpr mp::job named_job = good.j;
inline constexpr mp::plan named_plan = good.p;
inline constexpr mp::plan other_name = good.p;
static_assert(mp::checked_plan<named_model, named_job, named_plan>::ok);
static_assert(std::is_same_v<mp::checked_plan<named_model, named_job, named_plan>::values,
                             mp::checked_plan<named_model, named_job, other_name>::values>);
static_assert(mp::checked_plan<named_model, named_job, named_plan>::values::p.tp == 4);

}  // namespace

TEST_CASE("entries of the catalogue name their rule") {
  for (const mp::catalogue_entry& e : mp::catalogue) {
    CHECK(std::strcmp(mp::name_of(e.id), e.name) == 0);
    CHECK(std::strlen(e.why_it_matters) > 20);
  }
}

TEST_CASE("all violations are found at once, in the order of the catalogue") {
  const setup s = with([](setup& c) { c.m.heads = 48, c.m.hidden = 96, c.j.micro_batch = 3, c.p.tp = 5; });
  const auto broken = mp::check_all(s.m, s.j, s.p);
  REQUIRE(broken.size() == 4);
  CHECK(broken[0].broken == rule::heads_divisible_by_tp);
  CHECK(broken[1].broken == rule::ffn_divisible_by_tp);
  CHECK(broken[2].broken == rule::sequence_divisible_by_tp);
  CHECK(broken[3].broken == rule::global_batch_divisible);
}

TEST_CASE("the smallest sizes, which stand in for a refused configuration, are legal") {
  CHECK(mp::broken_entries(mp::smallest_model, mp::smallest_job, mp::one_rank) == 0);
}
