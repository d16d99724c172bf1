// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums over ranks that reports found missing, doubled or averaged, by the ids of docs/silent_bugs.md, on the numbers of
// the reports. The wrong programs stand in tests/compile_fail/silent_states.cpp.
#include "silent_bugs/layers.hpp"

#include <doctest/doctest.h>

using namespace silent_bugs;

namespace {

// x times a matrix that no axis splits, in the state that x asks for.
struct own_weight {
  mp::param<dims::hidden, dims::head_dim> weight{"weight"};
  constexpr auto forward(const auto& r, auto x) const { return mp::contract(dims::hidden, x, r(weight, x)); }
};
// x times a matrix that tp splits by columns.
struct columns {
  mp::param<dims::hidden, dims::ffn> weight{"weight"};
  constexpr auto forward(const auto& r, auto x) const {
    return mp::contract(dims::hidden, mp::to<R>(x, axes::tp), r[weight]);
  }
};

}  // namespace

TEST_CASE("S01 a weight of every rank, on tokens of its own: 3 and 7 are terms of 10") {
  const given g{.x = {1, 2, 3, 4}, .weights = {{"weight", {1}}}, .dy = {1, 1, 1, 1}};
  const block one(context_for(1, 1, stream::same_work, {.seq = 4}), own_weight{});
  const mp::context own_tokens = context_for(1, 2, stream::own_tokens, {.seq = 4});
  const block two(own_tokens, own_weight{});
  CHECK(terms_of(one, g, "weight") == ranks{{10}});
  CHECK(terms_of(two, g, "weight") == ranks{{3}, {7}});
  CHECK(gradients_of(two, g, "weight") == ranks{{10}, {10}});
}

TEST_CASE("S01 where every rank does the same work nothing is summed") {
  const given g{.x = {1, 2, 3, 4}, .weights = {{"weight", {1}}}, .dy = {1, 1, 1, 1}};
  const mp::context same_work = context_for(1, 2, stream::same_work, {.seq = 4});
  const block two(same_work, own_weight{});
  CHECK(terms_of(two, g, "weight") == ranks{{10}, {10}});
  CHECK(gradients_of(two, g, "weight") == ranks{{10}, {10}});
}

TEST_CASE("S03 the input of split columns: 3 and 7 are terms of 10") {
  const given g{.x = {1}, .weights = {{"weight", {1, 2, 3, 4}}}, .dy = {1, 1, 1, 1}};
  const mp::context c = context_for(1, 2, stream::same_work, {.ffn = 4});
  const block two(c, columns{});
  CHECK(on_ranks(two, g, [](const runner& r) { return r.result_of("contract", mp::phase::input_grad); }) ==
        ranks{{3}, {7}});
  CHECK(input_grads(two, g) == ranks{{10}, {10}});
}

namespace {
// A vector that all heads share, made once a token, then used by the heads of each rank.
struct shared_key {
  mp::param<dims::hidden, dims::head_dim> narrow{"narrow"};
  mp::param<dims::head_dim, dims::ffn> fan{"fan"};
  constexpr auto forward(const auto& r, auto x) const {
    const auto key = mp::contract(dims::hidden, x, r(narrow, x));
    return mp::contract(dims::head_dim, mp::to<R>(key, axes::tp), r[fan]);
  }
};
}  // namespace

TEST_CASE("S06 a shared key: 3 and 4 make 7, without sequence parallelism and with it") {
  const given g{.x = {1, 1}, .weights = {{"narrow", {1}}, {"fan", {1, 1}}}, .dy = {3, 4, 0, 0}};
  const mp::context same_work = context_for(1, 2, stream::same_work, {.seq = 2, .ffn = 2});
  const mp::context own_tokens = context_for(1, 2, stream::own_tokens, {.seq = 2, .ffn = 2});
  const block plain(same_work, shared_key{}), sp(own_tokens, shared_key{});
  CHECK(input_grads(plain, g) == ranks{{7, 0}, {7, 0}});
  CHECK(input_grads(sp, g) == ranks{{7}, {0}});
  CHECK(gradients_of(plain, g, "narrow") == ranks{{7}, {7}});
  CHECK(gradients_of(sp, g, "narrow") == ranks{{7}, {7}});
  // The repair that doubled the sum in the other mode cannot be written: from R to R there is nothing to sum.
  mp::layout r = same_work.stream;
  r.invariant = {};
  CHECK(mp::typing::transition(r, r, same_work.ranks).kind == mp::typing::collective::none);
}

namespace {
// Rows that pass through split columns, and rows that bypass the residual stream's transition.
struct two_kinds_of_rows {
  mp::param<dims::hidden, dims::head_dim> compressed{"compressed"}, rotary{"rotary"};
  mp::param<dims::head_dim, dims::ffn> of_compressed{"of_compressed"}, of_rotary{"of_rotary"};
  constexpr auto forward(const auto& r, auto x) const {
    const auto c = mp::to<R>(mp::contract(dims::hidden, x, r(compressed, x)), axes::tp);
    const auto p = mp::contract(dims::hidden, mp::to<R>(x, axes::tp), r[rotary]);
    const auto left = mp::contract(dims::head_dim, c, r[of_compressed]);
    return mp::sum(left, mp::contract(dims::head_dim, p, r[of_rotary]));
  }
};
}  // namespace

