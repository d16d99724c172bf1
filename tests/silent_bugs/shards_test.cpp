// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Positions, masks, orders and sizes of what a rank holds, by the ids of docs/silent_bugs.md, on the numbers of the
// reports. The wrong programs stand in tests/compile_fail/silent_states.cpp and silent_sizes.cpp.
#include <meshpar/config/plan.hpp>
#include <meshpar/layout/fused.hpp>
#include <meshpar/nn/context_of.hpp>

#include "silent_bugs/layers.hpp"

#include <doctest/doctest.h>

using namespace silent_bugs;

namespace {
// A weight cut over tp, then over dp, and put together again.
struct cut_twice {
  mp::param<dims::hidden, dims::ffn> up{"up"};
  mp::param<dims::ffn, dims::hidden> down{"down"};
  constexpr auto forward(const auto& r, auto x) const {
    const auto piece = mp::split(r[down], dims::ffn, axes::dp);
    const auto whole = mp::to<R>(mp::to<R>(piece, axes::dp), axes::tp);
    const auto u = mp::contract(dims::hidden, mp::to<R>(x, axes::tp), r[up]);
    return mp::to_layout_of(x, mp::contract(dims::ffn, mp::to<R>(u, axes::tp), whole));
  }
};
}  // namespace

TEST_CASE("S27 cut over tp, then dp: gathered it is 0 1 2 3, not 0 2 1 3") {
  const given g{.x = {1, 1}, .weights = {{"up", {1, 1, 1, 1}}, {"down", {0, 1, 2, 3}}}, .dy = {1, 1}};
  const mp::context c = context_for(2, 2, stream::same_work, {.batch = 2, .ffn = 4});
  const block four(c, cut_twice{});
  REQUIRE(!four.trace.refused());
  const auto nth_to = [&](int n) {
    return on_ranks(four, g, [n](const runner& r) { return r.result_of("to", mp::phase::forward, n); });
  };
  CHECK(nth_to(0) == ranks{{0}, {2}, {1}, {3}});  // ranks (dp, tp) = 00, 01, 10, 11
  CHECK(nth_to(2) == ranks{{0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}});
  CHECK(gradients_of(four, g, "down") == ranks{{2, 2}, {2, 2}, {2, 2}, {2, 2}});
}

TEST_CASE("S52 two KV heads on four ranks: one for each, two copies of both") {
  constexpr mp::model m{.hidden = 8, .heads = 4, .kv_heads = 2, .ffn = 8, .vocab = 8, .seq = 4};
  constexpr mp::plan tp4{.tp = 4};
  static_assert(mp::kv_replicas(m, tp4) == 2);
  const mp::context c = mp::context_of(m, {.global_batch = 1}, tp4);
  const mp::layout key = mp::parameter_layout(c, {dims::hidden, dims::kv_heads, dims::head_dim}, {}).out;
  CHECK(key.dims[1].local == 1);
  for (int rank = 0; rank < 4; ++rank) CHECK(mp::global_index(key.dims[1], c.ranks, rank, 0) == rank / 2);
  CHECK(mp::dual(key, c.ranks).owed == axes::kv_rep);  // and the copies' gradients are owed
}

TEST_CASE("S54 a fused gate and up is cut within each, not through the stored rows") {
  const mp::mesh two{mp::extent{axes::tp, 2}};
  const mp::split_dim four = mp::make_dim(dims::ffn, 4, two, axes::tp);
  const mp::fused gate_up(four, four);
  CHECK(gate_up.local() == 4);
  for (int rank = 0; rank < 2; ++rank)
    for (int row = 0; row < 4; ++row)
      CHECK(mp::row_of(gate_up, two, rank, row) == mp::fused_row{row / 2, 2 * rank + row % 2});
  CHECK(mp::typing::place("ffn", 3, axes::tp, two).no.broken == mp::rule::split_does_not_divide);
}

namespace {
struct positions {
  mp::param<dims::hidden, dims::head_dim> weight{"weight"};
  mp::param<dims::positions, dims::head_dim> table{"table"};
  constexpr auto forward(const auto& r, auto x) const {
    const auto y = mp::contract(dims::hidden, x, r(weight, x));
    return mp::learned_positions(y, r(table, y));
  }
};
}  // namespace

TEST_CASE("S64 positions are global: the second rank's tokens stand at 2 and 3, not at 0 and 1") {
  const given g{.x = {0, 0, 0, 0}, .weights = {{"weight", {1}}, {"table", {0, 1, 2, 3}}}, .dy = {1, 2, 3, 4}};
  const mp::context own_tokens = context_for(1, 2, stream::own_tokens, {.seq = 4});
  const block two(own_tokens, positions{});
  CHECK(results(two, g) == ranks{{0, 1}, {2, 3}});
  CHECK(gradients_of(two, g, "table") == ranks{{1, 2, 3, 4}, {1, 2, 3, 4}});
}

namespace {
struct masked {
  constexpr auto forward(const auto&, auto x) const { return mp::dropout(x, 0.5); }
};
struct masked_columns {
  mp::param<dims::hidden, dims::ffn> weight{"weight"};
  constexpr auto forward(const auto& r, auto x) const {
    return mp::dropout(mp::contract(dims::hidden, mp::to<R>(x, axes::tp), r[weight]), 0.5);
  }
};
constexpr sizes of_masks{.seq = 8, .hidden = 8, .ffn = 64};
const given all_ones{.x = numbers(64, 1), .weights = {{"weight", numbers(512, 1)}}, .dy = numbers(512, 1)};

template <class Layer>
ranks masks(int tp, stream how) {
  const mp::context c = context_for(1, tp, how, of_masks);
  return results(block(c, Layer{}), all_ones);
}
// The columns [first, first + width) of a matrix of 8 rows.
numbers columns_of(const numbers& m, std::size_t first, std::size_t width) {
  numbers some;
  for (std::size_t row = 0; row < 8; ++row)
    for (std::size_t i = 0; i < width; ++i) some.push_back(m[row * (m.size() / 8) + first + i]);
  return some;
}
}  // namespace

TEST_CASE("S78 dropout: ranks with tokens of their own have masks of their own, parts of the whole sequence's") {
  const numbers whole = masks<masked>(1, stream::same_work)[0];
  const numbers first(whole.begin(), whole.begin() + 32), second(whole.begin() + 32, whole.end());
  REQUIRE(first != second);
  CHECK(masks<masked>(2, stream::own_tokens) == ranks{first, second});
}

TEST_CASE("S78 dropout: ranks that do the same work have one mask") {
  const numbers whole = masks<masked>(1, stream::same_work)[0];
  CHECK(masks<masked>(2, stream::same_work) == ranks{whole, whole});
}

TEST_CASE("S78 dropout: ranks with features of their own have masks of their own") {
  const numbers whole = masks<masked_columns>(1, stream::same_work)[0];
  const numbers first = columns_of(whole, 0, 32), second = columns_of(whole, 32, 32);
  REQUIRE(first != second);
  CHECK(masks<masked_columns>(2, stream::same_work) == ranks{first, second});
}
