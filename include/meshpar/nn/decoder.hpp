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
template <class Configuration, class Attention, class Mlp>
struct decoder_of {
  static constexpr const model& what = Configuration::m;
  static constexpr const job& task = Configuration::j;
  static constexpr const plan& how = Configuration::p;
  static constexpr context where = context_of(what, task, how);
  using layers = stack<Attention, Mlp>;
  static constexpr layers make_layers() { return layers(what, task); }
};

// The rules of operations, over the whole model: its trace must hold.
template <class Net>
struct trace_check {
  static constexpr verdict judge() {
    program p(Net::what, Net::task, Net::how, Net::make_layers());
    return p.refusal();
  }
  static constexpr verdict result = judge();
};

template <class Net, class Layer, class Mine>
constexpr bool check_replacement() {
  if constexpr (!std::is_same_v<Layer, Mine>) return layer_check<Mine, Net::where>::ok;
  return true;
}

// A decoder-only transformer under a plan. Naming it checks every rule: of the configuration, of each operation of each
// layer, and of the layers that stand in for ours. By reference, so that errors name the configuration in the user's
// words.
template <const model& M, const job& J, const plan& P, class... Parts>
struct decoder : decoder_of<typename checked_plan<M, J, P>::values, typename replaced<attention_layer, Parts...>::type,
                            typename replaced<mlp, Parts...>::type> {
  using attention_type = typename replaced<attention_layer, Parts...>::type;
  using mlp_type = typename replaced<mlp, Parts...>::type;
  using value = decoder_of<typename checked_plan<M, J, P>::values, attention_type, mlp_type>;
  static_assert(checked_plan<M, J, P>::ok);
  static_assert(check_replacement<value, attention_layer, attention_type>());
  static_assert(check_replacement<value, mlp, mlp_type>());
  static_assert(!std::is_same_v<mlp_type, mlp> || !std::is_same_v<attention_type, attention_layer> ||
                require<trace_check<value>>::ok);
};

}  // namespace meshpar::inline v0