TEST_CASE("S07 rows of one matrix in two states: each is summed once, [3, 7]") {
  const given g{.x = {1},
                .weights = {{"compressed", {1}}, {"rotary", {1}}, {"of_compressed", {1, 2}}, {"of_rotary", {3, 4}}},
                .dy = {1, 1}};
  const mp::context c = context_for(1, 2, stream::same_work, {.ffn = 2});
  const block two(c, two_kinds_of_rows{});
  CHECK(terms_of(two, g, "compressed") == ranks{{3}, {3}});
  CHECK(terms_of(two, g, "rotary") == ranks{{3}, {4}});
  CHECK(gradients_of(two, g, "compressed") == ranks{{3}, {3}});
  CHECK(gradients_of(two, g, "rotary") == ranks{{7}, {7}});
}

namespace {
struct multi_query {
  mp::param<dims::hidden, dims::heads, dims::head_dim> query{"query"};
  mp::param<dims::hidden, dims::kv_heads, dims::head_dim> key{"key"}, value{"value"};
  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::to<R>(x, axes::tp);
    const auto q = mp::contract(dims::hidden, h, r[query]);
    const auto k = mp::contract(dims::hidden, h, r[key]);
    const auto v = mp::contract(dims::hidden, h, r[value]);
    return mp::attention(q, k, v, 0);
  }
};
}  // namespace

TEST_CASE("S09 one value head for the query heads of two ranks: input and weight are built from 1 + 2") {
  const given g{.x = {1}, .weights = {{"query", {1, 1}}, {"key", {1}}, {"value", {1}}}, .dy = {1, 2}};
  const mp::context c = context_for(1, 2, stream::same_work, {.heads = 2});
  const block two(c, multi_query{});
  CHECK(terms_of(two, g, "value") == ranks{{1}, {2}});
  CHECK(gradients_of(two, g, "value") == ranks{{3}, {3}});
  CHECK(input_grads(two, g) == ranks{{3}, {3}});
}

namespace {
struct shifted {
  mp::param<dims::hidden, dims::head_dim> weight{"weight"};
  mp::param<dims::head_dim> shift{"shift"};
  constexpr auto forward(const auto& r, auto x) const {
    const auto y = mp::contract(dims::hidden, x, r(weight, x));
    return mp::bias(y, r(shift, y));
  }
};
}  // namespace

TEST_CASE("S10 a norm's bias is summed over tokens of all ranks, 10, and not averaged, 5") {
  const given g{.x = {0, 0, 0, 0}, .weights = {{"weight", {1}}, {"shift", {0}}}, .dy = {1, 2, 3, 4}};
  const mp::context c = context_for(1, 2, stream::own_tokens, {.seq = 4});
  const block two(c, shifted{});
  CHECK(terms_of(two, g, "shift") == ranks{{3}, {7}});
  CHECK(gradients_of(two, g, "shift") == ranks{{10}, {10}});
}

TEST_CASE("S34 four ranks that contribute 1 each make 4: there is a sum and a maximum, and no mean") {
  const given g{.x = {0, 0, 0, 0}, .weights = {{"weight", {1}}, {"shift", {0}}}, .dy = {1, 1, 1, 1}};
  const mp::context c = context_for(1, 4, stream::own_tokens, {.seq = 4});
  const block four(c, shifted{});
  CHECK(terms_of(four, g, "shift") == ranks{{1}, {1}, {1}, {1}});
  const auto of_four_ones = [](mp::reduction r) {  // a third member would be a warning here, hence an error
    switch (r) {
      case mp::reduction::sum: return 4.0;
      case mp::reduction::max: return 1.0;
    }
    return 0.0;
  };
  const double made = of_four_ones(mp::reduction::sum);
  CHECK(gradients_of(four, g, "shift") == ranks{{made}, {made}, {made}, {made}});
}

namespace {
// The second product of an MLP with a low-rank adapter beside it.
struct adapter {
  mp::param<dims::hidden, dims::ffn> up{"up"};
  mp::param<dims::ffn, dims::head_dim> first{"first"};
  mp::param<dims::head_dim, dims::hidden> second{"second"};
  constexpr auto forward(const auto& r, auto x) const {
    const auto u = mp::contract(dims::hidden, mp::to<R>(x, axes::tp), r[up]);
    const auto a = mp::contract(dims::ffn, u, r[first]);
    return mp::to_layout_of(x, mp::contract(dims::head_dim, a, r[second]));
  }
};
}  // namespace

