// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness.hpp"
#include "rows.hpp"

#include <doctest/doctest.h>

#include <cstdio>

// The layout never changes the result: each plan of a pairwise covering, against one rank that takes the same global
// batch one sequence at a time.
namespace {
using namespace meshpar_test;

constexpr int steps = 5;

TEST_CASE("every plan of a pairwise covering gives the result of one rank") {
  const auto chosen = plans();
  const int count = static_cast<int>(chosen.rows.size());
  std::printf("%d plans cover %d of the %d pairs of levels that go together\n", count, chosen.pairs - chosen.missing(),
              chosen.pairs);
  CHECK(chosen.missing() == 0);
  CHECK(count >= 30);
  for (const factor_of_a_row& f : all_factors) std::printf("%s ", f.name);
  std::puts("   loss     norm  gradients  weights");
  int several = 0;
  for (const row& r : chosen.rows) {
    const model m = model_of(r);
    const job j = job_of(r);
    const plan p = plan_of(r);
    several += level(r, steps_in) > 1;
    REQUIRE(check_all(m, j, p).empty());
    job one_at_a_time = j;
    one_at_a_time.micro_batch = 1;
    const outcome one = train(m, one_at_a_time, {.precision = all_f64}, steps);
    const outcome many = train(m, j, p, steps);
    REQUIRE(one.fault == "");
    CHECK(many.fault == "");
    CHECK(many.traffic == "");
    REQUIRE(one.losses.size() == steps);
    REQUIRE(one.norms[0] > settings.clip_norm);  // clipping acts, so a wrong norm shows in the weights
    const difference g = compare(one.gradients, many.gradients), w = compare(one.weights, many.weights);
    const double loss = worst_relative(one.losses, many.losses), norms = worst_relative(one.norms, many.norms);
    for (int f = 0; f < factors; ++f)
      std::printf("%*d ", static_cast<int>(std::string(all_factors[static_cast<std::size_t>(f)].name).size()),
                  level(r, static_cast<factor_name>(f)));
    std::printf("%9.1e %8.1e %9.1e %9.1e\n", loss, norms, g.value, w.value);
    std::fflush(stdout);
    INFO("gradients differ most at ", g.where, ", weights at ", w.where);
    CHECK(loss <= 1e-12);
    CHECK(std::abs(many.evaluation / one.evaluation - 1) <= 1e-12);
    CHECK(norms <= 1e-10);
    CHECK(g.value <= 1e-10);
    CHECK(w.value <= 1e-9);
    // All that was planned for values was written, on every rank, and nothing beyond (a guard page follows).
    const program planned(m, j, p, stack<>(m, j));
    for (const touched& t : many.memory) {
      CHECK(aligned(t.saved) == planned.memory.saved.bytes);
      CHECK(aligned(t.transient) == planned.memory.transient.bytes);
    }
  }
  CHECK(several * 2 > count);
}

TEST_CASE("the same run twice gives the same bits") {
  const row& r = pure[1];
  const outcome a = train(model_of(r), job_of(r), plan_of(r), 3), b = train(model_of(r), job_of(r), plan_of(r), 3);
  CHECK(a.losses == b.losses);
  CHECK(a.norms == b.norms);
  CHECK(a.gradients == b.gradients);
  CHECK(a.weights == b.weights);
}

TEST_CASE("the size of a micro-batch changes memory and not the result") {
  for (const row& r : pure) {
    job j{.global_batch = 8, .micro_batch = 1, .seed = 3, .label_smoothing = 0.1};
    plan p = plan_of(r);
    p.dp = 1;
    const outcome one = train(model_of(r), j, p, 2);
    for (const int micro_batch : {2, 4, 8}) {
      j.micro_batch = micro_batch;
      const outcome other = train(model_of(r), j, p, 2);
      CHECK(worst_relative(one.losses, other.losses) <= 1e-12);
      CHECK(compare(one.gradients, other.gradients).value <= 1e-10);
      CHECK(compare(one.weights, other.weights).value <= 1e-9);
      CHECK(other.memory[0].saved > one.memory[0].saved);
    }
  }
}

TEST_CASE("another seed gives other weights, other data other gradients") {
  const row& r = pure[0];
  job j = job_of(r);
  const outcome a = train(model_of(r), j, plan_of(r), 1);
  j.seed = 6;
  const outcome b = train(model_of(r), j, plan_of(r), 1);
  CHECK(compare(a.gradients, b.gradients).value > 0.1);
  CHECK(compare(a.weights, b.weights).value > 0.1);
}

}  // namespace
