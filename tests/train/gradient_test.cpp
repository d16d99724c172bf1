// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness.hpp"
#include "rows.hpp"

#include <doctest/doctest.h>

#include <cstdio>

// Gradients against the definition: (loss(w + h) - loss(w - h)) / 2h, on one rank. What all plans share cannot be seen
// by comparing plans.
namespace {
using namespace meshpar_test;

using one_rank = rank<f64_types, plain_gemm, threads>;

double loss_of(one_rank& r, const token_data& data) {
  const double labels = r.accumulate(
      1, [&](long s, long q) { return data.id(0, s, q); }, [&](long s, long q) { return data.label(0, s, q); });
  return r.loss_sum() / labels;
}

// Weights large enough that no gradient but those that are zero by mathematics is near the noise of the difference.
double start(const program& p, const parameter_entry& e, const std::string& name, std::int64_t index) {
  return initial_value(p, p.declared(e), kernels::name_hash(name.c_str()), index) +
         0.2 * kernels::normal(99, kernels::name_hash(name.c_str()), index);
}

void check_gradients(const model& m, const job& j) {
  const program p(m, j, {.precision = all_f64}, stack<>(m, j));
  REQUIRE(!p.refused());
  const token_data data{m.vocab, m.seq};
  threads_world world(1);
  world.run([&](threads& comm) {
    one_rank r(p, comm);
    r.set_parameters([&](const parameter_entry& e, const std::string& n, std::int64_t i) { return start(p, e, n, i); });
    loss_of(r, data);
    const std::vector<double> gradient(r.gradients(), r.gradients() + p.elements());
    double most = 0, worst = 0;
    for (const double g : gradient) most = std::max(most, std::abs(g));
    // Of each parameter its largest gradient, and one element picked by its name.
    std::map<std::string, std::pair<std::int64_t, std::int64_t>> extent;
    for_each_parameter(
        p, 0, [&](const parameter_entry&, std::int64_t flat, const std::string& n, std::int64_t i, std::int64_t count) {
          auto& [top, picked] = extent.try_emplace(n, flat, flat).first->second;
          if (std::abs(gradient[static_cast<std::size_t>(flat)]) > std::abs(gradient[static_cast<std::size_t>(top)]))
            top = flat;
          if (i == static_cast<std::int64_t>(kernels::name_hash(n.c_str()) % static_cast<std::uint64_t>(count)))
            picked = flat;
        });
    for (const auto& [name, e] : extent)
      for (const std::int64_t flat : {e.first, e.second}) {
        double& w = r.parameters()[flat];
        const double kept = w, h = 1e-5;
        w = kept + h;
        const double above = loss_of(r, data);
        w = kept - h;
        const double below = loss_of(r, data);
        w = kept;
        const double expected = (above - below) / (2 * h), found = gradient[static_cast<std::size_t>(flat)];
        const double d = std::abs(expected - found) / std::max(std::abs(expected), 1e-3 * most);
        worst = std::max(worst, d);
        INFO(name, ": by difference ", expected, ", by the backward pass ", found);
        CHECK(d < 1e-5);
      }
    std::printf("%zu parameters, largest relative difference %.1e\n", extent.size(), worst);
  });
}

TEST_CASE("the backward pass is the derivative of the loss") {
  for (int act = 0; act < 3; ++act)
    for (const bool llama : {false, true}) {
      model m{.layers = 2, .hidden = 16, .heads = 4, .kv_heads = 2, .ffn = 24, .vocab = 13, .seq = 8};
      m = llama ? llama_like(m) : gpt2_like(m);
      m.activation = static_cast<activation_kind>(act);
      m.bias = m.tied_embeddings = llama == (act == 1);
      m.qk_norm = act != 0;
      m.dropout = act == 2 ? 0 : 0.1;
      check_gradients(m, {.global_batch = 2, .micro_batch = 1, .label_smoothing = act == 0 ? 0 : 0.1});
    }
}

}  // namespace
