// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tensor parallelism of an MLP on the numbers of the worked example, by the ids of its figures.
#include "seed/article_mlp.hpp"

#include <doctest/doctest.h>

using namespace article;
using block_runner::on_ranks;
using block_runner::runner;
using mp::phase;
using ranks = std::vector<numbers>;

namespace {

// X A alone: under row_split its result is P over tp.
struct first_product {
  decltype(mlp::a) a = mlp{}.a;
  constexpr auto forward(const auto& r, auto x) const { return mp::contract(dims::hidden, x, r[a]); }
};
struct summed_product : first_product {
  constexpr auto forward(const auto& r, auto x) const { return mp::to<mp::R>(first_product::forward(r, x), axes::tp); }
};
// [1, 4] -> Y B
struct second_product {
  decltype(mlp::b) b = mlp{}.b;
  constexpr auto forward(const auto& r, auto y) const { return mp::contract(dims::ffn, y, r[b]); }
};

const given& example = numbers_of_the_example;
given forward_only(numbers dy) { return {example.x, example.weights, std::move(dy)}; }
const given zero_grad = forward_only({0, 0, 0, 0});

const block& one() {
  static const block b(one_rank, mlp{});
  return b;
}
const block& two() {
  static const block b(column_split, mlp{});
  return b;
}
// The n-th contraction, activation, ... of a pass.
ranks forward(const block& b, const char* kind, int n = 0) {
  return on_ranks(b, example, [&](const runner& r) { return r.result_of(kind, phase::forward, n); });
}
ranks backward(const block& b, const char* kind, int n = 0) {
  return on_ranks(b, example, [&](const runner& r) { return r.result_of(kind, phase::input_grad, n); });
}
ranks weight_grads(const block& b, const char* name) {
  return on_ranks(b, example, [&](const runner& r) { return r.weight_grad(name); });
}
ranks partials() {
  static const block b(row_split, first_product{});
  return on_ranks(b, zero_grad, [](const runner& r) { return r.result(); });
}

mp::typing::collective kind_of(const mp::record& r) { return static_cast<mp::typing::collective>(r.n[0]); }

}  // namespace

TEST_CASE("TPM-01 X A on one rank") { CHECK(forward(one(), "contract") == ranks{{1, 2, 1, 0}}); }
TEST_CASE("TPM-02 ReLU(X A)") { CHECK(forward(one(), "activation") == ranks{{1, 2, 1, 0}}); }
TEST_CASE("TPM-03 Z = ReLU(X A) B") {
  CHECK(on_ranks(one(), example, [](const runner& r) { return r.result(); }) == ranks{{2, 3}});
}

TEST_CASE("TPM-04 rows of A split: the first rank's partial product") { CHECK(partials()[0] == numbers{1, 0, -1, 2}); }
TEST_CASE("TPM-05 rows of A split: the second rank's partial product") { CHECK(partials()[1] == numbers{0, 2, 2, -2}); }
TEST_CASE("TPM-06 the sum of the partial products is X A") {
  const block b(row_split, summed_product{});
  REQUIRE(!b.trace.refused());
  CHECK(on_ranks(b, zero_grad, [](const runner& r) { return r.result(); }) == ranks{{1, 2, 1, 0}, {1, 2, 1, 0}});
}

namespace {
numbers sum_of_relus() {
  numbers sum(4, 0.0);
  for (const numbers& p : partials())
    for (std::size_t i = 0; i < 4; ++i) sum[i] += mp::kernels::relu::value(p[i]);
  return sum;
}
}  // namespace
TEST_CASE("TPM-07 ReLU of each partial product is wrong, and refused") {
  CHECK(sum_of_relus() == numbers{1, 2, 2, 2});
  const block b(row_split, mlp_of_split_x{});
  CHECK(b.trace.refusal.broken == mp::rule::partial_sum_in_a_nonlinearity);
}
TEST_CASE("TPM-08 the wrong Y carried through B") {
  mp::context c = one_rank;
  c.stream.dims[2] = mp::make_dim(dims::ffn, 4, c.ranks);
  const block b(c, second_product{});
  REQUIRE(!b.trace.refused());
  const auto z = [&](const numbers& y) {
    return on_ranks(b, {y, example.weights, {0, 0}}, [](const runner& r) { return r.result(); })[0];
  };
  CHECK(z(sum_of_relus()) == numbers{7, 2});
  CHECK(z({1, 2, 1, 0}) == numbers{2, 3});
}

