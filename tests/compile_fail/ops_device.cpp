// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A device whose table lacks a kind that the program needs, beside one that has it.
#include <meshpar/meta/runs_on.hpp>
#include <meshpar/nn/decoder.hpp>

namespace mp = meshpar;

struct device {};
void run(device&, const mp::bound&) {}

using kind = mp::runner<device>;
inline constexpr kind without_swiglu[] = {
    {&mp::contract_op::info, &run},
    {&mp::rms_norm_kind::info, &run},
    {&mp::rms_norm_kind::input_grad_info, &run},
    {&mp::rms_norm_kind::weight_grad_info, &run},
    {&mp::sum_op::info, &run},
    {&mp::accumulate_op::info, &run},
    {&mp::accumulate_op::sum_info, &run},
    {&mp::rotary_op::info, &run},
    {&mp::attention_op::info, &run},
    {&mp::attention_op::grad_info, &run},
    {&mp::embedding_op::info, &run},
    {&mp::embedding_op::grad_info, &run},
    {&mp::cross_entropy_op::max_info, &run},
    {&mp::cross_entropy_op::sums_info, &run},
    {&mp::cross_entropy_op::info, &run},
    {&mp::cross_entropy_op::grad_info, &run},
};
inline constexpr auto with_swiglu =
    mp::extended<device>(without_swiglu, kind{&mp::swiglu_op::info, &run}, kind{&mp::swiglu_op::grad_info, &run});

inline constexpr mp::model tiny =
    mp::llama_like({.layers = 1, .hidden = 16, .heads = 4, .ffn = 32, .vocab = 24, .seq = 8});
inline constexpr mp::job one_sample{.global_batch = 1};
inline constexpr mp::plan one{};
using net = mp::decoder<tiny, one_sample, one>;

// told: fix::add_a_kernel
static_assert(mp::runs_on<net, device, without_swiglu>::ok);  // expect: device_has_no_kernel
static_assert(mp::runs_on<net, device, with_swiglu>::ok);
