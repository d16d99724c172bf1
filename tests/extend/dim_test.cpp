// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A dim of a user's own is one declaration. Its size is a part of the decoder, and says over what it is split.
#include <meshpar/meshpar.hpp>

#include "extend/same_on_every_plan.hpp"

#include <doctest/doctest.h>

namespace mp = meshpar;
namespace axes = mp::axes;
namespace dims = mp::dims;

inline constexpr mp::dim<"bottleneck"> bottleneck;

// An MLP with a narrow middle of its own.
struct narrow_mlp {
  mp::param<dims::hidden, bottleneck> down{"down"};
  mp::param<bottleneck, dims::hidden> up{"up", mp::initial::residual};

  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::to<mp::R>(x, axes::tp);
    const auto y = mp::gelu(mp::contract(dims::hidden, h, r[down]));
    return mp::to_layout_of(x, mp::contract(bottleneck, y, r[up]));
  }
};
using width = mp::size<bottleneck, 12, axes::tp>;
static_assert(mp::check_layer<narrow_mlp, width>());

inline constexpr mp::model tiny =
    mp::gpt2_like({.layers = 2, .hidden = 16, .heads = 4, .ffn = 32, .vocab = 24, .seq = 8});
inline constexpr mp::job batch4{.global_batch = 4};
inline constexpr mp::plan dp2_tp4{.dp = 2, .tp = 4, .precision = mp::all_f64};
using net = mp::decoder<tiny, batch4, dp2_tp4, mp::replace<mp::mlp, narrow_mlp>, width>;
static_assert(net::layers::own.size() == 1);

TEST_CASE("a layer over a user's dim trains alike on every plan") {
  same_on_every_plan::check<mp::stack<mp::attention_layer, narrow_mlp, width>>(tiny, batch4);
}

TEST_CASE("the dim is split as its size says") {
  const mp::program p(tiny, batch4, dp2_tp4, net::make_layers());
  REQUIRE(!p.refused());
  int found = 0;
  for (const mp::parameter_entry& e : p.parameters)
    if (const int at = p.shape(e).find(bottleneck); at >= 0) {
      CHECK(p.shape(e).dims[at].local == 3);
      CHECK(p.shape(e).dims[at].by.axes() == mp::axis_set(axes::tp));
      ++found;
    }
  CHECK(found == 2);
}

TEST_CASE("without a size the dim is refused by name") {
  const mp::program p(tiny, batch4, dp2_tp4, mp::stack<mp::attention_layer, narrow_mlp>(tiny, batch4));
  CHECK(p.refusal().broken == mp::rule::dimension_missing);
  CHECK(std::string(p.refusal().why.s).find("bottleneck") != std::string::npos);
}
