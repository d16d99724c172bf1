// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Included by the test `emit` with HEADER and NAME: the emitted constants are those of the same name below.
#include <type_traits>
#include HEADER

namespace expected {

inline constexpr meshpar::model tiny_model{.layers = 4, .hidden = 64, .heads = 4, .ffn = 128, .vocab = 256, .seq = 64};
inline constexpr meshpar::job tiny_job{.global_batch = 16, .micro_batch = 2};
inline constexpr meshpar::plan tiny_plan{.dp = 2, .tp = 4, .sequence_parallel = true};

inline constexpr meshpar::model llama_model{.layers = 2,
                                            .hidden = 96,
                                            .heads = 6,
                                            .kv_heads = 3,
                                            .head_dim = 32,
                                            .ffn = 192,
                                            .vocab = 1000,
                                            .seq = 64,
                                            .norm = meshpar::norm_kind::rms,
                                            .activation = meshpar::activation_kind::swiglu,
                                            .positions = meshpar::position_kind::rotary,
                                            .bias = false,
                                            .qk_norm = true,
                                            .tied_embeddings = false,
                                            .dropout = 0.1,
                                            .norm_eps = 1e-6,
                                            .rope_theta = 500000};
inline constexpr meshpar::job llama_job{.global_batch = 16, .seed = 18446744073709551615ull, .label_smoothing = 0.05};
inline constexpr meshpar::plan llama_plan{.dp = 4,
                                          .tp = 3,
                                          .schedule = meshpar::schedule_kind::gpipe,
                                          .stage_layers = {2},
                                          .context_exchange = meshpar::exchange_kind::all_gather,
                                          .zigzag = false,
                                          .precision = meshpar::mixed_bf16_grads};

}  // namespace expected

#define JOINED(a, b) a##b
#define PART(name, part) JOINED(name, part)
static_assert(PART(NAME, _model) == expected::PART(NAME, _model));
static_assert(PART(NAME, _job) == expected::PART(NAME, _job));
static_assert(PART(NAME, _plan) == expected::PART(NAME, _plan));
static_assert(sizeof(PART(NAME, _net)) > 0);  // naming it checks every rule
