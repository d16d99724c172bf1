// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Activation memory and traffic of tensor parallelism with and without sequence parallelism, by the ids of the worked
// example's figures. All bytes are those of one layer on one rank, activations in bf16, without attention scores
// (Korthikanti et al. 2022, arXiv 2205.05198, section 4).
#include <meshpar/meta/cost.hpp>
#include <meshpar/rules/catalogue.hpp>
#include <meshpar/train/launch.hpp>
#include <meshpar/typing/norm.hpp>

#include <doctest/doctest.h>

namespace mp = meshpar;
namespace axes = mp::axes;
namespace dims = mp::dims;

namespace {

// GPT-3's layer; only interpreted, never run.
constexpr mp::model gpt3 = mp::gpt2_like(
    {.layers = 1, .hidden = 12288, .heads = 96, .ffn = 4 * 12288, .vocab = 51200, .seq = 2048, .dropout = 0.1});
constexpr mp::job one_sample{.global_batch = 1};
constexpr std::int64_t t = 8, s = gpt3.seq, b = one_sample.micro_batch, h = gpt3.hidden, a = gpt3.heads;
constexpr mp::plan tp{.tp = t, .precision = mp::mixed_bf16};
constexpr mp::plan tp_sp{.tp = t, .sequence_parallel = true, .precision = mp::mixed_bf16};

// The article's figures, in bytes: 10 + 24/t and 34/t times sbh.
constexpr std::int64_t article_tp = 10 * s * b * h + 24 * s * b * h / t;
constexpr std::int64_t article_tp_sp = 34 * s * b * h / t;

// What a layer keeps from forward to backward: what its two blocks save, and their inputs.
std::int64_t kept_by_a_layer(const mp::plan& plan) {
  const mp::program p(gpt3, one_sample, plan, mp::stack<>(gpt3, one_sample));
  REQUIRE(!p.refused());
  return mp::kept(p.traced_block(mp::block_kind::attention)) + mp::kept(p.traced_block(mp::block_kind::mlp));
}

// Where we differ. The article keeps a mask, a byte an element, of each of the two residual dropouts; ours are computed
// again. It counts no statistics; we keep mean and deviation of each row of two norms, and the logarithm of the
// softmax's sum for each row of each head, in f32. `split` is how many ranks share the tokens of norms and dropouts.
constexpr std::int64_t masks(std::int64_t split) { return 2 * s * b * h / split; }
constexpr std::int64_t statistics(std::int64_t split) { return 2 * 2 * 4 * s * b / split + 4 * a * s * b / t; }

}  // namespace

TEST_CASE("SPX-01 tp 8 without sequence parallelism: 13 sbh") {
  static_assert(article_tp == 13 * s * b * h);
  CHECK(kept_by_a_layer(tp) - statistics(1) + masks(1) == article_tp);
}

TEST_CASE("SPX-02 tp 8 with sequence parallelism: 4.25 sbh") {
  static_assert(4 * article_tp_sp == 17 * s * b * h);
  CHECK(kept_by_a_layer(tp_sp) - statistics(t) + masks(t) == article_tp_sp);
}

TEST_CASE("SPX-03 sequence parallelism saves about a factor of 3") {
  constexpr double article = static_cast<double>(article_tp) / static_cast<double>(article_tp_sp);
  static_assert(article > 3.0588 && article < 3.0589);
  const double ours = static_cast<double>(kept_by_a_layer(tp)) / static_cast<double>(kept_by_a_layer(tp_sp));
  CHECK(ours == doctest::Approx(11.0 / 4.0).epsilon(0.002));  // without masks: (10 - 2 + 24/t) : (34 - 2)/t
}

