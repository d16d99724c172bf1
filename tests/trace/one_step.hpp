// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/train/logged_ranks.hpp>

// The logs of one step of a small model on every rank of a plan.
namespace one_step {

using namespace meshpar;

inline constexpr model what = llama_like({.layers = 2, .hidden = 16, .heads = 2, .ffn = 32, .vocab = 32, .seq = 8});
inline constexpr job task{.global_batch = 4};
inline constexpr plan four{.dp = 2, .tp = 2, .sequence_parallel = true};

inline std::unique_ptr<program> trace(const plan& how) {
  return std::make_unique<program>(what, task, how, stack<>(what, task));
}

inline std::vector<call_log> logs_of(const program& p, std::size_t capacity) {
  const auto zero = [](std::int64_t, std::int64_t) { return 0; };
  return run_logged_ranks<element_types<float, float, float, float>>(
      p, [&](auto& r) { r.step(0, zero, zero, {}); }, capacity);
}

}  // namespace one_step
