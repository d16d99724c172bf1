// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A model that does not fit into a device's memory, beside plans and devices for which it does.
#include <meshpar/meta/fits.hpp>
#include <meshpar/nn/decoder.hpp>

using namespace meshpar;

constexpr model deep = llama_like({.layers = 16, .hidden = 512, .heads = 8, .ffn = 1536, .vocab = 4096, .seq = 512});
constexpr job batch{.global_batch = 16, .micro_batch = 4};
constexpr plan dp2{.dp = 2};
constexpr plan tp4_sp{.tp = 4, .sequence_parallel = true};
constexpr cluster small{.memory_bytes = 1'000'000'000, .reserve_bytes = 100'000'000};
constexpr cluster large{.memory_bytes = 4'000'000'000, .reserve_bytes = 100'000'000};
constexpr cluster shared{.memory_bytes = 4'000'000'000, .reserve_bytes = 2'500'000'000};

static_assert(fits<decoder<deep, batch, dp2>, small>);  // expect: memory_fits, 2170, 900
static_assert(fits<decoder<deep, batch, dp2>, large>);
static_assert(fits<decoder<deep, batch, tp4_sp>, small>);
static_assert(fits<decoder<deep, batch, dp2>, shared>);  // expect: memory_fits, 2170, 1500
