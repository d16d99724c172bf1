// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Refused today: a plan can already say pp, but nothing runs a pipeline yet.
#include <meshpar/check.hpp>

namespace mp = meshpar;

inline constexpr mp::model tiny{.layers = 4, .hidden = 64, .heads = 4, .ffn = 128, .vocab = 256, .seq = 64};
inline constexpr mp::job batch16{.global_batch = 16, .micro_batch = 2};
inline constexpr mp::plan pipeline{.pp = 2, .dp = 2};

static_assert(mp::checked_plan<tiny, batch16, pipeline>::ok);
