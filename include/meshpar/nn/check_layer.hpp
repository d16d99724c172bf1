// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/nn/context_of.hpp>
#include <meshpar/nn/make.hpp>
#include <meshpar/ops/scope.hpp>
#include <meshpar/ops/to.hpp>

#include <utility>

namespace meshpar::inline v0 {

// What a layer is checked under: a model of which no two dims have one size, and plans in which every axis is above 1
// (a wrong layer could compile at tp = 1) and in which tp exceeds the KV heads. A layer may split any other dim
// further: whether its sizes divide is asked under the plan that it runs under.
namespace layer_checks {
inline constexpr model sizes{
    .hidden = 88, .heads = 8, .kv_heads = 2, .head_dim = 24, .ffn = 104, .vocab = 136, .seq = 32};
inline constexpr job work{.global_batch = 80, .micro_batch = 40};
template <class... Parts>
inline constexpr context with_sp =
    context_of(sizes, work, {.dp = 2, .tp = 4, .sequence_parallel = true}, own_sizes<Parts...>::all);
template <class... Parts>
inline constexpr context without_sp = context_of(sizes, work, {.dp = 2, .tp = 4}, own_sizes<Parts...>::all);
}  // namespace layer_checks

// A layer of the residual stream must return what the next one takes.
template <layout Stream, class Result>
struct returns_the_stream {
  static constexpr verdict judge() {
    if (Result::shape() == Stream) return {};
    text t;
    t << "the layer returns " << name_of(Result::shape()) << " but the next one takes " << name_of(Stream)
      << "; end it with to_layout_of(x, y)";
    return {.broken = rule::transition_is_not_one_collective, .why = t};
  }
  static constexpr verdict result = judge();
};
template <layout Stream>
struct returns_the_stream<Stream, refused> {
  static constexpr verdict result{};  // has been refused already
};

// A user's layer, checked by its types under a plan, so that a refusal stands at the user's own line.
template <class Layer, const context& Plan>
struct layer_check {
  using result = decltype(std::declval<const Layer&>().forward(typed_scope<Plan>{}, tensor<Plan.stream, Plan>{}));
  static constexpr bool holds = result::shape() == Plan.stream;
  static_assert(require<returns_the_stream<Plan.stream, result>>::ok);
  static constexpr bool ok = true;
};

// What types do not see, because it takes two operations: the layer's forward pass must hold as a trace too.
template <class Layer, const context& Plan>
struct forward_trace {
  static constexpr verdict judge() {
    const context plan = Plan;
    tracer t(plan);
    make<Layer>(layer_checks::sizes).forward(traced_scope(t), traced{&t, t.make(plan.stream, plan.compute)});
    return t.refusal;
  }
  static constexpr verdict result = judge();
};
template <class Layer, const context& Plan, bool TypesHold = layer_check<Layer, Plan>::holds>
struct whole_check {
  static constexpr bool holds = false;  // has been refused already
  static constexpr bool ok = true;
};
template <class Layer, const context& Plan>
struct whole_check<Layer, Plan, true> {
  static constexpr bool holds = forward_trace<Layer, Plan>::result.holds();
  static_assert(require<forward_trace<Layer, Plan>>::ok);
  static constexpr bool ok = true;
};

// static_assert(mp::check_layer<my_layer>()): whether the layer may stand between norm and residual stream of a decoder
// under tensor parallelism, with sequence parallelism and without. What the first plan refuses is not checked under the
// second. Parts are the decoder's: sizes of the layer's own dims.
template <class Layer, class... Parts>
constexpr bool check_layer() {
  using first = whole_check<Layer, layer_checks::with_sp<Parts...>>;
  if constexpr (first::holds) return whole_check<Layer, layer_checks::without_sp<Parts...>>::ok;
  else return first::ok;
}

}  // namespace meshpar::inline v0
