// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An axis of a user's own is one number from 10 to 14 and its extent in a mesh.
#include <meshpar/layout/print.hpp>

#include "seed/article_mlp.hpp"

#include <doctest/doctest.h>

using namespace article;
using block_runner::on_ranks;
using block_runner::runner;

inline constexpr mp::named_axis<10> pods;

namespace {

// The MLP of the worked example on a batch of three samples, split over pods, the columns of A over tp.
constexpr mp::context context_on(int pod_count, int tp) {
  mp::context c = context_for(1, dims::ffn);
  c.ranks = mp::mesh{mp::extent{pods, pod_count}, mp::extent{axes::tp, tp}};
  c.placement.clear();
  c.placement.push_back({dims::hidden, 2, 2, {}});
  c.placement.push_back({dims::ffn, 4, 4, axes::tp & c.ranks.all()});
  c.stream = mp::with_invariant(
      mp::make_layout(mp::make_dim(dims::seq, 1, c.ranks), mp::make_dim(dims::batch, 3, c.ranks, pods),
                      mp::make_dim(dims::hidden, 2, c.ranks)),
      axes::tp, c.ranks);
  return c;
}
constexpr mp::context alone = context_on(1, 1), six = context_on(3, 2);
const given three_samples{
    .x = {1, 2, -3, 1, 2, -5}, .weights = numbers_of_the_example.weights, .dy = {1, 1, -1, 2, 0.5, 3}};

// Everything about a layer's run, put together from its ranks: the result and its input's gradient by global index, the
// gradients of weights summed over the ranks where a weight is replicated.
struct whole {
  numbers result, input_grad, a, b;
  bool operator==(const whole&) const = default;
};
numbers place(const block& b, int id, const std::vector<numbers>& parts, bool add) {
  const mp::layout& l = b.trace.shape(id);
  const mp::mesh& m = b.trace.plan.ranks;
  std::size_t count = 1;
  for (int i = 0; i < l.dims.size(); ++i) count *= static_cast<std::size_t>(l.global_size(i, m));
  numbers all(count, 0.0);
  for (int rank = 0; rank < m.size(); ++rank)
    for (std::size_t i = 0; i < parts[static_cast<std::size_t>(rank)].size(); ++i) {
      double& here = all[static_cast<std::size_t>(mp::global_index(l, m, rank, static_cast<std::int64_t>(i)))];
      here = (add ? here : 0) + parts[static_cast<std::size_t>(rank)][i];
    }
  return all;
}
template <class Layer>
whole run_whole(const mp::context& c, const Layer& layer) {
  const block b(c, layer);
  REQUIRE_MESSAGE(!b.trace.refused(), b.trace.refusal.why.s);
  const auto weight = [&](const char* name, int index) {
    return place(b, b.trace.parameters[index].grad,
                 on_ranks(b, three_samples, [&](const runner& r) { return r.weight_grad(name); }), true);
  };
  return {place(b, b.only(mp::space::output), on_ranks(b, three_samples, [](const runner& r) { return r.result(); }),
                false),
          place(b, b.only(mp::space::input), on_ranks(b, three_samples, [](const runner& r) { return r.input_grad(); }),
                false),
          weight("A", 0), weight("B", 1)};
}

// The batch gathered over the user's axis, computed whole, and scattered again.
struct gathered_mlp : mlp {
  constexpr auto forward(const auto& r, auto x) const {
    const auto all = mp::to<mp::R>(x, pods);
    return mp::split(mlp::forward(r, all), dims::batch, pods);
  }
};

}  // namespace

TEST_CASE("a split over the user's axis gives what one rank gives") {
  CHECK(run_whole(six, mlp{}) == run_whole(alone, mlp{}));
}
TEST_CASE("so do collectives along it") {
  CHECK(run_whole(six, gathered_mlp{}).result == run_whole(alone, mlp{}).result);
  CHECK(run_whole(six, gathered_mlp{}) == run_whole(alone, mlp{}));
}
TEST_CASE("weights are replicated over it, so their gradients are summed there") {
  const block b(six, mlp{});
  for (const mp::parameter& p : b.trace.parameters)
    CHECK(b.trace.shape(p.id).replicated(six.ranks) == mp::axis_set(pods));
}
TEST_CASE("layouts print it") { CHECK(mp::name_of(six.stream) == "[seq 1, batch 1/axis 10, hidden 2] I(tp)"); }
