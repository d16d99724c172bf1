// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Costs as constants, beside the same numbers worked out by hand.
#include <meshpar/meta/fits.hpp>
#include <meshpar/nn/decoder.hpp>
#include <meshpar/train/launch.hpp>

#include <doctest/doctest.h>

using namespace meshpar;

namespace {

constexpr model small = llama_like({.layers = 2, .hidden = 32, .heads = 4, .ffn = 64, .vocab = 64, .seq = 16});
constexpr job batch{.global_batch = 8, .micro_batch = 2};
constexpr plan four{.dp = 2, .tp = 2, .sequence_parallel = true};
using net = decoder<small, batch, four>;
constexpr step_cost cost = cost_of<net>;
constexpr axis_set all = axes::dp | axes::tp;

// Weights of one rank. Split over tp: two tables of 64 x 32, and per layer four projections of 32 x 32 and three of
// 32 x 64, halved. Whole: five gains of 32, padded to 32 on each of four ranks.
constexpr std::int64_t split_weights = (2 * 64 * 32 + 2 * (4 * 32 * 32 + 3 * 32 * 64)) / 2;
constexpr std::int64_t gains = 256;
static_assert(split_weights == 12288 && 5 * 32 <= gains && gains % (32 * 4) == 0 && gains - 5 * 32 < 32 * 4);
static_assert(cost.persistent == (split_weights + gains) * (4 + 4 + 4 + 4));

// A piece of the residual stream: 8 positions, 2 samples, 32 wide, in f32. The other half comes with each gather, the
// other rank's term of the own half with each reduce-scatter.
constexpr std::int64_t piece = 8 * 2 * 32 * 4;
static_assert(cost.forward.count(collective::all_gather, axes::tp) == 2 * 2 + 1);      // two a layer, the head
static_assert(cost.forward.count(collective::reduce_scatter, axes::tp) == 2 * 2 + 1);  // two a layer, the embedding
static_assert(cost.backward.count(collective::all_gather, axes::tp) == 5 + 5);  // duals; what was gathered, again
static_assert(cost.backward.count(collective::reduce_scatter, axes::tp) == 5);
// The rows' largest logit, and three sums of each row, over 32 rows.
static_assert(cost.forward.count(collective::all_reduce_max, axes::tp) == 1);
static_assert(cost.forward.count(collective::all_reduce, axes::tp) == 1);
static_assert(cost.forward.bytes(axes::tp) == 10 * piece + 32 * 4 + 3 * 32 * 4);
static_assert(cost.backward.bytes(axes::tp) == 15 * piece);
static_assert(cost.forward.bytes() == cost.forward.bytes(axes::tp));
static_assert(cost.backward.bytes() == cost.backward.bytes(axes::tp));

// Once a step: split weights over dp, gains over both axes (of four ranks: 3/4 of them, twice), and twice two totals.
static_assert(cost.finish.bytes(axes::dp) == split_weights * 4);
static_assert(cost.finish.count(collective::all_reduce, all) == 3);
static_assert(cost.finish.bytes(all) == 2 * gains * 3 / 4 * 4 + 2 * (4 * 8));
static_assert(cost.whole.bytes() == 2 * (cost.forward.bytes() + cost.backward.bytes()) + cost.finish.bytes());

// Half of each product's columns or depth, 32 tokens: four projections and three of the MLP a layer, and the logits.
constexpr std::int64_t projections = 4 * (2 * 32 * 32 * 16), three = 3 * (2 * 32 * 32 * 32), logits = 2 * 32 * 32 * 32;
constexpr std::int64_t scores = 2 * 16 * 16 * 2 * 2 * 8;  // two products of 2 flops over half of 16 x 16
static_assert(cost.forward.flops == 2 * (projections + three + scores) + logits);
static_assert(cost.backward.flops == 2 * (2 * (projections + three) + scores / 2 * 5) + 2 * logits);

// Memory beside the weights, in f32. Tables of angles: 16 positions of 8 cosines and sines. Boundaries: five, and two
// of gradients. Saved by attention: what the norm yields and its 16 statistics, q, k, v and the output for 2 heads of 8
// at 32 tokens, 64 logarithms; by the MLP: the same of its norm, gate, up, and their product of 32 at 32 tokens; by the
// head: the norm's again, logits of 32 at 32 tokens, 32 largest and 96 sums.
constexpr std::int64_t angles = 16 * 8 * 4, tokens = 2 * 32 * 4, scalars = 128;
constexpr std::int64_t normed = piece + 16 * 4;
constexpr std::int64_t attention_saves = normed + 4 * (32 * 16 * 4) + 64 * 4;
constexpr std::int64_t mlp_saves = normed + 3 * (32 * 32 * 4);
constexpr std::int64_t head_saves = normed + 32 * 32 * 4 + 32 * 4 + 96 * 4;
constexpr std::int64_t below = 2 * (attention_saves + mlp_saves) + head_saves;
constexpr std::int64_t scratch = kernels::attention_scratch_bytes<float>(8);  // exact: predicted_test counts it
static_assert(cost.height > cost.persistent + angles + 7 * piece + tokens + scalars + below + scratch);
static_assert(cost.peak_live < cost.height && cost.top <= cost.height && cost.height - cost.top < alignment);

// Live at most in the backward pass of the second layer's attention, at its core: at rest, and of the first layer all,
// of the second what attention saves; the three boundaries below and the gradient that came; the gradients of the
// gathered output and of attention's operands; scratch.
constexpr std::int64_t at_rest = cost.persistent + angles + tokens + scalars;
static_assert(cost.peak_live == at_rest + (attention_saves + mlp_saves) + attention_saves + 3 * piece + piece +
                                    4 * (32 * 16 * 4) + scratch);

// Two totals over eight ranks, twice: chunks of 1, 1, 0, ... A rank with one reads seven terms and gets the other
// chunk; the others get both. Nothing else goes over both axes: without sequence parallelism gains are the same work on
// all of tp.
constexpr plan eight{.dp = 2, .tp = 4};
constexpr std::int64_t bytes_of_totals(int rank) {
  program p(small, batch, eight, stack<>(small, batch));
  return price(p, rank).finish.bytes(all);
}
static_assert(bytes_of_totals(0) == 2 * (7 + 1) * 8);
static_assert(bytes_of_totals(1) == 2 * (7 + 1) * 8);
static_assert(bytes_of_totals(2) == 2 * 2 * 8);
static_assert(bytes_of_totals(7) == 2 * 2 * 8);

// Bytes that a rank keeps of a parameter between steps.
constexpr plan narrow{.dp = 2, .tp = 2, .sequence_parallel = true, .precision = mixed_bf16_grads};
constexpr plan mixed{.dp = 2, .tp = 2, .sequence_parallel = true, .precision = mixed_bf16};
static_assert(cost_of<decoder<small, batch, narrow>>.persistent == (split_weights + gains) * 16);
static_assert(cost_of<decoder<small, batch, mixed>>.persistent == (split_weights + gains) * 18);

static_assert(fits<net, h200>);

// Elements of the arena's regions at rest that initialisation and one step write: all of them, padding included, since
// every update goes over whole buckets.
template <class X>
std::int64_t written(const arena& memory, const region& r, std::int64_t elements) {
  unsigned char paint[sizeof(X)];
  std::memset(paint, arena::paint_byte, sizeof(X));
  std::int64_t n = 0;
  for (std::int64_t i = 0; i < elements; ++i)
    n += std::memcmp(memory.at(r.offset + i * static_cast<std::int64_t>(sizeof(X))), paint, sizeof(X)) != 0;
  return n * static_cast<std::int64_t>(sizeof(X));
}

int token(std::int64_t sample, std::int64_t position) { return static_cast<int>((sample * 5 + position * 3) % 64); }

template <class Types>
void check_bytes_at_rest(const plan& how, std::int64_t bytes_each) {
  const auto p = std::make_unique<program>(small, batch, how, stack<>(small, batch));
  const arena_plan& a = p->memory;
  std::int64_t logical = 0, at = 0;
  for (const parameter_entry& e : p->parameters) logical += e.count * e.copies;
  CHECK(logical == split_weights + 5 * 32);
  CHECK(p->elements() - logical == gains - 5 * 32);  // the padding, and no more
  // One region after the other, nothing between.
  for (const region& r : {a.parameters, a.gradients, a.master, a.moments[0], a.moments[1]}) {
    CHECK(r.offset == at);
    at += r.bytes;
  }
  CHECK(at == p->elements() * bytes_each);
  CHECK(at == price(*p).persistent);
  run_ranks<Types>(*p, [&](auto& r) {
    std::memset(r.memory().at(0), arena::paint_byte, static_cast<std::size_t>(at));
    r.set_parameters(
        [](const auto&, const std::string&, std::int64_t i) { return 0.01 * static_cast<double>(i % 7 - 3); });
    r.step(0, token, token, {});
    const std::int64_t n = p->elements();
    CHECK(written<typename Types::param>(r.memory(), a.parameters, n) +
              written<typename Types::grad>(r.memory(), a.gradients, n) +
              written<typename Types::master>(r.memory(), a.master, n) +
              written<typename Types::moments>(r.memory(), a.moments[0], n) +
              written<typename Types::moments>(r.memory(), a.moments[1], n) ==
          bytes_each * n);
  });
}

}  // namespace

TEST_CASE("a parameter takes 16 bytes at rest with gradients in bf16, and 18 with gradients in f32") {
  check_bytes_at_rest<element_types<bf16, bf16, float, float>>(narrow, 16);
  check_bytes_at_rest<element_types<bf16, float, float, float>>(mixed, 18);
}

TEST_CASE("the price at run time is the constant") {
  for (const bool sp : {false, true}) {
    const plan how{.dp = 2, .tp = 2, .sequence_parallel = sp};
    const auto p = std::make_unique<program>(small, batch, how, stack<>(small, batch));
    CHECK((price(*p) == cost) == sp);
  }
  const auto p = std::make_unique<program>(small, batch, narrow, stack<>(small, batch));
  CHECK(price(*p) == cost_of<decoder<small, batch, narrow>>);
}

TEST_CASE("memory fits where reserve and arena do, to the byte") {
  const cluster exact{.memory_bytes = cost.height + 5'000'000, .reserve_bytes = 5'000'000};
  const cluster short_by_one{.memory_bytes = cost.height + 4'999'999, .reserve_bytes = 5'000'000};
  CHECK(memory_fits(cost.height, exact).holds());
  CHECK(!memory_fits(cost.height, short_by_one).holds());
}
