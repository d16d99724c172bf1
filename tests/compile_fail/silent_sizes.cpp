// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Public reports of configurations that ran but were not what was asked, by the ids of docs/silent_bugs.md, each beside
// its nearest correct neighbour.
#include <meshpar/check.hpp>
#include <meshpar/nn/check_layer.hpp>
#include <meshpar/ops/contract.hpp>

using namespace meshpar;

constexpr job b16{.global_batch = 16};
constexpr model of(int layers) {
  return {.layers = layers, .hidden = 96, .heads = 48, .ffn = 240, .vocab = 250, .seq = 240};
}

// One entry alone, for rules about features that are not built yet.
constexpr int entry_of(rule id) {
  int i = 0;
  while (catalogue[i].id != id) ++i;
  return i;
}
template <rule Id, const model& M, const plan& P>
using only = require<plan_check<M, b16, P, entry_of(Id)>>;

// ---- S28: a length that its cuts do not divide; with padding it is a size of its own
inline constexpr dim<"width"> width;
struct uneven {
  param<dims::hidden, width> mix{"mix"};
  constexpr auto forward(const auto& r, auto x) const {
    const auto w = r[mix];  // expect: split_does_not_divide, 5, 4
    static_cast<void>(w);
    return x;
  }
};
struct even : uneven {
  constexpr auto forward(const auto& r, auto x) const {
    const auto w = r[mix];
    static_cast<void>(w);
    return x;
  }
};
constexpr model whole_heads{.hidden = 88, .heads = 8, .ffn = 104, .vocab = 136, .seq = 32};
constexpr context with_width(int size) {
  context c = context_of(whole_heads, {.global_batch = 4}, {.dp = 2, .tp = 4});
  c.placement.push_back({width, size, 5, axes::tp});
  return c;
}
inline constexpr context five = with_width(5), padded = with_width(8);
static_assert(layer_check<uneven, five>::ok);
static_assert(layer_check<even, padded>::ok);

// ---- S48: 30 layers on 4 stages made a model of 28
constexpr model m30 = of(30);
constexpr plan pp4{.pp = 4};
constexpr plan pp4_uneven{.pp = 4, .stage_layers = {8, 8, 7, 7}};
static_assert(only<rule::layers_divisible_by_pp, m30, pp4>::ok);  // expect: layers_divisible_by_pp, 30, 4
static_assert(only<rule::layers_divisible_by_pp, m30, pp4_uneven>::ok);
static_assert(only<rule::stage_layers_add_up, m30, pp4_uneven>::ok);

// ---- S49: 80 layers on 16 stages of 2 chunks made a model of 64
constexpr model m80 = of(80);
constexpr plan pp16_two{.pp = 16, .virtual_stages = 2};
constexpr plan pp16_five{.pp = 16, .virtual_stages = 5};
static_assert(only<rule::layers_divisible_by_pp, m80, pp16_two>::ok);  // expect: layers_divisible_by_pp, 80, 32
static_assert(only<rule::layers_divisible_by_pp, m80, pp16_five>::ok);

// ---- S51: 10 layers on 3 ranks, two of them on none
constexpr model m10 = of(10);
constexpr plan pp3{.pp = 3};
constexpr plan pp3_of_8{.pp = 3, .stage_layers = {3, 3, 2}};
constexpr plan pp3_of_10{.pp = 3, .stage_layers = {4, 3, 3}};
static_assert(only<rule::layers_divisible_by_pp, m10, pp3>::ok);    // expect: layers_divisible_by_pp, 10, 3
static_assert(only<rule::stage_layers_add_up, m10, pp3_of_8>::ok);  // expect: stage_layers_add_up, 8, 10
static_assert(only<rule::stage_layers_add_up, m10, pp3_of_10>::ok);

// ---- S52: 2 KV heads exchanged over 4 ranks leave two of these without any
constexpr model kv2{.layers = 4, .hidden = 96, .heads = 48, .kv_heads = 2, .ffn = 240, .vocab = 250, .seq = 240};
constexpr plan cp4_heads{.cp = 4, .context_exchange = exchange_kind::heads};
constexpr plan cp2_heads{.cp = 2, .context_exchange = exchange_kind::heads};
static_assert(only<rule::heads_divisible_by_cp, kv2, cp4_heads>::ok);  // expect: heads_divisible_by_cp, 2, 4
static_assert(only<rule::heads_divisible_by_cp, kv2, cp2_heads>::ok);
constexpr model kv6{.layers = 4, .hidden = 96, .heads = 48, .kv_heads = 6, .ffn = 240, .vocab = 250, .seq = 240};
constexpr plan tp4{.tp = 4};
static_assert(checked_plan<kv6, b16, tp4>::ok);  // expect: kv_heads_fit_tp, 6, 4
static_assert(checked_plan<kv2, b16, tp4>::ok);  // replicated: a head for every rank

