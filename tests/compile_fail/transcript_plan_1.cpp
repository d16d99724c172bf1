// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/check.hpp>

namespace mp = meshpar;

inline constexpr mp::model tiny{.layers = 4, .hidden = 96, .heads = 48, .ffn = 240, .vocab = 256, .seq = 240};
inline constexpr mp::job batch16{.global_batch = 16, .micro_batch = 2};
inline constexpr mp::plan ten{.dp = 2, .tp = 5};

// expect: heads_divisible_by_tp, 48, 5
using net = mp::checked_plan<tiny, batch16, ten>;
static_assert(net::ok);
static_assert(net::values::p.tp >= 1);
constexpr int tp = net::values::p.tp;
