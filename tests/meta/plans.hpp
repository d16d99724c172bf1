// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/config/job.hpp>
#include <meshpar/config/model.hpp>
#include <meshpar/config/plan.hpp>

// Models under plans of data, tensor and sequence parallelism on 1 to 8 ranks.
namespace plans {

using namespace meshpar;

struct configuration {
  const char* name;
  model what;
  job task;
  plan how;
};

inline constexpr model sizes{.layers = 2, .hidden = 32, .heads = 4, .ffn = 64, .vocab = 64, .seq = 16};
inline constexpr model odd{.layers = 3, .hidden = 48, .heads = 8, .kv_heads = 2, .ffn = 80, .vocab = 61, .seq = 24};

constexpr model with(model m, double dropout, bool tied, bool qk_norm = false) {
  m.dropout = dropout;
  m.tied_embeddings = tied;
  m.qk_norm = qk_norm;
  return m;
}
inline constexpr model gpt = gpt2_like(sizes), llama = llama_like(sizes);
inline constexpr model grouped = llama_like(odd), odd_gpt = gpt2_like(odd);

// Models in which the MLP, or the vocabulary, and not attention, takes the most memory.
inline constexpr model wide{.layers = 2, .hidden = 32, .heads = 4, .ffn = 1000, .vocab = 64, .seq = 48};
inline constexpr model wordy{.layers = 1, .hidden = 32, .heads = 4, .ffn = 64, .vocab = 3001, .seq = 32};

inline constexpr job one{.global_batch = 8, .micro_batch = 8};
inline constexpr job four{.global_batch = 8, .micro_batch = 2};
inline constexpr job many{.global_batch = 16, .micro_batch = 1, .label_smoothing = 0.1};
inline constexpr job eights{.global_batch = 16, .micro_batch = 2};

constexpr plan make(int dp, int tp, bool sp, precisions p = all_f32) {
  return {.dp = dp, .tp = tp, .sequence_parallel = sp, .precision = p};
}

inline constexpr configuration table[] = {
    {"gpt", gpt, one, make(1, 1, false)},
    {"gpt, f64, dropout", with(gpt, 0.1, true), four, make(1, 1, false, all_f64)},
    {"llama, mixed", llama, four, make(1, 1, false, mixed_bf16)},
    {"gpt, dp", gpt, four, make(2, 1, false)},
    {"gpt untied, dp, mixed with bf16 gradients", with(gpt, 0, false), four, make(2, 1, false, mixed_bf16_grads)},
    {"grouped, dp, f64", grouped, four, make(4, 1, false, all_f64)},
    {"padded gpt, dp", odd_gpt, eights, make(8, 1, false)},
    {"llama, dp, mixed", with(llama, 0.1, true, true), eights, make(8, 1, false, mixed_bf16)},
    {"gpt, tp", gpt, four, make(1, 2, false)},
    {"padded gpt, tp, dropout", with(odd_gpt, 0.2, true), many, make(1, 2, false, all_f64)},
    {"llama, tp, mixed with bf16 gradients", llama, one, make(1, 4, false, mixed_bf16_grads)},
    {"grouped, kv heads below tp", grouped, many, make(1, 4, false)},
    {"grouped, kv heads below tp", grouped, four, make(1, 8, false, mixed_bf16)},
    {"padded gpt untied, tp", with(odd_gpt, 0, false), four, make(1, 8, false, all_f64)},
    {"gpt, sp", gpt, four, make(1, 2, true)},
    {"grouped with q/k norms, sp", with(grouped, 0, true, true), many, make(1, 2, true, all_f64)},
    {"gpt, sp, dropout, mixed", with(gpt, 0.1, true), one, make(1, 4, true, mixed_bf16)},
    {"grouped, sp, kv heads below tp", with(grouped, 0.1, false, true), many, make(1, 4, true)},
    {"padded gpt, sp, kv heads below tp", odd_gpt, four, make(1, 8, true, mixed_bf16_grads)},
    {"grouped, sp, kv heads below tp", grouped, four, make(1, 8, true, all_f64)},
    {"gpt, dp and tp", gpt, four, make(2, 2, false)},
    {"grouped with q/k norms, dp and tp", with(grouped, 0.1, true, true), many, make(2, 2, false, mixed_bf16)},
    {"padded gpt, dp and sp", with(odd_gpt, 0.1, true), many, make(2, 2, true, mixed_bf16_grads)},
    {"llama, dp and sp", llama, eights, make(4, 2, true)},
    {"padded gpt untied, dp and tp", with(odd_gpt, 0.1, false), eights, make(4, 2, false, all_f64)},
    {"grouped, dp and tp, kv heads below tp", grouped, many, make(2, 4, false, all_f64)},
    {"grouped, dp and sp, kv heads below tp", with(grouped, 0.1, false), many, make(2, 4, true, mixed_bf16)},
    {"gpt, dp and sp", gpt, four, make(2, 4, true)},
    {"wide gpt, dp", gpt2_like(wide), four, make(2, 1, false)},
    {"wide llama, sp, dropout", with(llama_like(wide), 0.1, false), one, make(1, 4, true, mixed_bf16_grads)},
    {"wide gpt, dp and sp", gpt2_like(wide), four, make(2, 4, true, all_f64)},
    {"large vocabulary", llama_like(wordy), four, make(1, 1, false, mixed_bf16)},
    {"large vocabulary, dp and tp", gpt2_like(wordy), four, make(2, 4, false)},
    {"large vocabulary, sp", llama_like(wordy), one, make(1, 2, true, mixed_bf16_grads)},
};

}  // namespace plans
