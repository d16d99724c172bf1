// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kinds of docs/silent_bugs.md as layers: each transition between states, forward and backward, with dropout in the
// region that it opens, on sizes that three ranks do not divide wherever they need not.
#include "silent_bugs/one_step.hpp"

#include <doctest/doctest.h>

using namespace silent_bugs;
namespace axes = mp::axes;
namespace dims = mp::dims;
using mp::I;
using mp::R;

namespace {

constexpr mp::model odd_sizes() {
  mp::model m = mp::llama_like({.layers = 2, .hidden = 10, .heads = 3, .kv_heads = 1, .head_dim = 4, .ffn = 9});
  m.vocab = 7, m.seq = 6, m.dropout = 0.2, m.bias = m.qk_norm = true;
  return m;
}
constexpr mp::model odd = odd_sizes();
constexpr mp::job three_at_a_time{.global_batch = 6, .micro_batch = 3};

// A layer in place of the MLP: loss and gradients of every plan are those of one rank.
template <class Layer>
void check() {
  using layers = mp::stack<mp::attention_layer, Layer>;
  const given_step g;
  const done_step expected = run_step<layers>(odd, three_at_a_time, {}, g);
  const mp::plan plans[] = {{.dp = 2},
                            {.tp = 3},
                            {.tp = 3, .sequence_parallel = true},
                            {.dp = 2, .tp = 3},
                            {.dp = 2, .tp = 3, .sequence_parallel = true}};
  for (const mp::plan& p : plans) {
    CAPTURE(p.dp);
    CAPTURE(p.tp);
    CAPTURE(p.sequence_parallel);
    const done_step found = run_step<layers>(odd, three_at_a_time, p, g);
    CHECK(found.loss == doctest::Approx(expected.loss).epsilon(1e-12));
    CHECK(difference(expected.grads, found.grads) < 1e-10);
  }
}

struct weights {
  mp::param<dims::hidden, dims::ffn> up{"up"};
  mp::param<dims::ffn, dims::hidden> down{"down"};
  mp::param<dims::hidden, dims::head_dim> narrow{"narrow"};
  mp::param<dims::head_dim, dims::hidden> widen{"widen"};
  mp::param<dims::hidden> gain{"gain", mp::initial::normal}, shift{"shift", mp::initial::normal};
};

struct same_work : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::to<I>(x, axes::tp);
    const auto n = mp::rms_norm(dims::hidden, h, r(gain, h), 1e-5);
    const auto b = mp::bias(n, r(shift, n));
    const auto a = mp::dropout(mp::gelu(mp::contract(dims::hidden, b, r(narrow, b))), 0.3);
    return mp::to_layout_of(x, mp::contract(dims::head_dim, a, r(widen, a)));
  }
};
struct own_work_on_the_same : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::to<R>(x, axes::tp);
    const auto n = mp::rms_norm(dims::hidden, h, r[gain], 1e-5);
    const auto b = mp::bias(n, r[shift]);
    const auto a = mp::dropout(mp::gelu(mp::contract(dims::hidden, b, r[narrow])), 0.3);
    return mp::to_layout_of(x, mp::contract(dims::head_dim, a, r[widen]));
  }
};
struct weights_handed_over : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::to<I>(x, axes::tp);
    const auto g = mp::to<I>(r[gain], axes::tp);
    const auto s = mp::to<I>(r[shift], axes::tp);
    return mp::to_layout_of(x, mp::bias(mp::rms_norm(dims::hidden, h, g, 1e-5), s));
  }
};
struct weights_gathered : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto tokens = mp::split(mp::to<R>(x, axes::tp), dims::seq, axes::tp);
    const auto in = mp::to<R>(r[up], axes::tp);
    const auto out = mp::to<R>(r[down], axes::tp);
    const auto u = mp::dropout(mp::gelu(mp::contract(dims::hidden, tokens, in)), 0.3);
    return mp::to_layout_of(x, mp::to<R>(mp::contract(dims::ffn, u, out), axes::tp));
  }
};
struct terms_kept_owed : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto u = mp::gelu(mp::contract(dims::hidden, mp::to<R>(x, axes::tp), r[up]));
    const auto terms = mp::dropout(mp::contract(dims::ffn, u, r[down]), 0.3);
    const auto a = mp::contract(dims::hidden, terms, r[narrow]);
    return mp::to_layout_of(x, mp::contract(dims::head_dim, a, r[widen]));
  }
};
struct sequences_over_tp : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::split(mp::to<R>(x, axes::tp), dims::batch, axes::tp);
    const auto a = mp::dropout(mp::gelu(mp::contract(dims::hidden, h, r[narrow])), 0.3);
    return mp::to_layout_of(x, mp::to<R>(mp::contract(dims::head_dim, a, r[widen]), axes::tp));
  }
};
template <class State>
struct whole_batch : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto all = mp::to<State>(mp::to<State>(x, axes::tp), axes::dp);
    const auto a = mp::dropout(mp::gelu(mp::contract(dims::hidden, all, r(narrow, all))), 0.3);
    const auto y = mp::contract(dims::head_dim, a, r(widen, a));
    return mp::to_layout_of(x, mp::split(y, dims::batch, axes::dp));
  }
};

}  // namespace

TEST_CASE("every rank does the same work") { check<same_work>(); }
TEST_CASE("every rank does work of its own on the same values") { check<own_work_on_the_same>(); }
TEST_CASE("replicated weights handed to a region of the same work") { check<weights_handed_over>(); }
TEST_CASE("split weights gathered for split tokens") { check<weights_gathered>(); }
TEST_CASE("terms of a sum carried on") { check<terms_kept_owed>(); }
TEST_CASE("a region whose sequences tp splits") { check<sequences_over_tp>(); }
TEST_CASE("the batch gathered over dp, for work of each rank and for the same work") {
  check<whole_batch<R>>();
  check<whole_batch<I>>();
}
