// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/meshpar.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

// Loss and gradients of the first step of a stack of layers, on one rank and under plans, in f64.
namespace same_on_every_plan {

namespace mp = meshpar;
using doubles = mp::element_types<double, double, double, double>;
using rank = mp::rank<doubles, mp::plain_gemm, mp::threads>;
using kinds = std::span<const mp::runner<rank::device>>;

struct outcome {
  double loss = 0;
  std::map<std::string, std::vector<double>> gradients;
};

template <class Stack>
outcome run(const mp::model& m, const mp::job& j, const mp::plan& plan, kinds table) {
  const mp::program p(m, j, plan, Stack(m, j));
  REQUIRE_MESSAGE(!p.refused(), p.refusal().why.s);
  const auto id = [&](std::int64_t sample, std::int64_t position) {
    return static_cast<std::int32_t>((sample * 7919 + position * 104729 + sample * position * 13) % m.vocab);
  };
  outcome all;
  std::mutex one_at_a_time;
  mp::threads_world world(static_cast<int>(mp::world_size(plan)), {.time_out = 120});
  world.run([&](mp::threads& comm) {
    rank r(p, comm, table);
    const mp::step_report report = r.step(0, id, [&](std::int64_t s, std::int64_t at) { return id(s, at + 1); }, {});
    const std::lock_guard lock(one_at_a_time);
    all.loss = report.loss;
    mp::for_each_parameter(p, r.number(),
                           [&](const mp::parameter_entry&, std::int64_t flat, const std::string& name,
                               std::int64_t index, std::int64_t count) {
                             std::vector<double>& g = all.gradients[name];
                             g.resize(static_cast<std::size_t>(count));
                             g[static_cast<std::size_t>(index)] = r.gradients()[flat];
                           });
  });
  return all;
}

inline double largest(const std::vector<double>& v) {
  double most = 0;
  for (double x : v) most = std::max(most, std::abs(x));
  return most;
}

// max |g - g'| <= 1e-10 max(max |g|, 1e-3 of the model's largest), for every parameter.
inline void compare(const outcome& one, const outcome& other) {
  CHECK(std::abs(one.loss - other.loss) <= 1e-12 * one.loss);
  double model = 0;
  for (const auto& entry : one.gradients) model = std::max(model, largest(entry.second));
  for (const auto& entry : one.gradients) {
    const auto& name = entry.first;
    const std::vector<double>& g = entry.second;
    CAPTURE(name);
    std::vector<double> difference = other.gradients.at(name);
    for (std::size_t i = 0; i < g.size(); ++i) difference[i] -= g[i];
    CHECK(largest(difference) <= 1e-10 * std::max(largest(g), 1e-3 * model));
  }
}

template <class Stack>
void check(const mp::model& m, const mp::job& j, kinds table = mp::host_kinds::table<rank::device>) {
  const outcome one = run<Stack>(m, j, {.precision = mp::all_f64}, table);
  const mp::plan plans[] = {{.dp = 2, .precision = mp::all_f64},
                            {.tp = 4, .precision = mp::all_f64},
                            {.dp = 2, .tp = 2, .sequence_parallel = true, .precision = mp::all_f64}};
  for (const mp::plan& p : plans) {
    CAPTURE(p.dp);
    CAPTURE(p.tp);
    compare(one, run<Stack>(m, j, p, table));
  }
}

}  // namespace same_on_every_plan
