// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Public reports of programs that trained wrong in silence, by the ids of docs/silent_bugs.md: what their users wrote,
// in our terms, and beside it what is right. Here: sums that are missing, doubled, or of the wrong kind.
#include <meshpar/nn/decoder.hpp>
#include <meshpar/ops/activation.hpp>
#include <meshpar/ops/attention.hpp>
#include <meshpar/ops/norm.hpp>
#include <meshpar/ops/sum.hpp>

#include "silent_operations.hpp"

namespace mp = meshpar;
namespace axes = mp::axes;
namespace dims = mp::dims;
using mp::I;
using mp::R;

struct weights {
  mp::param<dims::hidden, dims::ffn> up{"up"};
  mp::param<dims::ffn, dims::hidden> down{"down"};
  mp::param<dims::hidden, dims::head_dim> narrow{"narrow"};
  mp::param<dims::head_dim, dims::hidden> widen{"widen"};
  mp::param<dims::head_dim, dims::ffn> fan{"fan"};
  mp::param<dims::ffn, dims::head_dim> reduce{"reduce"};
  mp::param<dims::hidden> gain{"gain"};
};
using mp::layer_checks::with_sp;
using mp::layer_checks::without_sp;

// ---- S01: every rank holds the weight, so it "needs no sum"; but each uses it on tokens of its own
struct s01_called_the_same_work : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto g = mp::to<I>(r[gain], axes::tp);
    // told: &rms_norm_kind::info, 'S', 'I', along::tp, fix::to_R_right
    return mp::rms_norm(dims::hidden, x, g, 1e-5);  // expect: invariant_mixed
  }
};
struct s01_used_for_other_work : weights {
  constexpr auto forward(const auto& r, auto x) const { return mp::rms_norm(dims::hidden, x, r(gain, x), 1e-5); }
};
static_assert(mp::check_layer<s01_called_the_same_work>());
static_assert(mp::check_layer<s01_used_for_other_work>());

// ---- S03: what goes into a column-parallel product without a transition gets a term of its gradient back
struct s03_handed_on_as_whole : weights {
  constexpr auto forward(const auto& r, auto x) const {
    // told: &contract_op::info, 'I', 'S', along::tp, fix::to_R_left
    const auto u = mp::gelu(mp::contract(dims::hidden, x, r[up]));  // expect: invariant_mixed
    return mp::to_layout_of(x, mp::contract(dims::ffn, u, r[down]));
  }
};
struct s03_summed_on_the_way_back : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto u = mp::gelu(mp::contract(dims::hidden, mp::to<R>(x, axes::tp), r[up]));
    return mp::to_layout_of(x, mp::contract(dims::ffn, u, r[down]));
  }
};
static_assert(mp::layer_check<s03_handed_on_as_whole, without_sp<>>::ok);
static_assert(mp::check_layer<s03_summed_on_the_way_back>());

// ---- S04: the transition written for one mode and left out of the other
template <bool Gathers>
struct s04 : weights {
  constexpr auto into(auto x) const {
    if constexpr (Gathers) return mp::to<R>(x, axes::tp);
    else return x;
  }
  constexpr auto forward(const auto& r, auto x) const {
    // told: &contract_op::info, 'S', 'S', along::tp, fix::to_R_left
    const auto u = mp::gelu(mp::contract(dims::hidden, into(x), r[up]));  // expect: axis_on_two_dimensions
    return mp::to_layout_of(x, mp::contract(dims::ffn, u, r[down]));      // (for s04<false>)
  }
};
static_assert(mp::layer_check<s04<true>, with_sp<>>::ok);
static_assert(mp::layer_check<s04<true>, without_sp<>>::ok);
static_assert(mp::layer_check<s04<false>, with_sp<>>::ok);

