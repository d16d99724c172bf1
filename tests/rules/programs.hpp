// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
// For each rule of whole programs (ops/, nn/, meta/) one that it refuses, for the page that lists them.
#include <meshpar/meta/fits.hpp>
#include <meshpar/meta/runs_on.hpp>
#include <meshpar/nn/program.hpp>
#include <meshpar/nn/stack.hpp>

#include <vector>

namespace rules_test {

namespace programs {

using namespace meshpar;

constexpr model tiny{.layers = 1, .hidden = 16, .heads = 4, .ffn = 32, .vocab = 24, .seq = 8};
constexpr job one_sample{.global_batch = 1};
constexpr plan tp2{.tp = 2};

struct too_long {
  constexpr auto forward(const auto&, auto x) const {
    auto y = x;
    for (int i = 0; i < 200; ++i) y = relu(y);
    return y;
  }
};
struct named_twice {
  param<dims::hidden, dims::ffn> up{"weight"};
  param<dims::ffn, dims::hidden> down{"weight"};
  constexpr auto forward(const auto& r, auto x) const {
    const auto wide = contract(dims::hidden, to<R>(x, axes::tp), r[up]);
    return to_layout_of(x, contract(dims::ffn, wide, r[down]));
  }
};
struct in_two_states {
  param<dims::hidden, dims::head_dim> narrow{"narrow"};
  param<dims::head_dim, dims::hidden> widen{"widen"};
  constexpr auto forward(const auto& r, auto x) const {
    const auto a = contract(dims::hidden, x, r(narrow, x));
    const auto b = to_layout_of(a, contract(dims::hidden, to<R>(x, axes::tp), r[narrow]));
    return contract(dims::head_dim, sum(a, b), r(widen, a));
  }
};
// The embedding's name at the other end of the model, with other dims.
struct head_of_its_own {
  param<dims::hidden, dims::vocab> table{"embedding"};
  constexpr auto forward(const auto& r, auto x, auto labels) const {
    return cross_entropy(contract(dims::hidden, to<R>(x, axes::tp), r[table]), labels, 0);
  }
};
struct tied_apart : stack<> {
  using stack<>::stack;
  constexpr void trace(tracer& t, block_kind kind) const {
    if (kind == block_kind::last) trace_last(t, head_of_its_own{});
    else stack<>::trace(t, kind);
  }
};
struct device;

template <class Layers>
verdict refusal_of() {
  return program(tiny, one_sample, tp2, Layers(tiny, one_sample)).refusal();
}
template <class Mlp>
using with = stack<attention_layer, Mlp>;

}  // namespace programs

// What refuses it; the rule is the verdict's own.
inline std::vector<meshpar::verdict> refused_programs() {
  using namespace programs;
  return {
      refusal_of<with<too_long>>(), refusal_of<with<named_twice>>(),    refusal_of<with<in_two_states>>(),
      refusal_of<tied_apart>(),     memory_fits(140'000'000'000, h200), kernel_check<device, &swiglu_op::info>::result,
  };
}

}  // namespace rules_test
