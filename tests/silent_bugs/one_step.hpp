// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/meshpar.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

// One step of a model under a plan, in f64, with everything that a report fixes given: weights, ids and labels.
namespace silent_bugs {

namespace mp = meshpar;

using doubles = mp::element_types<double, double, double, double>;
using rank = mp::rank<doubles, mp::plain_gemm, mp::threads>;
using gradients = std::map<std::string, std::vector<double>>;

using token_at = std::function<std::int32_t(std::int64_t sample, std::int64_t position)>;
using weight_at = std::function<double(const std::string& name, std::int64_t index)>;

struct given_step {
  token_at ids = [](auto sample, auto position) { return static_cast<std::int32_t>((sample * 5 + position * 3) % 4); };
  token_at labels = ids;
  weight_at weights{};  // none: as they start
};
struct done_step {
  double loss = 0;
  gradients grads{};
  std::vector<std::set<std::int64_t>> samples{};  // that each rank has read
};

template <class Stack = mp::stack<>>
done_step run_step(const mp::model& m, const mp::job& j, mp::plan how, const given_step& g) {
  how.precision = mp::all_f64;
  const mp::program p(m, j, how, Stack(m, j));
  REQUIRE_MESSAGE(!p.refused(), p.refusal().why.s);
  done_step done;
  done.samples.resize(static_cast<std::size_t>(mp::world_size(how)));
  std::mutex one_at_a_time;
  mp::threads_world world(static_cast<int>(mp::world_size(how)), {.time_out = 120});
  world.run([&](mp::threads& comm) {
    rank r(p, comm);
    if (g.weights)
      r.set_parameters(
          [&](const mp::parameter_entry&, const std::string& name, std::int64_t i) { return g.weights(name, i); });
    std::set<std::int64_t>& read = done.samples[static_cast<std::size_t>(r.number())];
    const auto ids = [&](std::int64_t sample, std::int64_t position) {
      read.insert(sample);
      return g.ids(sample, position);
    };
    const mp::step_report report = r.step(0, ids, g.labels, {});
    const std::lock_guard lock(one_at_a_time);
    done.loss = report.loss;
    mp::for_each_parameter(p, r.number(),
                           [&](const mp::parameter_entry&, std::int64_t flat, const std::string& name,
                               std::int64_t index, std::int64_t count) {
                             std::vector<double>& all = done.grads[name];
                             all.resize(static_cast<std::size_t>(count));
                             all[static_cast<std::size_t>(index)] = r.gradients()[flat];
                           });
  });
  return done;
}

// The largest |g - factor g'| of two models, against the largest |g|, each parameter by itself.
inline double largest(const std::vector<double>& v) {
  double most = 0;
  for (const double x : v) most = std::max(most, std::abs(x));
  return most;
}
inline double difference(const gradients& one, const gradients& other, double factor = 1) {
  double model = 0, worst = 0;
  for (const auto& entry : one) model = std::max(model, largest(entry.second));
  REQUIRE(model > 0);
  REQUIRE(one.size() == other.size());
  for (const auto& [name, g] : one) {
    std::vector<double> apart = other.at(name);
    for (std::size_t i = 0; i < g.size(); ++i) apart[i] = g[i] - factor * apart[i];
    worst = std::max(worst, largest(apart) / std::max(largest(g), 1e-3 * model));
  }
  return worst;
}

}  // namespace silent_bugs
