// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tensor parallelism of attention, by the ids of the worked example's figures.
#include <meshpar/layout/offset.hpp>
#include <meshpar/meta/cost.hpp>
#include <meshpar/rules/catalogue.hpp>
#include <meshpar/train/launch.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace mp = meshpar;
namespace axes = mp::axes;

namespace {

constexpr mp::model sizes{.layers = 2, .hidden = 32, .heads = 4, .ffn = 64, .vocab = 48, .seq = 8};
constexpr mp::job one_sample{.global_batch = 1};
constexpr mp::plan tp2{.tp = 2, .precision = mp::all_f64};
using doubles = mp::element_types<double, double, double, double>;

mp::model with_layers(mp::model m, int layers) {
  m.layers = layers;
  return m;
}

// All-reduces over tp that rank 0 starts in the forward and backward pass of one micro-batch.
long all_reduces(const mp::model& m) {
  const mp::program p(m, one_sample, tp2, mp::stack<>(m, one_sample));
  REQUIRE(!p.refused());
  long calls = 0;
  mp::run_ranks<doubles>(p, [&](auto& rank) {
    const mp::group tp = rank.calls().group_along(axes::tp);
    const long before = rank.comm().calls(tp, mp::call_kind::all_reduce);
    rank.accumulate(0, [](auto, auto) { return 1; }, [](auto, auto) { return 2; });
    if (rank.number() == 0) calls = rank.comm().calls(tp, mp::call_kind::all_reduce) - before;
  });
  return calls;
}

std::int64_t planned_all_reduces(const mp::model& m, bool backward) {
  const mp::program p(m, one_sample, tp2, mp::stack<>(m, one_sample));
  const mp::step_cost c = mp::price(p);
  return (backward ? c.backward : c.forward).count(mp::typing::collective::all_reduce, axes::tp);
}

}  // namespace

TEST_CASE("TPA-01 four all-reduces a layer, counted by the communicator and in the program") {
  for (const mp::model& m : {mp::gpt2_like(sizes), mp::llama_like(sizes)}) {
    const mp::model two = with_layers(m, 2), three = with_layers(m, 3);
    CHECK(all_reduces(three) - all_reduces(two) == 4);
    CHECK(planned_all_reduces(three, false) - planned_all_reduces(two, false) == 2);
    CHECK(planned_all_reduces(three, true) - planned_all_reduces(two, true) == 2);
  }
}

TEST_CASE("TPA-02 tp divides the heads") {
  constexpr mp::plan tp3{.tp = 3};
  constexpr mp::verdict broken = mp::heads_divisible_by_tp(sizes, one_sample, tp3);
  static_assert(broken.broken == mp::rule::heads_divisible_by_tp && broken.left == 4 && broken.right == 3);
  static_assert(mp::heads_divisible_by_tp(sizes, one_sample, tp2).holds());
  const mp::program p(sizes, one_sample, tp3, mp::stack<>(sizes, one_sample));  // and its operations say the same
  CHECK(p.refused());
}

TEST_CASE("TPA-03 8 KV heads on 16 ranks: each on two of them, and their gradients summed over the two") {
  constexpr mp::model m{
      .layers = 1, .hidden = 64, .heads = 16, .kv_heads = 8, .head_dim = 4, .ffn = 64, .vocab = 48, .seq = 16};
  constexpr mp::plan tp16{.tp = 16, .precision = mp::all_f64};
  static_assert(mp::kv_replicas(m, tp16) == 2);
  const mp::program p(mp::llama_like(m), one_sample, tp16, mp::stack<>(mp::llama_like(m), one_sample));
  REQUIRE(!p.refused());
  const mp::mesh& ranks = p.where.ranks;
  int keys_seen = 0;
  for (const mp::parameter_entry& e : p.parameters) {
    const mp::layout& l = p.shape(e);
    const int at = l.find(mp::dims::kv_heads);
    if (at < 0) continue;
    ++keys_seen;
    CHECK(p.buckets[e.bucket].sync == mp::axis_set(axes::kv_rep));
    CHECK(ranks.size(p.buckets[e.bucket].sync) == 2);
    std::vector<int> holders(8, 0);
    for (int rank = 0; rank < 16; ++rank)
      for (std::int64_t i = 0; i < l.dims[at].local; ++i)
        ++holders[static_cast<std::size_t>(mp::global_index(l.dims[at], ranks, rank, i))];
    CHECK(holders == std::vector<int>(8, 2));
  }
  CHECK(keys_seen == 2);
}