TEST_CASE("TPM-09 columns of A split: the first rank") {
  CHECK(forward(two(), "contract")[0] == numbers{1, 2});
  CHECK(forward(two(), "activation")[0] == numbers{1, 2});
}
TEST_CASE("TPM-10 columns of A split: the second rank") {
  CHECK(forward(two(), "contract")[1] == numbers{1, 0});
  CHECK(forward(two(), "activation")[1] == numbers{1, 0});
}
TEST_CASE("TPM-11 rows of B split: the first rank") { CHECK(forward(two(), "contract", 1)[0] == numbers{1, 2}); }
TEST_CASE("TPM-12 rows of B split: the second rank") { CHECK(forward(two(), "contract", 1)[1] == numbers{1, 1}); }
TEST_CASE("TPM-13 one all-reduce gives Z on both ranks") {
  CHECK(on_ranks(two(), example, [](const runner& r) { return r.result(); }) == ranks{{2, 3}, {2, 3}});
  int calls = 0;
  for (int i = 0; i < two().trace.forward_records; ++i)
    calls += two().trace.records[i].op == &mp::to_op::info &&
             kind_of(two().trace.records[i]) == mp::typing::collective::all_reduce;
  CHECK(calls == 1);
}

TEST_CASE("TPM-14 gradient through B") { CHECK(backward(two(), "contract") == ranks{{1, 1}, {2, 1}}); }
TEST_CASE("TPM-15 gradient through ReLU, whose slope at 0 is 0") {
  CHECK(backward(two(), "activation_grad") == ranks{{1, 1}, {2, 0}});
}
TEST_CASE("TPM-16 gradient through A: a partial sum on each rank") {
  CHECK(backward(two(), "contract", 1) == ranks{{1, 1}, {-2, 2}});
}
TEST_CASE("TPM-17 one all-reduce gives dL/dX on both ranks") {
  CHECK(on_ranks(two(), example, [](const runner& r) { return r.input_grad(); }) == ranks{{-1, 3}, {-1, 3}});
}
TEST_CASE("TPM-18 it is the unsplit gradient") {
  CHECK(on_ranks(one(), example, [](const runner& r) { return r.input_grad(); }) == ranks{{-1, 3}});
}

TEST_CASE("TPM-19 weight gradients need no communication over tp") {
  CHECK(weight_grads(two(), "A") == ranks{{1, 1, 2, 2}, {2, 0, 4, 0}});
  CHECK(weight_grads(two(), "B") == ranks{{1, 1, 2, 2}, {1, 1, 0, 0}});
  CHECK(weight_grads(one(), "A") == ranks{{1, 1, 2, 0, 2, 2, 4, 0}});
  CHECK(weight_grads(one(), "B") == ranks{{1, 1, 2, 2, 1, 1, 0, 0}});
  for (const mp::parameter& p : two().trace.parameters)
    CHECK(two().trace.shape(p.id).replicated(column_split.ranks).empty());
}

TEST_CASE("TPM-20 f: nothing forward, all-reduce backward; g: all-reduce forward, nothing backward") {
  const auto moves = [](phase when) {
    std::vector<mp::typing::collective> all;
    for (const mp::record& r : two().trace.records)
      if (r.op == &mp::to_op::info && r.when == when) all.push_back(kind_of(r));
    return all;
  };
  using mp::typing::collective;
  CHECK(moves(phase::forward) == std::vector{collective::none, collective::all_reduce});     // f, g
  CHECK(moves(phase::input_grad) == std::vector{collective::none, collective::all_reduce});  // g*, f*
}

TEST_CASE("TPM-21 each rank stores half of A and half of B") {
  for (const mp::parameter& p : two().trace.parameters) CHECK(two().trace.count(p.id) == 4);
  for (const mp::parameter& p : one().trace.parameters) CHECK(one().trace.count(p.id) == 8);
}