namespace {

// Bytes over tp of a layer: of its records, and as a run's communicator counts what it receives.
struct layer_bytes {
  std::int64_t forward, backward, again;  // `again`: shards gathered a second time, for weight gradients
};
layer_bytes planned(const mp::model& m, const mp::plan& plan) {
  const mp::program p(m, one_sample, plan, mp::stack<>(m, one_sample));
  layer_bytes bytes{};
  for (const mp::block_kind k : {mp::block_kind::attention, mp::block_kind::mlp}) {
    const mp::tracer& block = p.traced_block(k);
    bytes.forward += mp::price_records(block, 0, block.forward_records, 0).bytes();
    bytes.backward += mp::price_records(block, block.forward_records, block.records.size(), 0).bytes();
    for (int i = block.forward_records; i < block.records.size(); ++i) {
      const mp::record& r = block.records[i];
      const bool gathers =
          r.op == &mp::to_op::info && static_cast<mp::typing::collective>(r.n[0]) == mp::typing::collective::all_gather;
      // A gather in backward is either the dual of a reduce-scatter, of a gradient, or a forward value's again.
      if (gathers && block.values[r.in[0]].made_by < block.forward_records)
        bytes.again += mp::price_records(block, i, i + 1, 0).bytes();
    }
  }
  return bytes;
}

long counted(mp::model m, const mp::plan& plan, int layers) {
  m.layers = layers;
  const mp::program p(m, one_sample, plan, mp::stack<>(m, one_sample));
  long bytes = 0;
  mp::run_ranks<mp::element_types<double, double, double, double>>(p, [&](auto& rank) {
    const mp::group all = rank.calls().group_along(axes::tp);
    const long before = rank.comm().received(all);
    rank.accumulate(0, [](auto, auto) { return 1; }, [](auto, auto) { return 2; });
    if (rank.number() == 0) bytes = rank.comm().received(all) - before;
  });
  return bytes;
}

}  // namespace

TEST_CASE("SPX-04 the same bytes on the wire forward and backward, but for what is gathered again") {
  constexpr mp::model m = mp::gpt2_like({.layers = 1, .hidden = 32, .heads = 4, .ffn = 64, .vocab = 48, .seq = 8});
  constexpr mp::plan plain{.tp = 2, .precision = mp::all_f64};
  constexpr mp::plan sp{.tp = 2, .sequence_parallel = true, .precision = mp::all_f64};
  const layer_bytes without = planned(m, plain), with = planned(m, sp);
  CHECK(without.forward == 2 * 2 * (2 - 1) * m.seq * m.hidden * 8 / 2);  // two all-reduces of sbh elements
  CHECK(with.forward == without.forward);
  CHECK(with.backward - with.again == without.backward);
  CHECK(without.again == 0);
  CHECK(4 * (with.forward + with.backward) == 5 * (without.forward + without.backward));  // 10 halves : 8 halves
  CHECK(counted(m, plain, 3) - counted(m, plain, 2) == without.forward + without.backward);
  CHECK(counted(m, sp, 3) - counted(m, sp, 2) == with.forward + with.backward);
}

TEST_CASE("SPX-05 the degree of sequence parallelism is that of tensor parallelism") {
  for (const int degree : {2, 4, 8}) {
    const mp::context c = mp::context_of(gpt3, one_sample, {.tp = degree, .sequence_parallel = true});
    CHECK(c.stream.dims[0].by.axes() == c.find(dims::ffn)->by);
    CHECK(c.stream.dims[0].local * degree == s);
  }
  constexpr mp::verdict alone = mp::sequence_parallel_needs_tp(gpt3, one_sample, {.sequence_parallel = true});
  static_assert(alone.broken == mp::rule::sequence_parallel_needs_tp);
}

namespace {
constexpr mp::rule norm_of_hidden(mp::axis_set by) {
  const mp::mesh two{mp::extent{axes::tp, 2}};
  const mp::layout x = mp::make_layout(mp::make_dim(dims::seq, 8, two), mp::make_dim(dims::hidden, 32, two, by));
  const mp::layout gain = mp::make_layout(mp::make_dim(dims::hidden, 32, two, by));
  return mp::typing::norm(x, gain, gain, dims::hidden).no.broken;
}
}  // namespace

TEST_CASE("SPX-06 a norm over a hidden dim that is split is refused") {
  static_assert(norm_of_hidden(axes::tp) == mp::rule::dimension_must_be_whole);
  static_assert(norm_of_hidden({}) == mp::rule::none);
}
