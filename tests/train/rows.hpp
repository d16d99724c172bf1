// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/config/plan.hpp>

#include "covering.hpp"

// The models and plans that the tests of whole steps run: factors with their levels, and rows of levels.
namespace meshpar_test {
using namespace meshpar;

enum factor_name { family, dp, tp, sp, kv, tied, drop, vocab, steps_in, size, smooth, qk, bias, act, norm, factors };
struct factor_of_a_row {
  const char* name;
  std::vector<int> levels;
};
inline const std::array<factor_of_a_row, factors> all_factors{{
    {"family", {0, 1}},    // 0 gpt2_like: learned positions; 1 llama_like: rotary
    {"dp", {1, 2, 4}},     //
    {"tp", {1, 2, 4, 8}},  //
    {"sp", {0, 1}},        //
    {"kv", {8, 4, 2, 1}},  // KV heads of 8 heads: above, equal to and below tp; 1 is MQA
    {"tied", {0, 1}},      //
    {"drop%", {0, 10}},    //
    {"vocab", {64, 61}},   // 61 is padded where tp > 1
    {"micro", {1, 2, 4}},  // micro-batches a step
    {"size", {1, 2}},      // sequences in one
    {"smooth%", {0, 10}},  //
    {"qk", {0, 1}},        //
    {"bias", {0, 1}},      //
    {"act", {0, 1, 2}},    // gelu, relu, swiglu
    {"norm", {0, 1}},      // layer, rms
}};

using row = levels<factors>;
inline int level(const row& r, factor_name f) { return all_factors[f].levels[static_cast<std::size_t>(r[f])]; }

inline bool legal(const row& r) { return level(r, dp) * level(r, tp) <= 8 && (level(r, tp) > 1 || level(r, sp) == 0); }

inline model model_of(const row& r) {
  model m{
      .layers = 2, .hidden = 32, .heads = 8, .kv_heads = level(r, kv), .ffn = 48, .vocab = level(r, vocab), .seq = 16};
  m = level(r, family) == 0 ? gpt2_like(m) : llama_like(m);
  m.tied_embeddings = level(r, tied) == 1;
  m.dropout = level(r, drop) / 100.0;
  m.qk_norm = level(r, qk) == 1;
  m.bias = level(r, bias) == 1;
  m.activation = static_cast<activation_kind>(level(r, act));
  m.norm = static_cast<norm_kind>(level(r, norm));
  return m;
}
inline job job_of(const row& r) {
  return {.global_batch = level(r, dp) * level(r, steps_in) * level(r, size),
          .micro_batch = level(r, size),
          .seed = 5,
          .label_smoothing = level(r, smooth) / 100.0};
}
inline plan plan_of(const row& r, const precisions& p = all_f64) {
  return {.dp = level(r, dp), .tp = level(r, tp), .sequence_parallel = level(r, sp) == 1, .precision = p};
}

// The two families as they are, under the plans that are run most.
inline const std::vector<row> pure{
    // fam dp tp sp kv tied drop vocab micro size smooth qk bias act norm
    {0, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 0, 1, 0, 0},  // GPT-2: dp2 tp2 sp, tied, dropout, padded vocabulary
    {1, 1, 2, 1, 2, 0, 0, 1, 1, 0, 0, 0, 0, 2, 1},  // Llama: dp2 tp4 sp, fewer KV heads than tp
    {0, 2, 1, 0, 0, 1, 1, 1, 1, 0, 1, 0, 1, 0, 0},  // GPT-2: dp4 tp2
    {1, 0, 3, 1, 2, 0, 1, 1, 2, 0, 0, 1, 0, 2, 1},  // Llama with q/k norms: tp8 sp
};

inline auto plans() {
  row sizes{};
  for (std::size_t f = 0; f < factors; ++f) sizes[f] = static_cast<int>(all_factors[f].levels.size());
  return covering<factors, decltype(&legal)>(sizes, &legal, 1, pure, 32);
}

}  // namespace meshpar_test
