// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/check.hpp>

namespace mp = meshpar;

inline constexpr mp::model tiny{.layers = 4, .hidden = 96, .heads = 48, .ffn = 128, .vocab = 256, .seq = 64};
inline constexpr mp::job batch16{.global_batch = 16, .micro_batch = 3};
inline constexpr mp::plan ten{.dp = 2, .tp = 5, .sequence_parallel = true, .precision = {.moments = mp::dtype::bf16}};

// expect: heads_divisible_by_tp, 48, 5
// expect: ffn_divisible_by_tp, 128, 5
// expect: sequence_divisible_by_tp, 64, 5
// expect: global_batch_divisible, 16, 6
// expect: precision_is_supported
using net = mp::checked_plan<tiny, batch16, ten>;
static_assert(net::ok);
static_assert(net::values::p.tp >= 1);
constexpr int tp = net::values::p.tp;
