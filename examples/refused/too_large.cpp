// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Refused: 7 billion parameters at 18 bytes each, and the activations of a step, are too much for one H200.
#include <meshpar/meshpar.hpp>

namespace mp = meshpar;

inline constexpr mp::model seven_billion =
    mp::llama_like({.layers = 32, .hidden = 4096, .heads = 32, .ffn = 11008, .vocab = 32000, .seq = 4096});
inline constexpr mp::job batch4{.global_batch = 4, .micro_batch = 1};
inline constexpr mp::plan four{.dp = 4, .precision = mp::mixed_bf16};

using net = mp::decoder<seven_billion, batch4, four>;
static_assert(mp::fits<net, mp::h200>);
