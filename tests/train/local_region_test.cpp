// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layers with regions of a user's own code in a decoder: on every plan they train as the library's own layers on one
// rank, parameter by parameter.
#include "extend/same_on_every_plan.hpp"
#include "support/local_kernels.hpp"

#include <doctest/doctest.h>

namespace mp = meshpar;
namespace axes = mp::axes;
namespace dims = mp::dims;
namespace same = same_on_every_plan;

namespace {

struct weights {
  mp::param<dims::hidden, dims::ffn> up{"up"}, gate{"gate"};
  mp::param<dims::ffn, dims::hidden> down{"down", mp::initial::residual};
};
// The library's own, with a norm of its own inside.
struct plain : weights {
  mp::param<dims::hidden> gain{"gain", mp::initial::normal};
  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::to<mp::R>(mp::rms_norm(dims::hidden, x, r(gain, x), existing::rms_norm::eps), axes::tp);
    const auto g = mp::contract(dims::hidden, h, r[gate]);
    const auto wide = mp::swiglu(g, mp::contract(dims::hidden, h, r[up]));
    return mp::to_layout_of(x, mp::contract(dims::ffn, wide, r[down]));
  }
};
struct with_row_product : plain {
  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::to<mp::R>(mp::rms_norm(dims::hidden, x, r(gain, x), existing::rms_norm::eps), axes::tp);
    const auto g = mp::contract(dims::hidden, h, r[gate]);
    const auto wide = mp::swiglu(g, mp::contract(dims::hidden, h, r[up]));
    return mp::to_layout_of(x, mp::local<existing::row_product>(wide, r[down]));
  }
};
// Norm and MLP both a user's: nothing but transitions is left of ours.
struct all_own : plain {
  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::to<mp::R>(mp::local<existing::rms_norm>(x, r(gain, x)), axes::tp);
    const auto g = r[gate];
    const auto u = r[up];
    const auto d = r[down];
    return mp::to_layout_of(x, mp::local<existing::swiglu_mlp>(h, g, u, d));
  }
};
static_assert(mp::check_layer<with_row_product>());
static_assert(mp::check_layer<all_own>());

constexpr mp::model tiny =
    mp::llama_like({.layers = 2, .hidden = 16, .heads = 4, .kv_heads = 2, .ffn = 32, .vocab = 24, .seq = 8});
constexpr mp::job batch4{.global_batch = 4};
constexpr auto table = std::span(mp::host_kinds::table<same::rank::device>);
template <class Mlp>
using with = mp::stack<mp::attention_layer, Mlp>;

constexpr mp::plan plans[] = {{.precision = mp::all_f64},
                              {.dp = 2, .precision = mp::all_f64},
                              {.dp = 4, .precision = mp::all_f64},
                              {.tp = 2, .precision = mp::all_f64},
                              {.tp = 4, .precision = mp::all_f64},
                              {.tp = 4, .sequence_parallel = true, .precision = mp::all_f64},
                              {.dp = 2, .tp = 2, .precision = mp::all_f64},
                              {.dp = 2, .tp = 4, .sequence_parallel = true, .precision = mp::all_f64}};

}  // namespace

TEST_CASE_TEMPLATE("a layer with local regions trains on every plan as the library's own on one rank", Mlp,
                   with_row_product, all_own) {
  const same::outcome one = same::run<with<plain>>(tiny, batch4, {.precision = mp::all_f64}, table);
  for (const mp::plan& p : plans) {
    CAPTURE(p.dp);
    CAPTURE(p.tp);
    CAPTURE(p.sequence_parallel);
    same::compare(one, same::run<with<Mlp>>(tiny, batch4, p, table));
  }
}
