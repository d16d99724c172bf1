// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A layer of a user's own: parameters, then forward. It stands in a decoder in place of ours.
#include <meshpar/meshpar.hpp>

#include "extend/same_on_every_plan.hpp"

#include <doctest/doctest.h>

#include <set>

namespace mp = meshpar;
namespace axes = mp::axes;
namespace dims = mp::dims;

// Two branches of one width, a ReLU and a GELU, added.
struct two_branches {
  mp::param<dims::hidden, dims::ffn> left{"left"};
  mp::param<dims::hidden, dims::ffn> right{"right"};
  mp::param<dims::ffn> shift{"shift", mp::initial::zeros};
  mp::param<dims::ffn, dims::hidden> down{"down", mp::initial::residual};

  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::to<mp::R>(x, axes::tp);
    const auto a = mp::relu(mp::contract(dims::hidden, h, r[left]));
    const auto b = mp::gelu(mp::bias(mp::contract(dims::hidden, h, r[right]), r[shift]));
    return mp::to_layout_of(x, mp::contract(dims::ffn, mp::sum(a, b), r[down]));
  }
};
static_assert(mp::check_layer<two_branches>());  // by its types, under tp with and without sequence parallelism

inline constexpr mp::model tiny =
    mp::llama_like({.layers = 2, .hidden = 16, .heads = 4, .kv_heads = 2, .ffn = 32, .vocab = 24, .seq = 8});
inline constexpr mp::job batch4{.global_batch = 4};
inline constexpr mp::plan eight{.dp = 2, .tp = 4, .sequence_parallel = true};
using net = mp::decoder<tiny, batch4, eight, mp::replace<mp::mlp, two_branches>>;  // and under one plan
static_assert(sizeof(net) > 0 && std::is_same_v<net::feed_forward, two_branches>);

TEST_CASE("a decoder with a user's layer trains alike on every plan") {
  same_on_every_plan::check<mp::stack<mp::attention_layer, two_branches>>(tiny, batch4);
}

TEST_CASE("its parameters are the model's, by name") {
  const mp::program p(tiny, batch4, eight, net::make_layers());
  std::set<std::string> names;
  for (const mp::parameter_entry& e : p.parameters)
    if (e.kind == mp::block_kind::mlp) names.insert(mp::full_name(p, e, 1));
  CHECK(names == std::set<std::string>{"layers.1.mlp.norm.gain", "layers.1.mlp.left", "layers.1.mlp.right",
                                       "layers.1.mlp.shift", "layers.1.mlp.down"});
}