// ---- S06: a key that all heads share, used by the heads of each rank
struct s06_shared_key_not_reduced : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto key = mp::contract(dims::hidden, x, r(narrow, x));
    // told: &contract_op::info, 'I', 'S', along::tp, fix::to_R_left
    const auto u = mp::contract(dims::head_dim, key, r[fan]);  // expect: invariant_mixed
    return mp::to_layout_of(x, mp::contract(dims::ffn, mp::gelu(u), r[down]));
  }
};
struct s06_shared_key_reduced : weights {  // the same line is right in both modes
  constexpr auto forward(const auto& r, auto x) const {
    const auto key = mp::contract(dims::hidden, x, r(narrow, x));
    const auto u = mp::contract(dims::head_dim, mp::to<R>(key, axes::tp), r[fan]);
    return mp::to_layout_of(x, mp::contract(dims::ffn, mp::gelu(u), r[down]));
  }
};
static_assert(mp::layer_check<s06_shared_key_not_reduced, without_sp<>>::ok);
static_assert(mp::check_layer<s06_shared_key_reduced>());

// ---- S07: one weight whose gradient is a whole on one path and a term on the other, so that no sum over it is right
struct s07_two_ways : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto a = mp::contract(dims::hidden, x, r(narrow, x));
    const auto b = mp::to_layout_of(a, mp::contract(dims::hidden, mp::to<R>(x, axes::tp), r[narrow]));
    return mp::contract(dims::head_dim, mp::sum(a, b), r(widen, a));
  }
};
struct s07_in_one_state : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto w = r(narrow, x);
    const auto a = mp::contract(dims::hidden, x, w);
    const auto b = mp::contract(dims::hidden, mp::to<R>(x, axes::tp), mp::to<R>(w, axes::tp));
    return mp::contract(dims::head_dim, mp::sum(a, mp::to_layout_of(a, b)), r(widen, a));
  }
};
// told: fix::use_it_in_one_state
static_assert(mp::check_layer<s07_two_ways>());  // expect: parameter_in_two_states
static_assert(mp::check_layer<s07_in_one_state>());
inline constexpr mp::model tiny =
    mp::llama_like({.layers = 1, .hidden = 8, .heads = 2, .ffn = 8, .vocab = 8, .seq = 4});
inline constexpr mp::job one_sample{.global_batch = 1};
inline constexpr mp::plan tp2{.tp = 2};
template <class Layer>
using net = mp::decoder<tiny, one_sample, tp2, mp::replace<mp::mlp, Layer>>;
// told: fix::use_it_in_one_state
static_assert(sizeof(net<s07_two_ways>) > 0);  // expect: parameter_in_two_states
static_assert(sizeof(net<s07_in_one_state>) > 0);

// ---- S09: one KV head beside the query heads of several ranks, taken for work that all of them do alike
struct heads : weights {
  mp::param<dims::hidden, dims::heads, dims::head_dim> query{"query"};
  mp::param<dims::hidden, dims::kv_heads, dims::head_dim> key{"key"};
  mp::param<dims::heads, dims::head_dim, dims::hidden> output{"output"};
};
struct s09_key_called_invariant : heads {
  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::to<R>(x, axes::tp);
    const auto q = mp::contract(dims::hidden, h, r[query]);
    const auto k = mp::to<I>(mp::contract(dims::hidden, h, r[key]), axes::kv_rep);
    // told: &attention_op::info, 'S', 'I', along::kv_rep, fix::to_R_right
    const auto o = mp::attention(q, k, k, 0);  // expect: invariant_mixed
    return mp::to_layout_of(x, mp::contract(mp::over(dims::heads, dims::head_dim), o, r[output]));
  }
};
struct s09_key_replicated : heads {
  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::to<R>(x, axes::tp);
    const auto q = mp::contract(dims::hidden, h, r[query]);
    const auto k = mp::contract(dims::hidden, h, r[key]);
    const auto o = mp::attention(q, k, k, 0);
    return mp::to_layout_of(x, mp::contract(mp::over(dims::heads, dims::head_dim), o, r[output]));
  }
};
static_assert(mp::check_layer<s09_key_called_invariant>());
static_assert(mp::check_layer<s09_key_replicated>());

