// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/nn/check_layer.hpp>
#include <meshpar/nn/program.hpp>
#include <meshpar/ops/kinds.hpp>
#include <meshpar/rules/require_plan.hpp>

#include <utility>

namespace meshpar::inline v0 {

// `replace<mlp, mine>` among the parts of a decoder: the layer `mine` stands where mlp would.
template <class Layer, class Mine>
struct replace {};

template <class Layer, class... Parts>
struct replaced {
  using type = Layer;
};
template <class Layer, class Mine, class... Parts>
struct replaced<Layer, replace<Layer, Mine>, Parts...> {
  using type = Mine;
};
template <class Layer, class First, class... Parts>
struct replaced<Layer, First, Parts...> : replaced<Layer, Parts...> {};

// A decoder by value: equal configurations are one type.
template <class Configuration, class Attention, class Mlp, class... Parts>
struct decoder_of {
  static constexpr model what = Configuration::m;
  static constexpr job task = Configuration::j;
  static constexpr plan how = Configuration::p;
  using layers = stack<Attention, Mlp, Parts...>;
  static constexpr layers make_layers() { return layers(what, task); }
};

// The context of a decoder: an object of its own, that types can refer to.
template <class Net>
inline constexpr context context_for = context_of(Net::what, Net::task, Net::how, Net::layers::own);

// The rules of operations, over the whole model: its trace must hold.
template <class Net>
constexpr verdict refusal_of_a_block() {
  const context plan = context_for<Net>;
  tracer blocks[block_kinds]{tracer(plan), tracer(plan), tracer(plan), tracer(plan)};
  for (int k = 0; k < block_kinds; ++k) {
    Net::make_layers().trace(blocks[k], static_cast<block_kind>(k));
    if (blocks[k].refused()) return blocks[k].refusal;
    if (const verdict v = element_types_served(blocks[k]); !v.holds()) return v;
  }
  return tied_parameters_placed_alike(blocks[static_cast<int>(block_kind::first)],
                                      blocks[static_cast<int>(block_kind::last)]);
}
template <class Net>
inline constexpr verdict trace_verdict = refusal_of_a_block<Net>();

// A configuration in the user's words, the layers that it takes and the decoder by value.
template <const model& M, const job& J, const plan& P, class... Parts>
struct setup {
  using attention = typename replaced<attention_layer, Parts...>::type;
  using feed_forward = typename replaced<mlp, Parts...>::type;
  using value = decoder_of<typename checked_plan<M, J, P>::values, attention, feed_forward, Parts...>;
};

// What only the trace of the whole model sees, and every rule of our own layers; where types have refused a layer, that
// was the one error.
template <class Setup, bool LayersHold>
struct trace_check {
  static constexpr verdict result{};
};
template <class Setup>
struct trace_check<Setup, true> {
  static constexpr verdict result = trace_verdict<typename Setup::value>;
};

// A decoder-only transformer under a plan. Naming it checks every rule: of the configuration, of each operation of each
// layer, and of the layers that stand in for ours. By reference, so that errors name the configuration in the user's
// words.
template <const model& M, const job& J, const plan& P, class... Parts>
struct decoder : setup<M, J, P, Parts...>::value {
  using attention = typename setup<M, J, P, Parts...>::attention;
  using feed_forward = typename setup<M, J, P, Parts...>::feed_forward;
  using value = typename setup<M, J, P, Parts...>::value;

 private:
  using scope = scope_of<context_for<value>>;
  using whole = trace_check<setup<M, J, P, Parts...>, checked_layer<attention, scope, attention_layer>::holds &
                                                          checked_layer<feed_forward, scope, mlp>::holds>;
  static_assert(checked_plan<M, J, P>::ok);
  static_assert(decltype(ruling<whole>())::ok);
};

}  // namespace meshpar::inline v0
