// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The loss that a step reports, of heads that users write: the gradients are right whatever is reported, so that
// nothing else would show a mistake.
#include "silent_bugs/one_step.hpp"

#include <doctest/doctest.h>

using namespace silent_bugs;
namespace axes = mp::axes;
namespace dims = mp::dims;

namespace {

constexpr mp::model llama =
    mp::llama_like({.layers = 1, .hidden = 8, .heads = 4, .kv_heads = 2, .ffn = 8, .vocab = 7, .seq = 4});
constexpr mp::job four_samples{.global_batch = 4};
constexpr mp::plan one{};
constexpr mp::plan dp2{.dp = 2};
constexpr mp::plan tp2_sp{.tp = 2, .sequence_parallel = true};
constexpr mp::plan tp4{.tp = 4};
constexpr mp::plan dp2_tp2_sp{.dp = 2, .tp = 2, .sequence_parallel = true};

struct of_the_model {
  mp::head_layer head;
  constexpr auto forward(const auto& r, auto x, auto labels) const { return head.forward(r, x, labels); }
};
// A second loss, of each rank's own tokens where the sequence is split. (Every label is below 4.)
struct of_the_stream {
  mp::param<dims::hidden, dims::positions> second{"second"};
  constexpr explicit of_the_stream(const mp::head_layer&) {}
  constexpr auto forward(const auto& r, auto x, auto labels) const {
    const auto logits = mp::contract(dims::hidden, x, r(second, x));
    const auto own_labels = mp::split(labels, dims::seq, axes::tp);
    return mp::to<mp::I>(mp::cross_entropy(logits, own_labels, 0.0), axes::tp);
  }
};
struct both {
  of_the_model first;
  of_the_stream second;
  constexpr explicit both(const mp::head_layer& head) : first{head}, second(head) {}
  constexpr auto forward(const auto& r, auto x, auto labels) const {
    const auto loss = first.forward(r, x, labels);
    return mp::sum(loss, second.forward(r, x, labels));
  }
};
struct moved {
  mp::head_layer head;
  constexpr auto forward(const auto& r, auto x, auto labels) const {
    return mp::to<mp::I>(head.forward(r, x, labels), axes::dp);
  }
};
template <class Head>
struct with_head {
  mp::stack<> body;
  Head last;
  static constexpr mp::own_dims own{};
  constexpr with_head(const mp::model& m, const mp::job& j) : body(m, j), last{mp::head_layer(m, j.label_smoothing)} {}
  constexpr void trace(mp::tracer& t, mp::block_kind kind) const {
    if (kind == mp::block_kind::last) return mp::trace_last(t, last);
    body.trace(t, kind);
  }
};

// The loss that each rank reports of a step, which is the same, and by evaluate().
template <class Head, class Types = doubles>
double loss_of(mp::plan how, const mp::job& j = four_samples) {
  how.precision = std::is_same_v<Types, doubles> ? mp::all_f64 : mp::all_f32;
  const mp::program p(llama, j, how, with_head<Head>(llama, j));
  REQUIRE_MESSAGE(!p.refused(), p.refusal().why.s);
  std::vector<double> reported(static_cast<std::size_t>(mp::world_size(how))), evaluated = reported;
  mp::run_ranks<Types>(p, [&](auto& r) {
    const auto token = [](auto sample, auto position) { return static_cast<std::int32_t>((sample + position) % 4); };
    double sum = 0;
    for (int i = 0; i < mp::micro_batches(j, how); ++i) sum += r.evaluate(i, token, token);
    const auto at = static_cast<std::size_t>(r.number());
    evaluated[at] = r.sum_of_losses(sum) / (1.0 * j.global_batch * llama.seq);
    reported[at] = r.step(0, token, token, {}).loss;
  });
  for (const double loss : reported) CHECK(loss == reported[0]);
  for (const double loss : evaluated) CHECK(loss == reported[0]);
  return reported[0];
}
using floats = mp::element_types<float, float, float, float>;
using doctest::Approx;

}  // namespace

TEST_CASE("the loss of a head that adds two is their sum, on every plan, over any number of micro-batches") {
  const double sum = loss_of<of_the_model>(one) + loss_of<of_the_stream>(one);
  REQUIRE(sum > 1);
  for (const mp::plan& p : {one, tp2_sp, dp2_tp2_sp})
    for (const int micro_batch : {1, 2}) {
      CHECK(loss_of<both>(p, {.global_batch = 4, .micro_batch = micro_batch}) == Approx(sum).epsilon(1e-12));
      CHECK(loss_of<both, floats>(p, {.global_batch = 4, .micro_batch = micro_batch}) == Approx(sum).epsilon(1e-5));
    }
}

TEST_CASE("the loss of a head that sums it over dp is the same, and is not counted again there") {
  const double sum = loss_of<of_the_model>(one);
  for (const mp::plan& p : {one, dp2, tp2_sp, dp2_tp2_sp}) {
    CHECK(loss_of<moved>(p) == Approx(sum).epsilon(1e-12));
    CHECK(loss_of<moved, floats>(p) == Approx(sum).epsilon(1e-5));
  }
}

TEST_CASE("S55 a head names no size: the padding of a vocabulary of 7 on 4 ranks takes no part") {
  CHECK(mp::padded_vocab(llama, tp4) == 8);
  CHECK(loss_of<of_the_model>(tp4) == Approx(loss_of<of_the_model>(one)).epsilon(1e-12));
  const mp::job smooth{.global_batch = 4, .label_smoothing = 0.1};
  CHECK(loss_of<of_the_model>(tp4, smooth) == Approx(loss_of<of_the_model>(one, smooth)).epsilon(1e-12));
}

TEST_CASE("a smoothing of 1 and more is refused: a size that stands in its place would be one") {
  for (const double smoothing : {-0.1, 1.0, 7.0}) {
    const mp::job j{.global_batch = 4, .label_smoothing = smoothing};
    const mp::program p(llama, j, one, with_head<of_the_model>(llama, j));
    CHECK(p.refusal().broken == mp::rule::values_in_range);
    CHECK(p.refusal().why == "cross_entropy: label smoothing is a share of the target, at least 0 and below 1");
  }
}

namespace {
struct own_loss_op {  // of the elements' type; the seed, and the sum over micro-batches, are in f64
  static constexpr mp::operation info{.name = "own_loss"};
  static constexpr mp::judged rule(const mp::layout& x, const mp::mesh& m) {
    return {mp::with_owed({}, axes::dp, m), mp::typing::nonlinear(x, "own_loss").no};
  }
  constexpr int emit(mp::tracer& t, int line, const mp::layout& out, int x) const {
    const int loss = t.make(out, t.values[x].type);
    t.add({.op = &info, .in = mp::values_of(x), .out = mp::values_of(loss)}, line);
    return loss;
  }
};
struct own_loss {
  mp::head_layer unused;
  constexpr auto forward(const auto&, auto x, auto) const { return mp::apply(own_loss_op{}, 0, x); }
};
}  // namespace

TEST_CASE("a loss in f32 is refused") {
  const mp::program p(llama, four_samples, dp2, with_head<own_loss>(llama, four_samples));
  CHECK(p.refusal().broken == mp::rule::precision_is_supported);
  CHECK(p.refusal().why == "a head returns its loss in f64, whatever the plan's precision");
}
