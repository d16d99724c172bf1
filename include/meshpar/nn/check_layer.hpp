// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/core/require.hpp>  // here, so that errors tell of few inclusions
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
constexpr verdict not_the_stream(const layout& x, const layout& stream) {
  verdict v{.broken = rule::not_one_collective, .why = text{} << "the layer returns "};
  for (std::uint8_t i = 0; i < axis_limit && x.dims.size() == stream.dims.size(); ++i)
    if (const text a = state_of(x, axis{i}), b = state_of(stream, axis{i}); !(a == b)) {
      v.remedy = fix::to_layout_of, v.over = static_cast<along>(i);
      v.left_is = state_at(x, axis{i}), v.right_is = state_at(stream, axis{i});
      v.why << a << " over " << name_of(axis{i}) << ", the next takes " << b << "; end it with to_layout_of(x, y)";
      return v;
    }
  v.why << name_of(x) << ", not the dims of the residual stream";
  return v;
}
template <class Stream, class Result>
struct returns_the_stream {
  static constexpr verdict judge() {
    if (std::is_same_v<Stream, Result>) return {};
    return not_the_stream(Result::shape(), Stream::shape());
  }
  static constexpr verdict result = judge();
};
template <class Stream>
struct returns_the_stream<Stream, refused> {
  static constexpr verdict result{};  // has been refused already
};

// A user's layer, checked by its types under a plan, so that a refusal stands at the user's own line. A layer of ours
// in its own place is not: the trace of the model checks it.
template <class Layer, class Scope, class InPlaceOf = void>
struct checked_layer {
  using stream = decltype(Scope{}.stream());
  using result = decltype(std::declval<const Layer&>().forward(Scope{}, stream{}));
  static constexpr bool holds = std::is_same_v<result, stream>;
  static_assert(require<returns_the_stream<stream, result>>::ok);
  static constexpr bool ok = true;
};
template <class Layer, class Scope>
struct checked_layer<Layer, Scope, Layer> {
  static constexpr bool holds = true;
};
template <class Layer, const context& Plan>
using layer_check = checked_layer<Layer, scope_of<Plan>>;

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
// static_assert(mp::check_layer<my_layer>()): whether the layer may stand between norm and residual stream of a decoder
// under tensor parallelism, with sequence parallelism and without. What the first plan refuses is not checked under the
// second. Parts are the decoder's: sizes of the layer's own dims. (It asks forward itself, not layer_check: messages
// are shorter by that.)
template <class Layer, class... Parts>
constexpr bool check_layer() {
  using scope = scope_of<layer_checks::with_sp<Parts...>>;
  using stream = decltype(scope{}.stream());
  using result = decltype(std::declval<const Layer&>().forward(scope{}, stream{}));
  static_assert(require<returns_the_stream<stream, result>>::ok);
  if constexpr (std::is_same_v<result, stream>) {
    static_assert(require<forward_trace<Layer, layer_checks::with_sp<Parts...>>>::ok);
    using other_scope = scope_of<layer_checks::without_sp<Parts...>>;
    using other_stream = decltype(other_scope{}.stream());
    using other = decltype(std::declval<const Layer&>().forward(other_scope{}, other_stream{}));
    static_assert(require<returns_the_stream<other_stream, other>>::ok);
    if constexpr (std::is_same_v<other, other_stream> &&
                  forward_trace<Layer, layer_checks::with_sp<Parts...>>::result.holds())
      static_assert(require<forward_trace<Layer, layer_checks::without_sp<Parts...>>>::ok);
  }
  return true;
}

}  // namespace meshpar::inline v0
