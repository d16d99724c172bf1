// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whole steps against one rank, by the ids of docs/silent_bugs.md: the loss and its divisor, what is counted, what is
// read. The wrong programs stand in tests/compile_fail/silent_loss.cpp.
#include "silent_bugs/one_step.hpp"

#include <doctest/doctest.h>

using namespace silent_bugs;
namespace axes = mp::axes;
namespace dims = mp::dims;

namespace {

constexpr mp::model gpt = mp::gpt2_like({.layers = 1, .hidden = 8, .heads = 4, .ffn = 8, .vocab = 4, .seq = 4});
constexpr mp::model llama =
    mp::llama_like({.layers = 1, .hidden = 8, .heads = 4, .kv_heads = 2, .ffn = 8, .vocab = 4, .seq = 4});
constexpr mp::job four_samples{.global_batch = 4};
constexpr mp::plan one{};
constexpr mp::plan tp2{.tp = 2};
constexpr mp::plan tp2_sp{.tp = 2, .sequence_parallel = true};
constexpr mp::plan tp4_sp{.tp = 4, .sequence_parallel = true};
constexpr mp::plan dp2_tp2_sp{.dp = 2, .tp = 2, .sequence_parallel = true};
constexpr mp::plan several[] = {tp2, tp2_sp, tp4_sp, dp2_tp2_sp};

// A model of which every token has the logits that a report gives: the residual stream is 1 everywhere, blocks add
// nothing, and each of the `hidden` rows of the head holds a share of every logit.
given_step with_logits(const mp::model& m, std::vector<double> logits, std::int32_t label) {
  given_step g;
  g.ids = [](auto, auto) { return 0; };
  g.labels = [label](auto, auto) { return label; };
  g.weights = [=](const std::string& name, std::int64_t index) {
    if (name == "embedding" || name == "final_norm.gain") return 1.0;
    if (name != "head") return 0.0;
    return logits[static_cast<std::size_t>(index % m.vocab)] / m.hidden;
  };
  return g;
}
double loss_of(std::vector<double> logits, double smoothing, const mp::plan& how) {
  mp::model m = mp::llama_like({.layers = 1, .hidden = 8, .heads = 4, .ffn = 4, .vocab = 4, .seq = 4});
  m.vocab = static_cast<int>(logits.size());
  m.norm_eps = 1e-30;
  const mp::job j{.global_batch = 1, .label_smoothing = smoothing};
  return run_step(m, j, how, with_logits(m, logits, 3)).loss;
}
}  // namespace

TEST_CASE("S04 every gradient is that of one rank, with each form of tensor parallelism") {
  for (const mp::model& m : {gpt, llama}) {
    const given_step g;
    const done_step expected = run_step(m, four_samples, one, g);
    for (const mp::plan& p : several) {
      CAPTURE(p.dp);
      CAPTURE(p.tp);
      CHECK(difference(expected.grads, run_step(m, four_samples, p, g).grads) < 1e-10);
    }
  }
}

TEST_CASE("S18 logits 0 1 2 3, label 3: the loss is 0.4402 on every plan, and not more by log 2") {
  for (const mp::plan& p : {one, tp2, tp2_sp, tp4_sp})
    CHECK(loss_of({0, 1, 2, 3}, 0, p) == doctest::Approx(0.4402).epsilon(1e-4));
}

TEST_CASE("S19 with smoothing 0.1 it is 0.5902, not 0.6902 or 0.4902") {
  for (const mp::plan& p : {one, tp2, tp2_sp, tp4_sp})
    CHECK(loss_of({0, 1, 2, 3}, 0.1, p) == doctest::Approx(0.5902).epsilon(1e-4));
}

TEST_CASE("S79 the largest logits of two ranks are 1 and 8: both subtract 8") {
  const double expected = loss_of({1, 0, 8, 0}, 0, one), e = std::exp(1.0);
  CHECK(expected == doctest::Approx(std::log(e + 1 + std::exp(8.0) + 1)));
  CHECK(loss_of({1, 0, 8, 0}, 0, tp2) == doctest::Approx(expected).epsilon(1e-14));
  CHECK(loss_of({1, 0, 800, 0}, 0, tp2) == doctest::Approx(800));  // exp(800) is infinite
}

TEST_CASE("S55 a vocabulary of 10 on 4 ranks is stored as 12: two rows have no mass, and are not the model's") {
  const mp::model ten = mp::llama_like({.layers = 1, .hidden = 8, .heads = 4, .ffn = 4, .vocab = 10, .seq = 4});
  CHECK(mp::padded_vocab(ten, tp4_sp) == 12);
  CHECK(loss_of(std::vector<double>(10, 0.0), 0, tp4_sp) == doctest::Approx(std::log(10.0)).epsilon(1e-12));
  const done_step padded =
      run_step(ten, {.global_batch = 1}, tp4_sp, with_logits(ten, std::vector<double>(10, 0.0), 3));
  CHECK(padded.grads.at("head").size() == 8u * 10u);
  CHECK(difference(run_step(ten, {.global_batch = 1}, one, with_logits(ten, std::vector<double>(10, 0.0), 3)).grads,
                   padded.grads) < 1e-10);
}