// ---- S12: the replicated factor of a low-rank adapter, trained by each rank on its own input
struct s12_factor_called_the_same : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto u = mp::gelu(mp::contract(dims::hidden, mp::to<R>(x, axes::tp), r[up]));
    const auto second = mp::to<I>(r[widen], axes::tp);
    const auto a = mp::contract(dims::ffn, u, r[reduce]);
    // told: &contract_op::info, 'P', 'I', along::tp, fix::to_R_right
    const auto d = mp::contract(dims::head_dim, a, second);  // expect: invariant_mixed
    return mp::to_layout_of(x, mp::sum(mp::contract(dims::ffn, u, r[down]), d));
  }
};
struct s12_factor_replicated : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto u = mp::gelu(mp::contract(dims::hidden, mp::to<R>(x, axes::tp), r[up]));
    const auto a = mp::contract(dims::ffn, u, r[reduce]);
    const auto d = mp::contract(dims::head_dim, a, r[widen]);
    return mp::to_layout_of(x, mp::sum(mp::contract(dims::ffn, u, r[down]), d));
  }
};
static_assert(mp::check_layer<s12_factor_called_the_same>());
static_assert(mp::check_layer<s12_factor_replicated>());

// ---- S13: a whole branch added to terms of a sum is counted once per rank
struct s13_added_to_each_term : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::to<R>(x, axes::tp);
    const auto base = mp::contract(dims::ffn, mp::contract(dims::hidden, h, r[up]), r[down]);
    const auto delta = mp::contract(dims::head_dim, mp::contract(dims::hidden, h, r[narrow]), r[widen]);
    // told: &sum_op::info, 'P', 'R', along::tp, fix::to_R_left
    const auto y = mp::sum(base, delta);  // expect: sum_of_unlike_states
    return mp::to_layout_of(x, y);
  }
};
struct s13_added_to_the_sum : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::to<R>(x, axes::tp);
    const auto base = mp::contract(dims::ffn, mp::contract(dims::hidden, h, r[up]), r[down]);
    const auto delta = mp::contract(dims::head_dim, mp::contract(dims::hidden, h, r[narrow]), r[widen]);
    return mp::sum(mp::to_layout_of(x, base), mp::to_layout_of(x, delta));
  }
};
static_assert(mp::check_layer<s13_added_to_each_term>());
static_assert(mp::check_layer<s13_added_to_the_sum>());

// ---- S15: a layer that was built whole, followed by the sum that its parallel form would need
struct s15_whole_then_summed : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::to<R>(x, axes::tp);
    const auto y = mp::contract(dims::head_dim, mp::contract(dims::hidden, h, r[narrow]), r[widen]);
    // told: 'R', along::tp, fix::leave_as_it_is
    const auto z = own::all_reduce(y, axes::tp);  // expect: reduction_needs_a_partial_sum
    return mp::to_layout_of(x, z);
  }
};
struct s15_split_then_summed : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::to<R>(x, axes::tp);
    const auto y = mp::contract(dims::ffn, mp::contract(dims::hidden, h, r[up]), r[down]);
    return mp::to_layout_of(x, own::all_reduce(y, axes::tp));
  }
};
struct s15_whole_then_to : weights {  // `to` knows that nothing is owed
  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::to<R>(x, axes::tp);
    return mp::to_layout_of(x, mp::contract(dims::head_dim, mp::contract(dims::hidden, h, r[narrow]), r[widen]));
  }
};
static_assert(mp::check_layer<s15_whole_then_summed>());
static_assert(mp::check_layer<s15_split_then_summed>());
static_assert(mp::check_layer<s15_whole_then_to>());

// ---- S21: a normalisation along the sequence, of which each rank holds a piece
struct s21_balanced_per_shard : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto scores = mp::contract(dims::hidden, x, r(narrow, x));
    // told: 8, 0, 'S', along::tp, fix::to_R
    const auto routed = own::softmax(scores, dims::seq);  // expect: dimension_must_be_whole
    return mp::contract(dims::head_dim, routed, r(widen, x));
  }
};
struct s21_balanced_over_the_sequence : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto scores = mp::contract(dims::hidden, mp::to<R>(x, axes::tp), r[narrow]);
    return mp::to_layout_of(x, mp::contract(dims::head_dim, own::softmax(scores, dims::seq), r[widen]));
  }
};
static_assert(mp::check_layer<s21_balanced_per_shard>());
static_assert(mp::check_layer<s21_balanced_over_the_sequence>());

