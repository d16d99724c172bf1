// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness.hpp"
#include "rows.hpp"

#include <doctest/doctest.h>

#include <cstdio>

namespace {
using namespace meshpar_test;

constexpr int steps = 5;

// Losses of several ranks against one, in a precision that rounds: nothing but a smoke test, since f64 has shown the
// equality. The bounds are some ten times what is seen.
template <class Types>
void smoke(const char* name, const precisions& p, double bound, double gradient_bound) {
  for (const row& r : pure) {
    const outcome one = train<Types>(model_of(r), job_of(r), {.precision = p}, steps);
    const outcome many = train<Types>(model_of(r), job_of(r), plan_of(r, p), steps);
    CHECK(one.fault == "");
    CHECK(many.fault == "");
    const double loss = worst_relative(one.losses, many.losses);
    std::printf("%s dp%d tp%d sp%d: largest relative difference of %d losses %.1e, of gradients %.1e\n", name,
                level(r, dp), level(r, tp), level(r, sp), steps, loss, compare(one.gradients, many.gradients).value);
    CHECK(loss <= bound);
    CHECK(compare(one.gradients, many.gradients).value <= gradient_bound);
  }
}

TEST_CASE("f32 and bf16 stay near one rank in the same precision") {
  smoke<element_types<float, float, float, float>>("f32", all_f32, 5e-7, 1e-5);
  smoke<element_types<bf16, float, float, float>>("bf16", mixed_bf16, 1e-3, 0.3);
  smoke<element_types<bf16, bf16, float, float>>("bf16 with bf16 gradients", mixed_bf16_grads, 1e-3, 0.3);
}

}  // namespace
