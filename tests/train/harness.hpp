// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/threads/world.hpp>
#include <meshpar/device/host_gemm.hpp>
#include <meshpar/meta/cost.hpp>
#include <meshpar/rules/catalogue.hpp>
#include <meshpar/train/rank.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <vector>

// Runs a model under a plan on thread ranks and gathers what was learnt as logical tensors, so that plans can be
// compared. DESIGN.md section 8 says how.
namespace meshpar_test {
using namespace meshpar;

// Full parameter name -> its elements by logical index.
using tensors = std::map<std::string, std::vector<double>>;

// Puts the elements of all ranks together. Every element must be held by somebody, and be the same bits wherever there
// is a copy; what a rank holds beyond them is padding and must be zero.
class gatherer {
 public:
  template <class X>
  void take(const program& p, int rank, const X* flat) {
    std::vector<bool> logical(static_cast<std::size_t>(p.elements()));
    for_each_parameter(
        p, rank,
        [&](const parameter_entry&, std::int64_t at, const std::string& name, std::int64_t index, std::int64_t count) {
          logical[static_cast<std::size_t>(at)] = true;
          put(name, index, count, static_cast<double>(flat[at]), rank);
        });
    for (std::size_t i = 0; i < logical.size(); ++i)
      if (!logical[i] && static_cast<double>(flat[i]) != 0)
        blame("rank " + std::to_string(rank) + ": padding element " + std::to_string(i) + " is not zero");
  }
  // The tensors; `fault` is the first thing that was wrong with them.
  tensors finish() {
    for (const auto& [name, held] : held_)
      if (const auto missing = std::find(held.begin(), held.end(), false); missing != held.end())
        blame(name + "[" + std::to_string(missing - held.begin()) + "] is held by no rank");
    return std::move(values_);
  }
  std::string fault;

 private:
  void put(const std::string& name, std::int64_t index, std::int64_t count, double x, int rank) {
    std::vector<double>& v = values_[name];
    std::vector<bool>& held = held_[name];
    v.resize(static_cast<std::size_t>(count));
    held.resize(static_cast<std::size_t>(count));
    const auto i = static_cast<std::size_t>(index);
    if (i >= v.size()) return blame(name + " has no element " + std::to_string(index));
    if (held[i] && !(v[i] == x))
      blame(name + "[" + std::to_string(i) + "] is " + std::to_string(v[i]) + ", but " + std::to_string(x) +
            " on rank " + std::to_string(rank));
    held[i] = true;
    v[i] = x;
  }
  void blame(const std::string& what) {
    if (fault.empty()) fault = what;
  }
  tensors values_;
  std::map<std::string, std::vector<bool>> held_;
};

// What was written of the two parts of the arena whose size depends on what a program saves: one past the last byte.
struct touched {
  std::int64_t saved = 0, transient = 0;
  bool operator==(const touched&) const = default;
};

struct trained {
  std::vector<double> losses{}, norms{};  // per step
  double evaluation = 0;                  // the loss without dropout on another batch, after the last step
  tensors gradients{};                    // of the first step, summed over ranks, before clipping
  tensors weights{};                      // after the last step
  std::vector<touched> memory{};          // per rank
  std::string traffic{};                  // empty: the bytes received were those predicted
  std::string fault{};                    // empty: every element was held, and copies agreed
};

// Where the bytes that reached a rank along some axes, as the communicator counted them, are not those that were
// predicted; empty: nowhere.
template <class Rank>
std::string traffic_fault(const program& p, Rank& r, int steps) {
  const part_cost predicted = price(p, r.number()).whole;
  std::string fault;
  for (const traffic& t : predicted.sent) {
    const std::int64_t expected = predicted.bytes(t.along) * steps;
    const std::int64_t found = r.comm().received(r.calls().group_along(t.along));
    if (found != expected)
      fault += "rank " + std::to_string(r.number()) + " along " + name_of(t.along).c_str() + ": " +
               std::to_string(found) + " bytes received, " + std::to_string(expected) + " predicted; ";
  }
  return fault;
}

// Token ids and labels as functions of step, sample and position; one label in eight counts nothing.
struct token_data {
  int vocab, seq;

  std::int32_t id(long step, long sample, long position) const {
    return static_cast<std::int32_t>(draw(step, sample, position) % static_cast<unsigned>(vocab));
  }
  std::int32_t label(long step, long sample, long position) const {
    return draw(step, sample, position + 7919) % 8 == 0 ? -1 : id(step, sample, position + 1);
  }
  long labels(long step, long samples) const {
    long n = 0;
    for (long s = 0; s < samples; ++s)
      for (long q = 0; q < seq; ++q) n += label(step, s, q) >= 0;
    return n;
  }

