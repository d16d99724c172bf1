// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layers that use operations in places where ours don't: on a split sequence, twice in a block, on computed weights.
#include "../extend/same_on_every_plan.hpp"

#include <doctest/doctest.h>

using namespace meshpar;

namespace {

constexpr model sizes =
    llama_like({.layers = 2, .hidden = 32, .heads = 4, .kv_heads = 1, .ffn = 48, .vocab = 61, .seq = 16});
constexpr job work{.global_batch = 4, .micro_batch = 1};

// Multi-query attention whose keys are made and rotated on each rank's own positions, then gathered.
struct keys_from_shards {
  param<dims::hidden, dims::heads, dims::head_dim> query{"query"};
  param<dims::hidden, dims::kv_heads, dims::head_dim> key{"key"}, value{"value"};
  param<dims::heads, dims::head_dim, dims::hidden> output{"output"};

  constexpr auto forward(const auto& r, auto x) const {
    const auto h = to<R>(x, axes::tp);
    const auto projected = contract(dims::hidden, h, r[query]);
    const auto q = rotary(projected, 10000);
    const auto shard = contract(dims::hidden, x, r[key]);
    const auto k = to<R>(rotary(shard, 10000), axes::tp);
    const auto v = contract(dims::hidden, h, r[value]);
    const auto o = attention(q, k, v, 0);
    return to_layout_of(x, contract(over(dims::heads, dims::head_dim), o, r[output]));
  }
};

// Two more places with dropout in one block, and a bias that is computed.
struct computed_bias {
  double rate = 0;
  param<dims::hidden, dims::ffn> up{"up"};
  param<dims::ffn> seed{"seed"};
  param<dims::ffn, dims::hidden> down{"down"};

  constexpr auto forward(const auto& r, auto x) const {
    const auto h = to<R>(x, axes::tp);
    const auto wide = contract(dims::hidden, h, r[up]);
    const auto shift = gelu(r[seed]);
    const auto active = dropout(gelu(bias(wide, shift)), rate);
    return dropout(to_layout_of(x, contract(dims::ffn, active, r[down])), rate);
  }
};
struct dropped : computed_bias {
  constexpr explicit dropped(const model&) : computed_bias{0.3} {}
};

}  // namespace

TEST_CASE("rotary takes global positions from the layout of a split sequence") {
  using keys = stack<keys_from_shards, mlp>;
  const auto table = std::span(host_kinds::table<same_on_every_plan::rank::device>);
  const auto one = same_on_every_plan::run<keys>(sizes, work, {.precision = all_f64}, table);
  for (const int tp : {2, 4}) {
    const plan p{.tp = tp, .sequence_parallel = true, .precision = all_f64};
    same_on_every_plan::compare(one, same_on_every_plan::run<keys>(sizes, work, p, table));
  }
}

// A gain that is declared replicated and handed to a region where every rank of tp does the same work.
struct handed_gain {
  param<dims::hidden> gain{"gain", initial::normal};
  param<dims::hidden, dims::ffn> up{"up"};
  param<dims::ffn, dims::hidden> down{"down"};

  constexpr auto forward(const auto& r, auto x) const {
    const auto g = to<I>(r[gain], axes::tp);
    const auto scaled = rms_norm(dims::hidden, x, g, 1e-5);
    const auto h = to<R>(scaled, axes::tp);
    const auto wide = contract(dims::hidden, h, r[up]);
    return to_layout_of(x, contract(dims::ffn, relu(wide), r[down]));
  }
};
TEST_CASE("a replicated parameter handed to an invariant region has its gradient counted once") {
  using layers = stack<attention_layer, handed_gain>;
  const auto table = std::span(host_kinds::table<same_on_every_plan::rank::device>);
  const auto one = same_on_every_plan::run<layers>(sizes, work, {.precision = all_f64}, table);
  same_on_every_plan::compare(
      one, same_on_every_plan::run<layers>(sizes, work, {.dp = 2, .tp = 4, .precision = all_f64}, table));
}

TEST_CASE("every place of a block has a dropout mask of its own, the same on every plan") {
  same_on_every_plan::check<stack<attention_layer, dropped>>(sizes, work);
  const program p(sizes, work, {}, stack<attention_layer, dropped>(sizes, work));
  std::vector<std::int64_t> sites;
  const tracer& t = p.traced_block(block_kind::mlp);
  for (int i = 0; i < t.forward_records; ++i)
    if (t.records[i].op == &dropout_op::info) sites.push_back(t.records[i].n[2]);
  CHECK(sites == std::vector<std::int64_t>{0, 1});
}

TEST_CASE("the gradient of a computed bias is summed wide, then narrowed, in bf16") {
  using layers = stack<attention_layer, computed_bias>;
  const auto gradient = [](auto types, const precisions& kept) {
    const program p(sizes, work, {.precision = kept}, layers(sizes, work));
    std::vector<double> g(static_cast<std::size_t>(sizes.ffn));
    threads_world world(1);
    world.run([&](threads& comm) {
      rank<decltype(types), plain_gemm, threads> r(p, comm);
      r.accumulate(
          0, [](std::int64_t s, std::int64_t at) { return static_cast<std::int32_t>((s * 31 + at * 7) % 61); },
          [](std::int64_t s, std::int64_t at) { return static_cast<std::int32_t>((s * 31 + at * 7 + 7) % 61); });
      for_each_parameter(
          p, 0,
          [&](const parameter_entry&, std::int64_t flat, const std::string& name, std::int64_t index, std::int64_t) {
            if (name == "layers.0.mlp.seed") g[static_cast<std::size_t>(index)] = r.gradients()[flat];
          });
    });
    return g;
  };
  const auto exact = gradient(element_types<double, double, double, double>{}, all_f64);
  const auto narrow = gradient(element_types<bf16, float, float, float>{}, mixed_bf16);
  const double most = same_on_every_plan::largest(exact);
  REQUIRE(most > 0);
  for (std::size_t i = 0; i < exact.size(); ++i) CHECK(std::abs(exact[i] - narrow[i]) < 0.05 * most);
}

TEST_CASE("a rank refuses element types that are not those of the plan") {
  const program f32_one(sizes, work, {}, stack<attention_layer, mlp>(sizes, work));
  threads_world world(1);
  CHECK_THROWS_WITH(world.run([&](threads& comm) {
    rank<element_types<double, double, double, double>, plain_gemm, threads> r(f32_one, comm);
  }),
                    "rank 0 failed: the element types of this rank are not those of the plan's precision");
}