TEST_CASE("S12 the second factor of an adapter: inputs 1 and 5 make 6 on both ranks") {
  const given g{.x = {1, 0}, .weights = {{"up", {1, 5}}, {"first", {1, 1}}, {"second", {1}}}, .dy = {1, 1}};
  for (const stream how : {stream::same_work, stream::own_tokens}) {
    const mp::context c = context_for(1, 2, how, {.seq = 2, .ffn = 2});
    const block two(c, adapter{});
    CHECK(terms_of(two, g, "second") == ranks{{1}, {5}});
    CHECK(gradients_of(two, g, "second") == ranks{{6}, {6}});
  }
}

namespace {
// A product that owes a sum, and beside it a branch that every rank has whole.
struct base_and_delta {
  mp::param<dims::hidden, dims::ffn> up{"up"};
  mp::param<dims::ffn, dims::hidden> down{"down"};
  mp::param<dims::hidden> delta{"delta"};
  constexpr auto forward(const auto& r, auto x) const {
    const auto u = mp::contract(dims::hidden, mp::to<R>(x, axes::tp), r[up]);
    const auto base = mp::to_layout_of(x, mp::contract(dims::ffn, u, r[down]));
    return mp::bias(base, r(delta, base));
  }
};
}  // namespace

TEST_CASE("S13 terms 1 and 2 and a branch of 10 make 13, not 23") {
  const given g{.x = {1}, .weights = {{"up", {1, 2}}, {"down", {1, 1}}, {"delta", {10}}}, .dy = {1}};
  const mp::context c = context_for(1, 2, stream::same_work, {.ffn = 2});
  const block two(c, base_and_delta{});
  CHECK(on_ranks(two, g, [](const runner& r) { return r.result_of("contract", mp::phase::forward, 1); }) ==
        ranks{{1}, {2}});
  CHECK(results(two, g) == ranks{{13}, {13}});
  CHECK(terms_of(two, g, "delta") == ranks{{1}, {1}});
}

namespace {
struct whole_layer {
  mp::param<dims::hidden, dims::head_dim> in{"in"};
  mp::param<dims::head_dim, dims::hidden> out{"out"};
  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::to<R>(x, axes::tp);
    return mp::to_layout_of(x, mp::contract(dims::head_dim, mp::contract(dims::hidden, h, r[in]), r[out]));
  }
};
}  // namespace

TEST_CASE("S15 a layer that every rank computes whole: 7 stays 7, and so does its gradient") {
  const given g{.x = {1}, .weights = {{"in", {7}}, {"out", {1}}}, .dy = {1}};
  const mp::context c = context_for(1, 2, stream::same_work, {});
  const block two(c, whole_layer{});
  CHECK(on_ranks(two, g, [](const runner& r) { return r.result_of("contract", mp::phase::forward, 1); }) ==
        ranks{{7}, {7}});
  CHECK(input_grads(two, g) == ranks{{7}, {7}});
  CHECK(terms_of(two, g, "out") == ranks{{7}, {0}});  // the work of both ranks counts once
  CHECK(gradients_of(two, g, "out") == ranks{{7}, {7}});
}

namespace {
// x w w: the derivative of w^2 d is 2 w d.
struct squared_weight {
  mp::param<dims::hidden, dims::head_dim> w{"w"};
  constexpr auto forward(const auto& r, auto x) const {
    const auto once = mp::contract(dims::hidden, x, r[w]);
    return mp::contract(dims::head_dim, once, r[w]);
  }
};
}  // namespace

TEST_CASE("S24 a loss over two ranks is seeded with 1: their gradients are 0 and 2, not 0 and 4") {
  const given g{.x = {0, 1}, .weights = {{"w", {1}}}, .dy = {1, 1}};
  const mp::context c = context_for(2, 1, stream::same_work, {.batch = 2});
  const block two(c, squared_weight{});
  CHECK(terms_of(two, g, "w") == ranks{{0}, {2}});
  CHECK(gradients_of(two, g, "w") == ranks{{2}, {2}});
}

TEST_CASE("S25 2x on one rank and 3x on the other: the gradient is 5") {
  const given g{.x = {1}, .weights = {{"weight", {2, 3}}}, .dy = {1, 1}};
  const mp::context c = context_for(1, 2, stream::same_work, {.ffn = 2});
  const block two(c, columns{});
  CHECK(input_grads(two, g) == ranks{{5}, {5}});
}

TEST_CASE("S40 three micro-batches of 2, with the divisor 2 in each seed, make 3, not 1.75") {
  const mp::context c = context_for(1, 1, stream::same_work, {});
  const block one(c, own_weight{});
  const given g{.x = {2}, .weights = {{"weight", {1}}}, .dy = {1.0 / 2}};
  numbers sum;
  block_runner::run(one, g, [&](runner& r) {
    r.run(g);
    r.run(g);
    sum = r.weight_grad("weight");
  });
  CHECK(sum == numbers{3});
}
