// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/config/cluster.hpp>
#include <meshpar/config/plan.hpp>
#include <meshpar/mesh/of_plan.hpp>

#include <doctest/doctest.h>

#include <initializer_list>
#include <type_traits>

namespace mp = meshpar;

namespace {

inline constexpr mp::model tiny{.layers = 4, .hidden = 64, .heads = 8, .ffn = 128, .vocab = 250, .seq = 64};
inline constexpr mp::model same{.layers = 4, .hidden = 64, .heads = 8, .ffn = 128, .vocab = 250, .seq = 64};
inline constexpr mp::model dropped{
    .layers = 4, .hidden = 64, .heads = 8, .ffn = 128, .vocab = 250, .seq = 64, .dropout = 0.1};
inline constexpr mp::model grouped{
    .layers = 4, .hidden = 64, .heads = 8, .kv_heads = 2, .ffn = 128, .vocab = 250, .seq = 64};

template <mp::model M>
struct by_value {};
template <const mp::model& M>
using by_reference = by_value<M>;

static_assert(std::is_same_v<by_reference<tiny>, by_reference<same>>);
static_assert(!std::is_same_v<by_reference<tiny>, by_reference<dropped>>);

static_assert(mp::kv_heads_of(tiny) == 8 && mp::kv_heads_of(grouped) == 2);
static_assert(mp::head_dim_of(tiny) == 8 && mp::head_dim_of({.hidden = 64, .heads = 8, .head_dim = 5}) == 5);
static_assert(mp::head_dim_of({}) == 0);

static_assert(mp::padded_vocab(tiny, {.tp = 4}) == 252 && mp::padded_vocab(tiny, {}) == 250);
static_assert(mp::micro_batches({.global_batch = 16, .micro_batch = 2}, {.dp = 2}) == 4);
static_assert(mp::world_size({.pp = 2, .dp = 3, .cp = 5, .tp = 7}) == 210);
static_assert(mp::stage_size({.pp = 2, .dp = 3, .cp = 5, .tp = 7}) == 105);
static_assert(mp::chunk_count({.pp = 2, .virtual_stages = 3}) == 6);

static_assert(mp::bytes_per_parameter(mp::all_f32) == 16);  // no master copy: 4 + 4 + 8
static_assert(mp::bytes_per_parameter(mp::all_f64) == 32);
static_assert(mp::bytes_per_parameter(mp::mixed_bf16) == 18);
static_assert(mp::bytes_per_parameter(mp::mixed_bf16_grads) == 16);

static_assert(mp::usable_bytes(mp::h200) == 135'000'000'000 && !mp::h200.reserve_measured);

constexpr mp::model llama = mp::llama_like(tiny);
static_assert(llama.norm == mp::norm_kind::rms && llama.activation == mp::activation_kind::swiglu && !llama.bias &&
              llama.positions == mp::position_kind::rotary && !llama.tied_embeddings && llama.hidden == 64);
static_assert(mp::gpt2_like(llama) == tiny);

}  // namespace

TEST_CASE("the stage mesh leaves out pp and axes of extent 1") {
  CHECK(mp::mesh_of(tiny, {.pp = 2, .dp = 2, .tp = 4}) ==
        mp::mesh{mp::extent{mp::axes::dp, 2}, mp::extent{mp::axes::tp, 4}});
  CHECK(mp::mesh_of(tiny, {}) == mp::mesh{});
}

TEST_CASE("tp is factored exactly when it exceeds the KV heads") {
  for (int tp : {1, 2}) CHECK(mp::kv_replicas(grouped, {.tp = tp}) == 1);
  CHECK(mp::kv_replicas(grouped, {.tp = 8}) == 4);
  const mp::mesh m = mp::mesh_of(grouped, {.dp = 2, .cp = 3, .tp = 8});
  CHECK(m.size() == 48);
  CHECK(m.size(mp::axes::tp) == 2);
  CHECK(m.size(mp::axes::kv_rep) == 4);
  CHECK(m.size(mp::whole_axis(mp::axes::tp)) == 8);
  CHECK(m.stride(mp::axes::kv_rep) == 1);  // copies are neighbours
}
