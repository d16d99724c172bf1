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
// A weight that a region and an operation of ours use: its gradient is the sum of both.
struct plain_twice : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::to<mp::R>(x, axes::tp);
    const auto a = mp::contract(dims::ffn, mp::gelu(mp::contract(dims::hidden, h, r[up])), r[down]);
    const auto b = mp::contract(dims::ffn, mp::silu(mp::contract(dims::hidden, h, r[gate])), r[down]);
    return mp::to_layout_of(x, mp::sum(a, b));
  }
};
struct own_twice : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::to<mp::R>(x, axes::tp);
    const auto a = mp::contract(dims::ffn, mp::gelu(mp::contract(dims::hidden, h, r[up])), r[down]);
    const auto b = mp::local<existing::row_product>(mp::silu(mp::contract(dims::hidden, h, r[gate])), r[down]);
    return mp::to_layout_of(x, mp::sum(a, b));
  }
};
static_assert(mp::check_layer<with_row_product>());
static_assert(mp::check_layer<own_twice>());
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

template <class Own, class Usual>
void trains_as() {
  const same::outcome one = same::run<with<Usual>>(tiny, batch4, {.precision = mp::all_f64}, table);
  for (const mp::plan& p : plans) {
    CAPTURE(p.dp);
    CAPTURE(p.tp);
    CAPTURE(p.sequence_parallel);
    same::compare(one, same::run<with<Own>>(tiny, batch4, p, table));
  }
}

}  // namespace

TEST_CASE("a layer with local regions trains on every plan as the library's own on one rank") {
  trains_as<with_row_product, plain>();
  trains_as<all_own, plain>();
  trains_as<own_twice, plain_twice>();
}

// ---- in bf16, element by element, so that every bit is the library's
namespace {

struct own_relu {
  static constexpr const char* name = "own_relu";
  static constexpr mp::local_edges edges{.inputs = {{"x", {dims::seq, dims::batch, dims::ffn}}},
                                         .result = {"y", {dims::seq, dims::batch, dims::ffn}},
                                         .splits = {dims::seq, dims::batch, dims::ffn}};
  static constexpr bool takes_bf16 = true;
  template <class T>
  static void forward(mp::buffer<const T> x, mp::buffer<T> y) {
    for (std::int64_t i = 0; i < x.count(); ++i) y[i] = static_cast<float>(x[i]) > 0 ? x[i] : T(0.0f);
  }
  template <class T>
  static void backward(mp::buffer<const T> x, mp::buffer<const T> dy, mp::buffer<T> dx) {
    for (std::int64_t i = 0; i < x.count(); ++i) dx[i] = static_cast<float>(x[i]) > 0 ? dy[i] : T(0.0f);
  }
};
template <bool Own>
struct relu_mlp : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::contract(dims::hidden, mp::to<mp::R>(x, axes::tp), r[up]);
    if constexpr (Own) return mp::to_layout_of(x, mp::contract(dims::ffn, mp::local<own_relu>(h), r[down]));
    else return mp::to_layout_of(x, mp::contract(dims::ffn, mp::relu(h), r[down]));
  }
};
template <bool Own>
std::vector<double> losses_in_bf16() {
  const mp::program p(tiny, batch4, {.tp = 2, .precision = mp::mixed_bf16}, with<relu_mlp<Own>>(tiny, batch4));
  std::vector<double> losses;
  mp::run_ranks<mp::element_types<mp::bf16, float, float, float>>(p, [&](auto& r) {
    for (int k = 0; k < 3; ++k) {
      const mp::step_report s = r.step(
          static_cast<std::uint64_t>(k), [](auto q, auto i) { return static_cast<int>((q + 3 * i) % 24); },
          [](auto q, auto i) { return static_cast<int>((q * i + 5) % 24); }, {});
      if (r.number() == 0) losses.push_back(s.loss);
    }
  });
  return losses;
}

}  // namespace

TEST_CASE("a region that takes bf16 has its bits") { CHECK(losses_in_bf16<true>() == losses_in_bf16<false>()); }

TEST_CASE("a region without functions for the element type is refused at run time too") {
  const mp::program p(tiny, batch4, {.precision = mp::mixed_bf16}, with<all_own>(tiny, batch4));
  CHECK_THROWS_WITH_AS((mp::run_ranks<mp::element_types<mp::bf16, float, float, float>>(p, [](auto&) {})),
                       doctest::Contains("own_rms_norm takes no buffers of bf16"), mp::comm_error);
}