 private:
  static unsigned draw(long step, long sample, long position) {
    auto x = static_cast<std::uint64_t>((step * 1000 + sample) * 100003 + position) * 0x9e3779b97f4a7c15u;
    x ^= x >> 29, x *= 0xbf58476d1ce4e5b9u, x ^= x >> 32;
    return static_cast<unsigned>(x >> 8);
  }
};

// Adam's eps bounds what rounding can do to a weight whose gradient is zero by mathematics (the key bias without
// rotary): noise of 1e-18 moves it by learning_rate * 1e-18 / eps = 1e-13 a step.
inline constexpr optimizer_settings settings{
    .adam = {.learning_rate = 1e-3, .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8}, .decay = 0.1, .clip_norm = 0.25};

inline void paint(arena& memory, const region& r) {
  std::memset(memory.at(r.offset), arena::paint_byte, static_cast<std::size_t>(r.bytes));
}
inline std::int64_t highest_written(const arena& memory, const region& r) {
  std::int64_t end = r.bytes;
  while (end > 0 && *memory.at(r.offset + end - 1) == arena::paint_byte) --end;
  return end;
}

// Trains `steps` steps of a legal plan on its ranks. Throws what a rank throws.
template <class Types>
trained train(const program& p, int steps) {
  trained result;
  gatherer gradients, weights;
  std::mutex one_at_a_time;
  const token_data data{p.what.vocab, p.what.seq};
  const int ranks = static_cast<int>(world_size(p.how));
  result.memory.resize(static_cast<std::size_t>(ranks));
  threads_world world(ranks);
  world.run([&](threads& comm) {
    rank<Types, plain_gemm, threads> r(p, comm);
    paint(r.memory(), p.memory.saved);
    paint(r.memory(), p.memory.transient);
    for (int k = 0; k < steps; ++k) {
      const step_report report = r.step(
          static_cast<std::uint64_t>(k), [&](long s, long q) { return data.id(k, s, q); },
          [&](long s, long q) { return data.label(k, s, q); }, settings);
      const std::lock_guard turn(one_at_a_time);
      if (r.number() == 0) result.losses.push_back(report.loss), result.norms.push_back(report.grad_norm);
      if (k == 0) gradients.take(p, r.number(), r.gradients());
    }
    {
      const std::lock_guard turn(one_at_a_time);
      weights.take(p, r.number(), r.parameters());
      result.traffic += traffic_fault(p, r, steps);
      result.memory[static_cast<std::size_t>(r.number())] = {highest_written(r.memory(), p.memory.saved),
                                                             highest_written(r.memory(), p.memory.transient)};
    }
    double sum = 0;
    for (int i = 0; i < micro_batches(p.task, p.how); ++i)
      sum += r.evaluate(
          i, [&](long s, long q) { return data.id(steps, s, q); },
          [&](long s, long q) { return data.label(steps, s, q); });
    const double all = r.sum_of_losses(sum);
    if (r.number() == 0) result.evaluation = all / static_cast<double>(data.labels(steps, p.task.global_batch));
  });
  result.gradients = gradients.finish();
  result.weights = weights.finish();
  result.fault = gradients.fault + weights.fault;
  return result;
}

using f64_types = element_types<double, double, double, double>;

template <class Types = f64_types>
trained train(const model& m, const job& j, const plan& how, int steps) {
  const program p(m, j, how, stack<>(m, j));
  if (p.refused()) return {.fault = p.refusal().why.c_str()};
  return train<Types>(p, steps);
}

// The largest difference of two sets of tensors, and where. A gradient is measured against its own largest element,
// but not below `floor` of the largest of the whole model: some are zero by mathematics.
struct difference {
  double value = 0;
  std::string where;
};

inline double largest(const std::vector<double>& v) {
  double most = 0;
  for (const double x : v) most = std::max(most, std::abs(x));
  return most;
}

inline difference compare(const tensors& expected, const tensors& found, double floor = 1e-3) {
  difference worst;
  if (expected.size() != found.size())
    return {std::numeric_limits<double>::infinity(),
            std::to_string(found.size()) + " tensors, expected " + std::to_string(expected.size())};
  double most = 0;
  for (const auto& [name, v] : expected) most = std::max(most, largest(v));
  for (const auto& [name, v] : expected) {
    const auto other = found.find(name);
    if (other == found.end() || other->second.size() != v.size())
      return {std::numeric_limits<double>::infinity(), name + " is not there, or has another size"};
    const double scale = std::max(largest(v), floor * most);
    for (std::size_t i = 0; i < v.size(); ++i)
      if (const double d = std::abs(v[i] - other->second[i]) / scale; !(d <= worst.value))
        worst = {std::isnan(d) ? std::numeric_limits<double>::infinity() : d, name + "[" + std::to_string(i) + "]"};
  }
  return worst;
}

inline double worst_relative(const std::vector<double>& expected, const std::vector<double>& found) {
  double worst = expected.size() == found.size() ? 0 : std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < std::min(expected.size(), found.size()); ++i) {
    const double d = std::abs(expected[i] - found[i]) / std::abs(expected[i]);
    worst = std::isnan(d) ? std::numeric_limits<double>::infinity() : std::max(worst, d);
  }
  return worst;
}

}  // namespace meshpar_test
