// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/train/generate.hpp>
#include <meshpar/train/launch.hpp>
#include <meshpar/train/trainer.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <mutex>

using namespace meshpar;

namespace {
constexpr model small = llama_like({.layers = 1, .hidden = 16, .heads = 2, .ffn = 32, .vocab = 64, .seq = 16});
constexpr job four{.global_batch = 4, .micro_batch = 1};
using types = element_types<double, double, double, double>;

text_data counting_text() {
  std::vector<std::int32_t> tokens;
  for (int i = 0; i < 4000; ++i) tokens.push_back(i * i % 61);
  return text_data(tokens);
}

// What every rank of a plan returns from f(rank), in the order of ranks.
template <class F>
auto on_ranks(const plan& p, F f) {
  const program made(small, four, p, stack<>(small, four));
  std::vector<decltype(f(std::declval<rank<types, plain_gemm, threads>&>()))> results(
      static_cast<std::size_t>(made.where.ranks.size()));
  run_ranks<types>(made, [&](auto& r) { results[static_cast<std::size_t>(r.number())] = f(r); });
  return results;
}
constexpr plan alone{.precision = all_f64};
constexpr plan sharded{.dp = 2, .tp = 2, .sequence_parallel = true, .precision = all_f64};
}  // namespace

TEST_CASE("the learning rate rises to its peak, then falls along a cosine to a tenth") {
  const train_settings s{.steps = 100, .warmup = 10, .learning_rate = 2};
  CHECK(learning_rate_at(s, 1) == doctest::Approx(0.2));
  CHECK(learning_rate_at(s, 10) == doctest::Approx(2));
  CHECK(learning_rate_at(s, 55) == doctest::Approx(2 * 0.55));
  CHECK(learning_rate_at(s, 100) == doctest::Approx(0.2));
  CHECK(learning_rate_at(s, 500) == doctest::Approx(0.2));
}

TEST_CASE("training lowers the loss of text that it does not read, alike on one rank and on four") {
  const text_data data = counting_text();
  const auto train = [&](auto& r) {
    trainer t(r, data);
    const double before = t.evaluate(2);
    t.run({.steps = 60, .warmup = 5, .learning_rate = 1e-2});
    return std::pair{before, t.evaluate(2)};
  };
  const auto one = on_ranks(alone, train)[0];
  CHECK(one.first == doctest::Approx(4.16).epsilon(0.01));  // log 64
  CHECK(one.second < 0.8 * one.first);
  for (const auto& [before, after] : on_ranks(sharded, train)) {
    CHECK(std::abs(before - one.first) < 1e-12);
    CHECK(std::abs(after - one.second) < 1e-8);
  }
}

TEST_CASE("a gradient longer than the limit is brought down to it, a shorter one is left") {
  const text_data data = counting_text();
  const auto weight_after = [&](double clip) {
    return on_ranks(alone, [&](auto& r) {
      // Plain descent: with eps far above the gradient, AdamW moves weights by gradient / eps.
      trainer t(r, data);
      const double before = r.parameters()[0];
      optimizer_settings o{.adam = {.beta1 = 0, .beta2 = 0, .eps = 1e6}, .decay = 0, .clip_norm = clip};
      const trained_step s = t.step({.steps = 1, .warmup = 0, .learning_rate = 1e6, .optimizer = o}, 1);
      return std::pair{r.parameters()[0] - before, s.report.grad_norm};
    })[0];
  };
  const auto [free, norm] = weight_after(0);
  REQUIRE(norm > 0.1);
  CHECK(weight_after(norm / 4).first == doctest::Approx(free / 4).epsilon(1e-6));
  CHECK(weight_after(norm * 4).first == doctest::Approx(free).epsilon(1e-12));
  CHECK(weight_after(norm / 4).second == doctest::Approx(norm));  // the report is of the norm before clipping
}

TEST_CASE("a step whose norm is not finite changes nothing, on every rank, and says so") {
  const text_data data = counting_text();
  for (const auto& [skipped, same] : on_ranks(sharded, [&](auto& r) {
         trainer t(r, data);
         t.run({.steps = 1});
         if (r.number() == 0) r.parameters()[0] = std::numeric_limits<double>::infinity();
         std::vector<double> before(r.parameters(), r.parameters() + r.plan().elements());
         const trained_step s = t.step({.steps = 2}, 2);
         bool unchanged = true;
         for (std::size_t i = 0; i < before.size(); ++i) unchanged = unchanged && before[i] == r.parameters()[i];
         return std::pair{s.report.skipped, unchanged};
       })) {
    CHECK(skipped);
    CHECK(same);
  }
}

TEST_CASE("a token outside the vocabulary ends the run and is named") {
  std::vector<std::int32_t> tokens(4000, 63);
  tokens.resize(4200, 64);  // the held-out part
  const text_data data(tokens);
  CHECK_THROWS_WITH(on_ranks(alone, [&](auto& r) { return trainer(r, data).evaluate(1); }),
                    "rank 0 failed: token 64 (sample 0, position 9) is not in the vocabulary of 64: set vocab above "
                    "the largest token");
}

TEST_CASE("a text too short for a window of its held-out part is refused") {
  const text_data data(std::vector<std::int32_t>(200, 1));
  CHECK_THROWS_WITH(on_ranks(alone, [&](auto& r) { return trainer(r, data).evaluate(1); }),
                    "rank 0 failed: the text has 200 tokens, but windows of 17 need 340: give a longer text or a "
                    "shorter seq");
}

TEST_CASE("every rank of every plan writes the same text") {
  const text_data data = counting_text();
  const auto write = [&](auto& r) {
    trainer t(r, data);
    t.run({.steps = 20, .warmup = 2, .learning_rate = 1e-2});
    return generator(r).write({1, 4, 9}, 24, 0.8, 5);
  };
  const auto one = on_ranks(alone, write)[0];
  CHECK(one.size() == 27);
  for (const auto& text : on_ranks(sharded, write)) CHECK(text == one);
}
