// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/nn/context_of.hpp>
#include <meshpar/ops/backward.hpp>
#include <meshpar/ops/scope.hpp>
#include <meshpar/ops/sum.hpp>

#include <type_traits>
#include <utility>

namespace meshpar::inline v0 {

// What a layer is checked under: a model of which no two dims have one size, and plans in which every axis is above 1
// (a wrong layer could compile at tp = 1) and in which tp exceeds the KV heads.
namespace layer_checks {
inline constexpr model sizes{
    .hidden = 88, .heads = 8, .kv_heads = 2, .head_dim = 10, .ffn = 104, .vocab = 136, .seq = 32};
inline constexpr job work{.global_batch = 24, .micro_batch = 3};
inline constexpr context with_sp = context_of(sizes, work, {.dp = 2, .tp = 4, .sequence_parallel = true});
inline constexpr context without_sp = context_of(sizes, work, {.dp = 2, .tp = 4});
}  // namespace layer_checks

// x + layer(x) on typed tensors. A refusal names the line of the layer that is at fault; one of the result, this line.
template <const context& Plan, class Layer>
constexpr auto check_layer_under(const Layer& layer) {
  const tensor<Plan.stream, Plan> x;
  return sum(x, layer.forward(typed_scope<Plan>{}, x));
}
template <const context& Plan, class Layer>
using checked_under = decltype(check_layer_under<Plan>(std::declval<const Layer&>()));

// static_assert(mp::check_layer<my_layer>()): whether the layer may stand between norm and residual stream of a decoder
// under tensor parallelism, with sequence parallelism and without. It is not checked under the second plan when it is
// refused under the first.
template <class Layer>
constexpr bool check_layer() {
  using first = checked_under<layer_checks::with_sp, Layer>;
  if constexpr (!std::is_same_v<first, refused>)
    return !std::is_void_v<checked_under<layer_checks::without_sp, Layer>>;
  else
    return true;  // it has been said
}

}  // namespace meshpar::inline v0