namespace {
// The decoder's loss and a second one, of each rank's own tokens where the sequence is split.
struct two_losses {
  mp::head_layer head;
  mp::param<dims::hidden, dims::positions> second{"second"};
  constexpr auto forward(const auto& r, auto x, auto labels) const {
    const auto logits = mp::contract(dims::hidden, x, r(second, x));
    const auto own_labels = mp::split(labels, dims::seq, axes::tp);
    const auto aside = mp::to<mp::I>(mp::cross_entropy(logits, own_labels, 0), axes::tp);
    return mp::sum(head.forward(r, x, labels), aside);
  }
};
struct two_headed {
  mp::stack<> body;
  two_losses last;
  static constexpr mp::own_dims own{};
  constexpr two_headed(const mp::model& m, const mp::job& j) : body(m, j), last{mp::head_layer(m, j.label_smoothing)} {}
  constexpr void trace(mp::tracer& t, mp::block_kind kind) const {
    if (kind == mp::block_kind::last) return mp::trace_last(t, last);
    body.trace(t, kind);
  }
};
}  // namespace

TEST_CASE("S30 the gradients of two losses have one scale on every plan") {
  const given_step g;
  const done_step expected = run_step<two_headed>(llama, four_samples, one, g);
  CHECK(largest(expected.grads.at("second")) > 1e-3);
  for (const mp::plan& p : {tp2_sp, tp4_sp, dp2_tp2_sp})
    CHECK(difference(expected.grads, run_step<two_headed>(llama, four_samples, p, g).grads) < 1e-10);
}

TEST_CASE("S31 one label in the whole batch: its gradient does not depend on which rank has it") {
  for (const std::int64_t sample : {0, 3})
    for (const std::int64_t position : {0, 1, 3}) {
      given_step g;
      g.labels = [=](auto s, auto at) { return s == sample && at == position ? 1 : -1; };
      const done_step expected = run_step(llama, four_samples, one, g);
      for (const mp::plan& p : several)
        CHECK(difference(expected.grads, run_step(llama, four_samples, p, g).grads) < 1e-10);
    }
}

TEST_CASE("S31 ranks divide by one count, though only the first has labels") {
  given_step g;
  g.labels = [](auto sample, auto) { return sample % 2 == 0 ? 1 : -1; };
  const done_step expected = run_step(llama, four_samples, one, g);
  for (const mp::plan& p : {mp::plan{.dp = 2}, dp2_tp2_sp}) {
    const done_step found = run_step(llama, four_samples, p, g);
    CHECK(found.loss == doctest::Approx(expected.loss).epsilon(1e-12));
    CHECK(difference(expected.grads, found.grads) < 1e-10);
  }
}

TEST_CASE("S31 a batch without a label is refused, by all ranks") {
  given_step g;
  g.labels = [](auto, auto) { return -1; };
  for (const mp::plan& p : {one, dp2_tp2_sp})
    CHECK_THROWS_WITH(run_step(llama, four_samples, p, g), doctest::Contains("step 0: no token has a label"));
}

TEST_CASE("S33 ten labels are ten on every plan: tokens without a label count nothing, copies count once") {
  given_step g;
  g.labels = [](auto sample, auto position) { return sample * 4 + position < 10 ? 2 : -1; };
  const done_step expected = run_step(llama, four_samples, one, g);
  for (const mp::plan& p : several) {
    const done_step found = run_step(llama, four_samples, p, g);
    CHECK(found.loss == doctest::Approx(expected.loss).epsilon(1e-12));
    CHECK(difference(expected.grads, found.grads) < 1e-10);
  }
}

TEST_CASE("S39 the divisor is in the seed: the gradient of four labels is the mean of those of each") {
  const auto only = [](std::int64_t sample) {
    given_step g;
    g.labels = [=](auto s, auto at) { return at == 1 && (sample < 0 || s == sample) ? 1 : -1; };
    return g;
  };
  for (const mp::plan& p : {one, dp2_tp2_sp})
    for (const int micro_batch : {1, 2}) {
      const mp::job j{.global_batch = 4, .micro_batch = micro_batch};
      gradients sum = run_step(llama, j, p, only(0)).grads;
      for (int sample = 1; sample < 4; ++sample)
        for (const auto& [name, g] : run_step(llama, j, p, only(sample)).grads)
          for (std::size_t i = 0; i < g.size(); ++i) sum[name][i] += g[i];
      CHECK(difference(run_step(llama, j, p, only(-1)).grads, sum, 1.0 / 4) < 1e-12);
    }
}

TEST_CASE("S40 micro-batches add up: four of one sample, two of two and one of four give one gradient") {
  const given_step g;
  const done_step expected = run_step(llama, {.global_batch = 4, .micro_batch = 4}, one, g);
  for (const int micro_batch : {1, 2})
    CHECK(difference(expected.grads, run_step(llama, {.global_batch = 4, .micro_batch = micro_batch}, one, g).grads) <
          1e-10);
}

TEST_CASE("S76 ranks of tp read the same samples, ranks of dp others") {
  using samples = std::set<std::int64_t>;
  const mp::job eight{.global_batch = 8, .micro_batch = 2};
  const samples all{0, 1, 2, 3, 4, 5, 6, 7};
  CHECK(run_step(llama, eight, tp2, {}).samples == std::vector<samples>{all, all});
  const std::vector<samples> read = run_step(llama, eight, {.dp = 2, .tp = 2}, {}).samples;
  CHECK(read[0] == read[1]);
  CHECK(read[2] == read[3]);
  samples both = read[0];
  both.insert(read[2].begin(), read[2].end());
  CHECK(both == all);
  CHECK((read[0].size() == 4 && read[2].size() == 4));
}
