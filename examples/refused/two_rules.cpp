// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Refused twice: three ranks of dp do not share out the batch, and eight of tp have no head each.
#include <meshpar/check.hpp>

namespace mp = meshpar;

inline constexpr mp::model tiny{.layers = 4, .hidden = 64, .heads = 4, .ffn = 128, .vocab = 256, .seq = 64};
inline constexpr mp::job batch16{.global_batch = 16, .micro_batch = 2};
inline constexpr mp::plan wide{.dp = 3, .tp = 8};

static_assert(mp::checked_plan<tiny, batch16, wide>::ok);