// ---- S54: gate and up have 2 * 3 rows together, which 2 ranks divide; each of them has 3
constexpr model f3 = llama_like({.layers = 4, .hidden = 96, .heads = 48, .ffn = 3, .vocab = 250, .seq = 240});
constexpr model f4 = llama_like({.layers = 4, .hidden = 96, .heads = 48, .ffn = 4, .vocab = 250, .seq = 240});
constexpr plan tp2{.tp = 2};
static_assert(checked_plan<f3, b16, tp2>::ok);  // expect: ffn_divisible_by_tp, 3, 2
static_assert(checked_plan<f4, b16, tp2>::ok);

// ---- S61: fewer tokens than ranks that split them
constexpr model one_token{.layers = 4, .hidden = 96, .heads = 48, .ffn = 240, .vocab = 250, .seq = 1};
constexpr model two_tokens{.layers = 4, .hidden = 96, .heads = 48, .ffn = 240, .vocab = 250, .seq = 2};
constexpr model three_tokens{.layers = 4, .hidden = 96, .heads = 48, .ffn = 240, .vocab = 250, .seq = 3};
constexpr model four_tokens{.layers = 4, .hidden = 96, .heads = 48, .ffn = 240, .vocab = 250, .seq = 4};
constexpr plan tp4_sp{.tp = 4, .sequence_parallel = true};
static_assert(checked_plan<one_token, b16, tp4_sp>::ok);     // expect: sequence_divisible_by_tp, 1, 4
static_assert(checked_plan<two_tokens, b16, tp4_sp>::ok);    // expect: sequence_divisible_by_tp, 2, 4
static_assert(checked_plan<three_tokens, b16, tp4_sp>::ok);  // expect: sequence_divisible_by_tp, 3, 4
static_assert(checked_plan<four_tokens, b16, tp4_sp>::ok);
static_assert(checked_plan<three_tokens, b16, tp4>::ok);

// ---- S70: fewer micro-batches than a schedule's rounds take, so that a rank waits for one that nobody sends; 1F1B and
// others run with any number
constexpr job m1{.global_batch = 1}, m2{.global_batch = 2}, m3{.global_batch = 3}, m4{.global_batch = 4};
constexpr plan gpipe{.pp = 2, .schedule = schedule_kind::gpipe};
constexpr plan one_f_one_b{.pp = 2, .schedule = schedule_kind::one_f_one_b};
constexpr plan interleaved{.pp = 2, .schedule = schedule_kind::interleaved, .virtual_stages = 2};
constexpr plan zb_h1{.pp = 2, .schedule = schedule_kind::zb_h1};
constexpr plan zb_v{.pp = 2, .schedule = schedule_kind::zb_v, .virtual_stages = 2};
constexpr plan dualpipe{.pp = 2, .schedule = schedule_kind::dualpipe};
constexpr plan dualpipe_v{.pp = 2, .schedule = schedule_kind::dualpipe_v, .virtual_stages = 2};
template <const plan& P, const job& J>
using s70 = require<plan_check<m30, J, P, entry_of(rule::micro_batches_fit_schedule)>>;
static_assert(s70<gpipe, m1>::ok && s70<gpipe, m2>::ok && s70<gpipe, m3>::ok && s70<gpipe, m4>::ok);
static_assert(s70<one_f_one_b, m1>::ok && s70<one_f_one_b, m2>::ok);
static_assert(s70<one_f_one_b, m3>::ok && s70<one_f_one_b, m4>::ok);
static_assert(s70<interleaved, m1>::ok);  // expect: micro_batches_fit_schedule, 1, 2
static_assert(s70<interleaved, m2>::ok && s70<interleaved, m3>::ok && s70<interleaved, m4>::ok);
static_assert(s70<zb_h1, m1>::ok && s70<zb_h1, m2>::ok && s70<zb_h1, m3>::ok && s70<zb_h1, m4>::ok);
static_assert(s70<zb_v, m1>::ok && s70<zb_v, m2>::ok && s70<zb_v, m3>::ok && s70<zb_v, m4>::ok);
static_assert(s70<dualpipe, m1>::ok);  // expect: micro_batches_fit_schedule, 1, 4
static_assert(s70<dualpipe, m2>::ok);  // expect: micro_batches_fit_schedule, 2, 4
static_assert(s70<dualpipe, m3>::ok);  // expect: micro_batches_fit_schedule, 3, 4
static_assert(s70<dualpipe, m4>::ok);
static_assert(s70<dualpipe_v, m1>::ok);  // expect: micro_batches_fit_schedule, 1, 4
static_assert(s70<dualpipe_v, m2>::ok);  // expect: micro_batches_fit_schedule, 2, 4
static_assert(s70<dualpipe_v, m3>::ok);  // expect: micro_batches_fit_schedule, 3, 4
static_assert(s70<dualpipe_v, m4>::ok);
