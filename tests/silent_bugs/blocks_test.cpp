// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks whose result, or the gradient of whose input, is another name for a value that is there already.
#include "silent_bugs/layers.hpp"
#include "silent_bugs/one_step.hpp"

#include <doctest/doctest.h>

using namespace silent_bugs;

namespace {

// Without sequence parallelism the last step, from R to I, is free.
struct whole_layer {
  mp::param<dims::hidden, dims::head_dim> in{"in"};
  mp::param<dims::head_dim, dims::hidden> out{"out"};
  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::to<R>(x, axes::tp);
    return mp::to_layout_of(x, mp::contract(dims::head_dim, mp::contract(dims::hidden, h, r[in]), r[out]));
  }
};
struct hands_on_its_input {
  constexpr auto forward(const auto&, auto x) const { return x; }
};
struct renames_its_input {
  constexpr auto forward(const auto&, auto x) const { return mp::to_layout_of(x, mp::to<R>(x, axes::tp)); }
};

// The layer as a block of its own: no residual sum makes a new value of its result.
template <class Layer>
struct without_residual {
  mp::stack<> body;
  Layer layer{};
  static constexpr mp::own_dims own{};
  constexpr without_residual(const mp::model& m, const mp::job& j) : body(m, j) {}
  constexpr void trace(mp::tracer& t, mp::block_kind kind) const {
    if (kind == mp::block_kind::mlp) return mp::trace_middle(t, layer);
    body.trace(t, kind);
  }
};
constexpr mp::model llama =
    mp::llama_like({.layers = 2, .hidden = 8, .heads = 4, .kv_heads = 2, .ffn = 8, .vocab = 4, .seq = 4});
constexpr mp::job four_samples{.global_batch = 4};
constexpr mp::plan plans[] = {{}, {.tp = 2}, {.tp = 4, .sequence_parallel = true}, {.dp = 2, .tp = 2}};

void check_alike(const done_step& expected, const done_step& found) {
  CHECK(found.loss == doctest::Approx(expected.loss).epsilon(1e-12));
  CHECK(difference(expected.grads, found.grads) < 1e-10);
}

}  // namespace

TEST_CASE("a block whose result is another name for a product has that product at its end") {
  const given g{.x = {2}, .weights = {{"in", {7}}, {"out", {3}}}, .dy = {5}};
  const block two(context_for(1, 2, stream::same_work, {}), whole_layer{});
  CHECK(results(two, g) == ranks{{42}, {42}});
  CHECK(input_grads(two, g) == ranks{{105}, {105}});
  const done_step expected = run_step<without_residual<whole_layer>>(llama, four_samples, {}, {});
  for (const mp::plan& p : plans)
    check_alike(expected, run_step<without_residual<whole_layer>>(llama, four_samples, p, {}));
}

TEST_CASE("a block that hands on its input copies it, and its gradient: as an MLP that adds nothing") {
  const given g{.x = {2}, .weights = {}, .dy = {5}};
  const block two(context_for(1, 2, stream::same_work, {}), hands_on_its_input{});
  CHECK(results(two, g) == ranks{{2}, {2}});
  CHECK(input_grads(two, g) == ranks{{5}, {5}});
  const given_step nothing_added{.weights = [](const std::string& name, std::int64_t i) {
    return name.ends_with("mlp.down") ? 0 : mp::kernels::normal(1, mp::kernels::name_hash(name.c_str()), i);
  }};
  done_step expected = run_step(llama, four_samples, {}, nothing_added);
  std::erase_if(expected.grads, [](const auto& of) { return of.first.find(".mlp.") != std::string::npos; });
  for (const mp::plan& p : plans) {
    check_alike(expected, run_step<without_residual<hands_on_its_input>>(llama, four_samples, p, nothing_added));
    check_alike(expected, run_step<without_residual<renames_its_input>>(llama, four_samples, p, nothing_added));
  }
}
