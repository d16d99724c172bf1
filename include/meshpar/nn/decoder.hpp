// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/nn/check_layer.hpp>
#include <meshpar/nn/program.hpp>
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
struct trace_check {
  static constexpr verdict judge(block_kind kind) {
    const context plan = context_for<Net>;
    tracer t(plan);
    Net::make_layers().trace(t, kind);
    return t.refusal;
  }
  static constexpr verdict judge() {
    for (int k = 0; k < block_kinds; ++k)
      if (const verdict v = judge(static_cast<block_kind>(k)); !v.holds()) return v;
    return {};
  }
  static constexpr verdict result = judge();
};

// A user's layer in place of one of ours.
template <class Change, class Net>
struct replacement_check;
template <class Layer, class Mine, class Net>
struct replacement_check<replace<Layer, Mine>, Net> {
  static constexpr bool holds = layer_check<Mine, context_for<Net>>::holds;
  static_assert(layer_check<Mine, context_for<Net>>::ok);
};
template <class Layer, class Net>
struct replacement_check<replace<Layer, Layer>, Net> {
  static constexpr bool holds = true;  // ours: the trace checks it
};

// What only the trace of the whole model sees, and every rule of our own layers; where types have refused a layer, that
// was the one error.
template <class Net, bool LayersHold>
struct operations_check {};
template <class Net>
struct operations_check<Net, true> {
  static_assert(require<trace_check<Net>>::ok);
};

// A decoder-only transformer under a plan. Naming it checks every rule: of the configuration, of each operation of each
// layer, and of the layers that stand in for ours. By reference, so that errors name the configuration in the user's
// words.
template <const model& M, const job& J, const plan& P, class... Parts>
struct decoder : decoder_of<typename checked_plan<M, J, P>::values, typename replaced<attention_layer, Parts...>::type,
                            typename replaced<mlp, Parts...>::type, Parts...> {
  using attention = typename replaced<attention_layer, Parts...>::type;
  using feed_forward = typename replaced<mlp, Parts...>::type;
  using value = decoder_of<typename checked_plan<M, J, P>::values, attention, feed_forward, Parts...>;

 private:
  using attention_check = replacement_check<replace<attention_layer, attention>, value>;
  using feed_forward_check = replacement_check<replace<mlp, feed_forward>, value>;
  static_assert(checked_plan<M, J, P>::ok);
  [[no_unique_address]] operations_check<value, attention_check::holds && feed_forward_check::holds> checked;
};

}  // namespace meshpar::inline v0
