// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/meta/cost.hpp>
#include <meshpar/nn/program.hpp>
#include <meshpar/nn/stack.hpp>

#include <doctest/doctest.h>

#include <cstdio>
#include <string_view>

// A program is a constant: what a plan communicates, in which groups gradients are summed, and what is saved are read
// off its records here, at compile time.
namespace {
using namespace meshpar;
using typing::collective;

constexpr model sizes{.layers = 3, .hidden = 32, .heads = 8, .kv_heads = 2, .ffn = 64, .vocab = 61, .seq = 16};
constexpr model gpt2 = gpt2_like(sizes), llama = llama_like(sizes);
constexpr job batch{.global_batch = 8, .micro_batch = 2};

constexpr stack<> gpt2_layers(gpt2, batch), llama_layers(llama, batch);
constexpr program alone(gpt2, batch, {}, gpt2_layers);
constexpr program data(gpt2, batch, {.dp = 4}, gpt2_layers);
constexpr program tensor2(gpt2, batch, {.tp = 2}, gpt2_layers);
constexpr program eight(llama, batch, {.dp = 2, .tp = 4}, llama_layers);
constexpr program eight_sp(llama, batch, {.dp = 2, .tp = 4, .sequence_parallel = true}, llama_layers);

constexpr axis_set tp = whole_axis(axes::tp);

// Records of a collective over exactly these axes (those of extent above 1), in one part of a block.
constexpr int count(const program& p, block_kind k, phase when, collective kind, axis_set along) {
  int n = 0;
  for (const record& r : p.traced_block(k).records)
    n += r.op == &to_op::info && (r.when == phase::forward) == (when == phase::forward) &&
         r.n[0] == static_cast<int>(kind) && r.along == (along & p.where.ranks.all());
  return n;
}
constexpr int count_layer(const program& p, phase when, collective kind, axis_set along) {
  return count(p, block_kind::attention, when, kind, along) + count(p, block_kind::mlp, when, kind, along);
}
constexpr int communications(const program& p) {
  int n = 0;
  for (const tracer& t : p.blocks)
    for (const record& r : t.records) n += r.op == &to_op::info && communicates(static_cast<collective>(r.n[0]));
  return n;
}
constexpr auto forward = phase::forward, backward = phase::input_grad;

// One rank, and data parallelism: no block communicates. The step ends with one reduction of the gradients, beside that
// of the totals.
static_assert(!alone.refused() && communications(alone) == 0 && alone.reductions.size() == 0);
static_assert(!data.refused() && communications(data) == 0 && data.reductions.size() == 1);
static_assert(data.reductions[0].along == axis_set(axes::dp) && data.reductions[0].count == data.elements());

// TPA-01: four all-reduces in a layer, two forward and two backward, and nothing else.
static_assert(count_layer(tensor2, forward, collective::all_reduce, tp) == 2);
static_assert(count_layer(tensor2, backward, collective::all_reduce, tp) == 2);
static_assert(count_layer(eight, forward, collective::all_reduce, tp) == 2);
static_assert(count_layer(eight, backward, collective::all_reduce, tp) == 2);
// The ends: the embedding owes a sum; the head's input gradient does too, and the loss sums its statistics.
static_assert(count(tensor2, block_kind::first, forward, collective::all_reduce, tp) == 1);
static_assert(count(tensor2, block_kind::first, backward, collective::all_reduce, tp) == 0);
static_assert(count(tensor2, block_kind::last, forward, collective::all_reduce, tp) == 1);
static_assert(count(tensor2, block_kind::last, forward, collective::all_reduce_max, tp) == 1);
static_assert(count(tensor2, block_kind::last, backward, collective::all_reduce, tp) == 1);
static_assert(communications(tensor2) == 4 + 1 + 3);

// Sequence parallelism: each all-reduce becomes a gather and a scatter; the gathered input of each block is gathered
// again in the backward pass, since its shard is what is saved (SPX-04).
static_assert(count_layer(eight_sp, forward, collective::all_gather, tp) == 2);
static_assert(count_layer(eight_sp, forward, collective::reduce_scatter, tp) == 2);
static_assert(count_layer(eight_sp, backward, collective::all_gather, tp) == 2 + 2);
static_assert(count_layer(eight_sp, backward, collective::reduce_scatter, tp) == 2);
static_assert(count_layer(eight_sp, forward, collective::all_reduce, tp) == 0);
static_assert(count_layer(eight_sp, backward, collective::all_reduce, tp) == 0);

// What reaches a rank along some axes in one layer, by the records of the blocks.
constexpr std::int64_t bytes_of_layer(const program& p, axis_set along) {
  part_cost c;
  for (const block_kind k : {block_kind::attention, block_kind::mlp})
    c.add(price_records(p.traced_block(k), 0, p.traced_block(k).records.size(), 0));
  return c.bytes(along & p.where.ranks.all());
}
// SPX-04: as many bytes on the activation path; with the gathers again, 10 half volumes for 8.
static_assert(bytes_of_layer(eight, tp) * 10 == bytes_of_layer(eight_sp, tp) * 8);
// An all-reduce of the residual stream, [seq, batch, hidden] in f32, is 2 (t - 1) / t of it.
static_assert(bytes_of_layer(tensor2, tp) == 4 * (16 * 2 * 32 * 4) * 2 / 2);

// A program as a whole is a constant: its price, its arena, the depth of each region.
static_assert(price(alone).whole.bytes() == 0 && price(data).whole.bytes(axes::dp) > 0);
static_assert(eight_sp.memory.height > 0 && eight_sp.memory.saved.bytes < eight.memory.saved.bytes);

// ---- gradient groups

constexpr bool is(const char* a, std::string_view b) { return std::string_view(a) == b; }

struct placement {
  axis_set sync, split;
  constexpr bool operator==(const placement&) const = default;
};
// The bucket of a parameter, by its scope and name.
constexpr placement bucket_of(const program& p, std::string_view scope, std::string_view name) {
  for (const parameter_entry& e : p.parameters)
    if (is(p.declared(e).scope, scope) && is(p.declared(e).name, name))
      return {p.buckets[e.bucket].sync, p.buckets[e.bucket].split};
  return {axis_set{0xffff}, {}};
}
constexpr axis_set dp = axes::dp, kv_rep = axes::kv_rep, major = axes::tp;

// Weights that tp splits are summed over dp only; KV weights also over their copies; what every rank of tp computes
// alike (I) is not summed over it, and what it computes of its own tokens (R, under sequence parallelism) is.
static_assert(bucket_of(eight, "mlp", "up") == placement{dp, tp});
static_assert(bucket_of(eight, "attention", "key") == placement{dp | kv_rep, major});
static_assert(bucket_of(eight, "attention", "query") == placement{dp, tp});
static_assert(bucket_of(eight, "mlp.norm", "gain") == placement{dp, {}});
static_assert(bucket_of(eight_sp, "mlp.norm", "gain") == placement{dp | tp, {}});
static_assert(bucket_of(eight_sp, "mlp", "down") == placement{dp, tp});
static_assert(bucket_of(eight_sp, "attention", "value") == placement{dp | kv_rep, major});
static_assert(bucket_of(eight, "", "embedding") == placement{dp, tp} &&
              bucket_of(eight, "", "head") == placement{dp, tp});
static_assert(bucket_of(tensor2, "attention", "output_bias") == placement{{}, {}});

// Tied embeddings are one parameter, in the place of the first block's.
constexpr int named(const program& p, std::string_view name) {
  int n = 0;
  for (const parameter_entry& e : p.parameters) n += is(p.declared(e).name, name);
  return n;
}
static_assert(named(alone, "embedding") == 1 && named(alone, "head") == 0 && named(eight, "head") == 1);

// ---- limits

// Every combination of what a model can say fits the fixed sizes of a trace, with a third to spare for a user's layers.
TEST_CASE("the limits of a trace are far enough") {
  int values = 0, records = 0, parameters = 0, entries = 0, buckets = 0, sent = 0;
  const auto widen = [](int& most, int n) { most = n > most ? n : most; };
  for (int bits = 0; bits < 1 << 8; ++bits)
    for (int act = 0; act < 3; ++act) {
      const auto bit = [bits](int i) { return (bits >> i & 1) != 0; };
      model m = sizes;
      m.norm = bit(0) ? norm_kind::rms : norm_kind::layer;
      m.positions = bit(1) ? position_kind::rotary : position_kind::learned;
      m.activation = static_cast<activation_kind>(act);
      m.bias = bit(2), m.qk_norm = bit(3), m.tied_embeddings = bit(4), m.dropout = bit(5) ? 0.1 : 0;
      plan p{.dp = 2, .tp = 4, .sequence_parallel = bit(6)};
      p.precision = bit(7) ? mixed_bf16_grads : all_f32;
      const program traced(m, batch, p, stack<>(m, batch));
      REQUIRE(!traced.refused());
      for (const tracer& t : traced.blocks) {
        widen(values, t.values.size());
        widen(records, t.records.size());
        widen(parameters, t.parameters.size());
      }
      widen(entries, traced.parameters.size());
      widen(buckets, traced.buckets.size());
      widen(sent, price(traced).whole.sent.size());
    }
  std::printf(
      "most of a block: %d values of %d, %d records of %d, %d parameters of %d; of a model: %d parameters of %d, "
      "%d buckets of %d, %d kinds of traffic of %d\n",
      values, tracer::value_limit, records, tracer::record_limit, parameters, tracer::parameter_limit, entries,
      decltype(program::parameters)::capacity, buckets, decltype(program::buckets)::capacity, sent,
      decltype(part_cost::sent)::capacity);
  CHECK(values * 3 <= tracer::value_limit * 2);
  CHECK(records * 3 <= tracer::record_limit * 2);
  CHECK(parameters * 3 <= tracer::parameter_limit * 2);
  CHECK(entries * 3 <= decltype(program::parameters)::capacity * 2);
  CHECK(buckets * 3 <= decltype(program::buckets)::capacity * 2);
  CHECK(sent * 3 <= decltype(part_cost::sent)::capacity * 2);
}

void check_same(const program& constant, const stack<>& layers) {
  const program again(constant.what, constant.task, constant.how, layers);
  CHECK(again.memory.height == constant.memory.height);
  REQUIRE(again.parameters.size() == constant.parameters.size());
  for (int i = 0; i < again.parameters.size(); ++i) CHECK(again.parameters[i].first == constant.parameters[i].first);
  for (int k = 0; k < block_kinds; ++k) {
    const auto &a = again.blocks[k].records, &b = constant.blocks[k].records;
    REQUIRE(a.size() == b.size());
    for (int i = 0; i < a.size(); ++i) CHECK((a[i].op == b[i].op && a[i].in == b[i].in && a[i].out == b[i].out));
  }
}

// No layer may leave the order of its records to the order in which a compiler takes arguments.
TEST_CASE("a program traced at run time is the constant, value by value") {
  for (const program* p : {&alone, &data, &tensor2}) check_same(*p, gpt2_layers);
  for (const program* p : {&eight, &eight_sp}) check_same(*p, llama_layers);
}

struct long_layer {
  constexpr auto forward(const auto&, auto x) const {
    auto y = x;
    for (int i = 0; i < 120; ++i) y = relu(y);
    return y;
  }
};
struct long_backward {
  constexpr auto forward(const auto&, auto x) const {
    auto y = x;
    for (int i = 0; i < 75; ++i) y = sum(y, relu(y));
    return y;
  }
};
TEST_CASE("a layer that is too long for a trace is refused in words") {
  const program a(llama, batch, {}, stack<attention_layer, long_layer>(llama, batch));
  REQUIRE(a.refused());
  CHECK(a.refusal().broken == rule::block_fits_the_trace);
  CHECK(std::string_view(a.refusal().why.c_str()) ==
        "one block makes more than 144 values, its backward pass included; make two layers of it");
  const program b(llama, batch, {.tp = 2}, stack<attention_layer, long_backward>(llama, batch));
  CHECK(b.refusal().broken == rule::block_fits_the_trace);
}

struct named_twice {
  param<dims::hidden, dims::ffn> up{"weight"};
  param<dims::ffn, dims::hidden> down{"weight"};
  constexpr auto forward(const auto& r, auto x) const {
    const auto h = to<R>(x, axes::tp);
    const auto wide = contract(dims::hidden, h, r[up]);
    return to_layout_of(x, contract(dims::ffn, wide, r[down]));
  }
};
struct used_twice {
  param<dims::hidden, dims::ffn> up{"up"};
  param<dims::ffn, dims::hidden> down{"down"};
  constexpr auto forward(const auto& r, auto x) const {
    const auto h = to<R>(x, axes::tp);
    const auto a = contract(dims::hidden, h, r[up]);
    const auto b = contract(dims::hidden, h, r[up]);
    return to_layout_of(x, contract(dims::ffn, sum(a, relu(b)), r[down]));
  }
};
TEST_CASE("two parameters of a layer need two names; one may be used twice") {
  const program a(llama, batch, {}, stack<attention_layer, named_twice>(llama, batch));
  REQUIRE(a.refused());
  CHECK(a.refusal().broken == rule::parameter_named_twice);
  CHECK(std::string_view(a.refusal().why.c_str()) ==
        "two parameters of one layer are named 'weight'; give each a name of its own");
  const program b(llama, batch, {.tp = 2}, stack<attention_layer, used_twice>(llama, batch));
  CHECK(!b.refused());
  CHECK(b.traced_block(block_kind::mlp).parameters.size() == 3);  // up, down, the norm's gain
}

}  // namespace
