// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loss and every gradient of our GPT-2 and Llama against golden.json, under plans.
#include <meshpar/comm/threads/world.hpp>
#include <meshpar/device/host_gemm.hpp>
#include <meshpar/nn/program.hpp>
#include <meshpar/train/rank.hpp>

#include "formula.hpp"
#include "golden.hpp"

#include <doctest/doctest.h>

#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace mp = meshpar;

namespace {

using doubles = mp::element_types<double, double, double, double>;

mp::model model_of(const oracle::model& g) {
  const auto n = [](std::size_t size) { return static_cast<int>(size); };
  mp::model m{.layers = n(g.layers),
              .hidden = n(g.hidden),
              .heads = n(g.heads),
              .kv_heads = n(g.kv_heads),
              .head_dim = n(g.head_dim),
              .ffn = n(g.ffn),
              .vocab = n(g.vocab),
              .seq = n(g.seq),
              .norm_eps = g.norm_eps};
  if (g.rope_theta > 0) m.rope_theta = g.rope_theta;
  return g.name == "gpt2" ? mp::gpt2_like(m) : mp::llama_like(m);
}

// The mean loss, and the gradients by name, as the ranks hold them after their sum.
struct outcome {
  double loss = 0;
  std::map<std::string, std::vector<double>> gradients;
  double largest_between_ranks = 0;  // |difference| between two ranks' copies of one element
};

class collector {
 public:
  void take(const std::string& name, std::int64_t index, std::int64_t count, double g) {
    std::vector<double>& all = got.gradients[name];
    all.resize(static_cast<std::size_t>(count), std::nan(""));
    double& here = all[static_cast<std::size_t>(index)];
    if (!std::isnan(here)) got.largest_between_ranks = std::max(got.largest_between_ranks, std::abs(here - g));
    here = g;
  }
  outcome got;
  std::mutex one_at_a_time;
};

outcome run(const oracle::model& golden, const mp::plan& p) {
  const mp::model m = model_of(golden);
  const mp::job j{.global_batch = static_cast<int>(golden.batch), .micro_batch = 1};
  const mp::program program(m, j, p, mp::stack<>(m, j));
  REQUIRE_MESSAGE(!program.refused(), program.refusal().why.s);
  const auto token = [&](std::int64_t sample, std::int64_t position) {
    return static_cast<std::int32_t>(
        oracle::token(static_cast<std::uint64_t>(sample * (m.seq + 1) + position), golden.vocab));
  };
  collector all;
  mp::threads_world world(static_cast<int>(mp::world_size(p)), {.time_out = 120});
  world.run([&](mp::threads& comm) {
    mp::rank<doubles, mp::plain_gemm, mp::threads> rank(program, comm);
    rank.set_parameters([](const mp::parameter_entry&, const std::string& name, std::int64_t index) {
      return oracle::value(name, static_cast<std::uint64_t>(index));
    });
    const mp::step_report report =
        rank.step(0, token, [&](std::int64_t b, std::int64_t s) { return token(b, s + 1); }, {});
    const std::lock_guard lock(all.one_at_a_time);
    all.got.loss = report.loss;
    mp::for_each_parameter(
        program, rank.number(),
        [&](const mp::parameter_entry&, std::int64_t flat, const std::string& name, std::int64_t index,
            std::int64_t count) { all.take(name, index, count, rank.gradients()[flat]); });
  });
  return all.got;
}

void check_agreement(const char* name, const mp::plan& p) {
  const oracle::model golden = oracle::read_golden(name);
  const outcome ours = run(golden, p);
  CHECK(std::abs(ours.loss - golden.loss) <= 1e-10 * golden.loss);
  CHECK(ours.gradients.size() == golden.gradients.size());
  CHECK(ours.largest_between_ranks == 0);
  for (const oracle::gradient& g : golden.gradients) {
    CAPTURE(g.name);
    const auto found = ours.gradients.find(g.name);
    REQUIRE(found != ours.gradients.end());
    CHECK(oracle::largest_difference(g, found->second, golden) <= 1e-10);
  }
}

constexpr mp::plan one{.precision = mp::all_f64};
constexpr mp::plan tp2{.tp = 2, .precision = mp::all_f64};
constexpr mp::plan tp4_sp{.tp = 4, .sequence_parallel = true, .precision = mp::all_f64};  // kv_rep = 2 in Llama
constexpr mp::plan dp2_tp2{.dp = 2, .tp = 2, .precision = mp::all_f64};

void check_plans(const char* name) {
  SUBCASE("one rank") { check_agreement(name, one); }
  SUBCASE("tp2") { check_agreement(name, tp2); }
  SUBCASE("tp4 with sequence parallelism") { check_agreement(name, tp4_sp); }
  SUBCASE("dp2 x tp2") { check_agreement(name, dp2_tp2); }
}

}  // namespace

TEST_CASE("GPT-2 agrees with transformers") { check_plans("gpt2"); }
TEST_CASE("Llama with grouped KV heads agrees with transformers") { check_plans("llama"); }