// ---- S22: G (G^T G), the product that orthogonalises a matrix, with the Gram matrix of each rank's rows alone
struct s22_of_each_piece : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto gram = mp::contract(dims::ffn, r[up], r[reduce]);
    // told: &contract_op::info, 'P', 'S', along::tp, fix::to_R_left
    const auto g = mp::contract(dims::head_dim, gram, r[fan]);  // expect: partial_sum_meets_a_split
    const auto u = mp::gelu(mp::contract(dims::hidden, mp::to<R>(x, axes::tp), g));
    return mp::to_layout_of(x, mp::contract(dims::ffn, u, r[down]));
  }
};
struct s22_of_the_whole : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto gram = mp::to<R>(mp::contract(dims::ffn, r[up], r[reduce]), axes::tp);
    const auto g = mp::contract(dims::head_dim, gram, r[fan]);
    const auto u = mp::gelu(mp::contract(dims::hidden, mp::to<R>(x, axes::tp), g));
    return mp::to_layout_of(x, mp::contract(dims::ffn, u, r[down]));
  }
};
static_assert(mp::check_layer<s22_of_each_piece>());
static_assert(mp::check_layer<s22_of_the_whole>());

// ---- S27: a weight cut over tp and then over dp, put together in the order of the mesh
struct s27_gathered_in_mesh_order : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto w = mp::split(r[down], dims::ffn, axes::dp);
    // told: &to_op::info, 'S', 'S', along::dp, fix::to_R
    const auto whole = mp::to<R>(mp::to<R>(w, axes::tp), axes::dp);  // expect: only_a_suffix_can_be_gathered
    const auto u = mp::contract(dims::hidden, mp::to<R>(x, axes::tp), r[up]);
    return mp::to_layout_of(x, mp::contract(dims::ffn, mp::to<R>(u, axes::tp), whole));
  }
};
struct s27_gathered_in_the_order_of_the_cuts : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto w = mp::split(r[down], dims::ffn, axes::dp);
    const auto whole = mp::to<R>(mp::to<R>(w, axes::dp), axes::tp);
    const auto u = mp::contract(dims::hidden, mp::to<R>(x, axes::tp), r[up]);
    return mp::to_layout_of(x, mp::contract(dims::ffn, mp::to<R>(u, axes::tp), whole));
  }
};
static_assert(mp::check_layer<s27_gathered_in_mesh_order>());
static_assert(mp::check_layer<s27_gathered_in_the_order_of_the_cuts>());

// ---- S64: a mask of the whole sequence beside the tokens of one rank
struct s64_mask_of_the_whole_sequence : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto mask = mp::gelu(mp::to<R>(x, axes::tp));
    // told: &own::product_op::info, 'S', 'R', along::tp, fix::to_R_left
    return own::product(x, mask);  // expect: dimension_split_differently
  }
};
struct s64_mask_of_the_same_tokens : weights {
  constexpr auto forward(const auto& r, auto x) const { return own::product(x, mp::gelu(x)); }
};
struct s64_shift_within_a_shard : weights {  // of the same kind: the neighbour of a shard's last token is elsewhere
  constexpr auto forward(const auto& r, auto x) const {
    // told: 8, 0, 'S', along::tp, fix::declare_fused
    const auto next = own::shift(x, dims::seq);  // expect: dimension_must_be_whole
    return mp::to_layout_of(x, next);
  }
};
struct s64_shift_of_the_whole_sequence : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto next = own::shift(mp::to<R>(x, axes::tp), dims::seq);  // one element shorter, so no stream of its own
    static_cast<void>(next);
    return x;
  }
};
static_assert(mp::layer_check<s64_mask_of_the_whole_sequence, with_sp<>>::ok);
static_assert(mp::check_layer<s64_mask_of_the_same_tokens>());
static_assert(mp::layer_check<s64_shift_within_a_shard, with_sp<>>::ok);
static_assert(mp::layer_check<s64_shift_of_the_whole_sequence, with_sp<>>::ok);
