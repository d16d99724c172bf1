// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/io/text.hpp>
#include <meshpar/train/optimizer.hpp>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace meshpar::inline v0 {

struct train_settings {
  int steps = 100;
  int warmup = 10;              // steps in which the learning rate rises from 0
  double learning_rate = 1e-3;  // after the warm-up; falls to a tenth along a cosine (Loshchilov and Hutter 2017)
  optimizer_settings optimizer{};
};

// The learning rate of step `number`, counted from 1.
inline double learning_rate_at(const train_settings& s, long number) {
  if (number <= s.warmup) return s.learning_rate * static_cast<double>(number) / s.warmup;
  const double done = s.steps <= s.warmup ? 1 : static_cast<double>(number - s.warmup) / (s.steps - s.warmup);
  return s.learning_rate * (0.1 + 0.45 * (1 + std::cos(3.14159265358979323846 * (done < 1 ? done : 1))));
}

struct trained_step {
  long number = 0;
  step_report report{};
  double learning_rate = 0;
  double seconds = 0;
};

// Trains a rank on a text, one global batch a step.
template <class Rank>
class trainer {
 public:
  // Throws one line when the text is too short for a window in either of its parts.
  trainer(Rank& r, const text_data& data) : rank_(r), data_(data) {
    const std::int64_t length = r.plan().what.seq + 1, held_out = data.size() - data.training_size();
    if (data.training_size() < length || held_out < length)
      throw std::runtime_error("the text has " + std::to_string(data.size()) + " tokens, but windows of " +
                               std::to_string(length) + " need " + std::to_string(20 * length) +
                               ": give a longer text or a shorter seq");
  }

  // Steps 1 to s.steps; each(trained_step) after every one.
  template <class Each>
  void run(const train_settings& s, Each each) {
    for (long number = 1; number <= s.steps; ++number) each(step(s, number));
  }
  void run(const train_settings& s) {
    run(s, [](const trained_step&) {});
  }

  trained_step step(const train_settings& s, long number) {
    const auto start = std::chrono::steady_clock::now();
    const auto seed = rank_.plan().task.seed;
    const auto at = [&](std::int64_t sample) {
      return data_.training_window(seed, static_cast<std::uint64_t>(number), sample, rank_.plan().what.seq + 1);
    };
    optimizer_settings o = s.optimizer;
    o.adam.learning_rate = learning_rate_at(s, number);
    const step_report r = rank_.step(
        static_cast<std::uint64_t>(number),
        [&](std::int64_t sample, std::int64_t position) { return data_.token(at(sample) + position); },
        [&](std::int64_t sample, std::int64_t position) { return data_.token(at(sample) + position + 1); }, o);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    return {number, r, o.adam.learning_rate, took.count()};
  }

  // The mean loss over `batches` global batches of the part of the text that training does not read.
  double evaluate(int batches) {
    const program& p = rank_.plan();
    const std::int64_t length = p.what.seq + 1;
    const int parts = micro_batches(p.task, p.how);
    double sum = 0;
    for (int b = 0; b < batches; ++b)
      for (int part = 0; part < parts; ++part) {
        const auto at = [&](std::int64_t s) {
          return data_.evaluation_window(std::int64_t{b} * p.task.global_batch + s, length);
        };
        sum += rank_.evaluate(
            part, [&](std::int64_t s, std::int64_t position) { return data_.token(at(s) + position); },
            [&](std::int64_t s, std::int64_t position) { return data_.token(at(s) + position + 1); });
      }
    return rank_.sum_of_losses(sum) / (static_cast<double>(batches) * p.task.global_batch * p.what.seq);
  }

 private:
  Rank& rank_;
  const text_data& data_;
};

}  // namespace meshpar::inline v0
