// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/ops/activation.hpp>
#include <meshpar/ops/attention.hpp>
#include <meshpar/ops/backward.hpp>
#include <meshpar/ops/block.hpp>
#include <meshpar/ops/contract.hpp>
#include <meshpar/ops/cross_entropy.hpp>
#include <meshpar/ops/dropout.hpp>
#include <meshpar/ops/embedding.hpp>
#include <meshpar/ops/norm.hpp>
#include <meshpar/ops/rotary.hpp>
#include <meshpar/ops/scope.hpp>
#include <meshpar/ops/sum.hpp>

#include "support/local_kernels.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <memory>
#include <string>

// Each operation exists in two forms, one that has its layouts in types and one that has them as data. Over a table of
// layouts, valid and invalid, both give the same verdict, word by word, and the same layout.
namespace {
using namespace meshpar;

constexpr mesh ranks{extent{axes::dp, 2}, extent{axes::tp, 2}};

constexpr context make_plan() {
  context c;
  c.ranks = ranks;
  c.placement.push_back({dims::hidden, 8, 8, {}});
  c.placement.push_back({dims::ffn, 12, 12, axes::tp});
  c.placement.push_back({dims::heads, 3, 3, axes::tp});  // 2 ranks do not divide it
  c.tokens = make_layout(make_dim(dims::seq, 8, ranks), make_dim(dims::batch, 4, ranks, axes::dp));
  c.stream = make_layout(make_dim(dims::seq, 8, ranks, axes::tp), make_dim(dims::batch, 4, ranks, axes::dp),
                         make_dim(dims::hidden, 8, ranks));
  return c;
}
constexpr context plan = make_plan();

// ---- layouts: a base of global sizes, and its variants

constexpr layout base(std::initializer_list<placed_dim> all) {
  layout l;
  for (const placed_dim& d : all) l.dims.push_back(make_dim(d.name, d.size, ranks));
  return l;
}
constexpr layout split_at(layout l, int i, axis_set s) {
  l.dims[i] = make_dim(l.dims[i].name, l.dims[i].local, ranks, s);
  return l;
}
enum variant {
  whole,
  owed,
  invariant,
  last_split,
  first_split,
  third_split,
  short_of_a_dim,
  other_size,
  maximum,
  over_dp
};

constexpr layout make(layout l, variant v) {
  const int last = l.dims.size() - 1;
  switch (v) {
    case whole: return l;
    case owed: return with_owed(l, axes::tp, ranks);
    case invariant: return with_invariant(l, axes::tp, ranks);
    case last_split: return split_at(l, last, axes::tp);
    case first_split: return split_at(l, 0, axes::tp);
    case third_split: return split_at(l, last < 2 ? last : 2, axes::tp);
    case short_of_a_dim: l.dims.pop_back(); return l;
    case other_size: l.dims[last].local += 2; return l;
    case maximum: l.maximum = axes::tp; return l;
    case over_dp: return split_at(l, 0, axes::dp);
  }
  return l;
}

int judgements = 0, refusals = 0;

// What one form says and the other: the refusal of the traced form and the verdict of the types, the two layouts.
void check_same(const tracer& t, const verdict& typed, const layout& traced_result, const layout& typed_result) {
  ++judgements, refusals += t.refused();
  CHECK(t.refused() == !typed.holds());
  CHECK(t.refusal.broken == typed.broken);
  CHECK((t.refusal.left == typed.left && t.refusal.right == typed.right && t.refusal.repair == typed.repair));
  CHECK(std::string(t.refusal.why.c_str()) == typed.why.c_str());
  if (t.refused()) CHECK(t.refusal.line > 0);
  else CHECK(traced_result == typed_result);
}

template <layout L>
constexpr int number_in = enter_layout<L, enter_plan<plan>::number>::number;

// One row of the table: operation Op on layouts L, called by `call`. A refused operation is not called in types: it
// would not compile.
template <class Op, layout... L>
void compare(auto call) {
  using typed = check<Op, number_in<L>...>;
  const auto t = std::make_unique<tracer>(plan);
  const traced out = call(traced{t.get(), t->make(L, dtype::f32)}...);
  if constexpr (typed::result.holds())
    check_same(*t, typed::result, out.shape(), decltype(call(tensor_of<L, plan>{}...))::shape());
  else check_same(*t, typed::result, {}, {});
}

template <variant... V>
struct variants {};

template <class Op, layout A, variant... V>
void unary(variants<V...>, auto call) {
  (compare<Op, make(A, V)>(call), ...);
}
template <class Op, layout A, layout B, variant... V, variant... W>
void binary(variants<V...> left, variants<W...>, auto call) {
  const auto with = [call]<variant Right>(variants<V...>, variants<Right>) {
    (compare<Op, make(A, V), make(B, Right)>(call), ...);
  };
  (with(left, variants<W>{}), ...);
}
template <class Op, layout A, layout B, layout C, variant... V, variant... W, variant... X>
void ternary(variants<V...> a, variants<W...> b, variants<X...>, auto call) {
  const auto with = [&]<variant Third>(variants<Third>) {
    const auto row = [call]<variant Second>(variants<V...>, variants<Second>) {
      (compare<Op, make(A, V), make(B, Second), make(C, Third)>(call), ...);
    };
    [&]<variant... S>(variants<S...>) { (row(a, variants<S>{}), ...); }(b);
  };
  (with(variants<X>{}), ...);
}

// ---- the operands

constexpr layout stream = base({{dims::seq, 8}, {dims::batch, 4}, {dims::hidden, 8}});
constexpr layout tokens = base({{dims::seq, 8}, {dims::batch, 4}});
constexpr layout wide = base({{dims::seq, 8}, {dims::batch, 4}, {dims::ffn, 12}});
constexpr layout up = base({{dims::hidden, 8}, {dims::ffn, 12}}), down = base({{dims::ffn, 12}, {dims::hidden, 8}});
constexpr layout gain = base({{dims::hidden, 8}});
constexpr layout table = base({{dims::vocab, 16}, {dims::hidden, 8}});
constexpr layout position_table = base({{dims::positions, 8}, {dims::hidden, 8}});
constexpr layout logits = base({{dims::seq, 8}, {dims::batch, 4}, {dims::vocab, 16}});
constexpr layout q = base({{dims::seq, 8}, {dims::batch, 4}, {dims::heads, 4}, {dims::head_dim, 4}});
constexpr layout k = base({{dims::seq, 8}, {dims::batch, 4}, {dims::kv_heads, 2}, {dims::head_dim, 4}});
constexpr layout by_head = base({{dims::heads, 4}, {dims::head_dim, 4}, {dims::hidden, 8}});

using most = variants<whole, owed, invariant, last_split, first_split, third_split, short_of_a_dim, maximum, over_dp>;
using some = variants<whole, owed, invariant, last_split, first_split, other_size>;
using few = variants<whole, owed, invariant, last_split>;

TEST_CASE("unary operations") {
  unary<activation_op, stream>(most{}, [](auto x) { return gelu(x); });
  unary<activation_op, stream>(most{}, [](auto x) { return relu(x); });
  unary<activation_op, stream>(most{}, [](auto x) { return silu(x); });
  unary<dropout_op, stream>(most{}, [](auto x) { return dropout(x, 0.1); });
  unary<rotary_op, q>(most{}, [](auto x) { return rotary(x, 1e4); });
  unary<rotary_op, k>(most{}, [](auto x) { return rotary(x, 1e4); });
}

TEST_CASE("transitions") {
  unary<to_axis_op<R, named_axis<3>>, stream>(most{}, [](auto x) { return to<R>(x, axes::tp); });
  unary<to_axis_op<I, named_axis<3>>, stream>(most{}, [](auto x) { return to<I>(x, axes::tp); });
  unary<to_axis_op<R, named_axis<1>>, stream>(most{}, [](auto x) { return to<R>(x, axes::dp); });
  unary<split_op<dim<"seq">, named_axis<3>>, stream>(most{}, [](auto x) { return split(x, dims::seq, axes::tp); });
  unary<split_op<dim<"ffn">, named_axis<3>>, stream>(few{}, [](auto x) { return split(x, dims::ffn, axes::tp); });
  binary<to_like_op, stream, stream>(most{}, few{}, [](auto x, auto y) { return to_layout_of(x, y); });
}

TEST_CASE("binary operations") {
  binary<sum_op, stream, stream>(some{}, some{}, [](auto x, auto y) { return sum(x, y); });
  binary<swiglu_op, wide, wide>(some{}, few{}, [](auto x, auto y) { return swiglu(x, y); });
  binary<bias_op, stream, gain>(most{}, few{}, [](auto x, auto y) { return bias(x, y); });
  binary<rms_norm_op<dims::hidden>, stream, gain>(most{}, few{},
                                                  [](auto x, auto g) { return rms_norm(dims::hidden, x, g, 1e-5); });
}

TEST_CASE("contractions") {
  binary<contract_over<dim<"hidden">>, stream, up>(most{}, few{},
                                                   [](auto x, auto w) { return contract(dims::hidden, x, w); });
  binary<contract_over<dim<"hidden">>, stream, table>(few{}, few{},
                                                      [](auto x, auto w) { return contract(dims::hidden, x, w); });
  binary<contract_over<dim<"ffn">>, wide, down>(some{}, few{},
                                                [](auto x, auto w) { return contract(dims::ffn, x, w); });
  binary<contract_over<decltype(over(dims::heads, dims::head_dim))>, q, by_head>(
      most{}, variants<whole, owed, invariant, first_split, last_split>{},
      [](auto x, auto w) { return contract(over(dims::heads, dims::head_dim), x, w); });
}

TEST_CASE("local regions") {
  using product = existing::row_product;
  using norm = existing::rms_norm;
  binary<local_op<product>, wide, down>(some{}, few{}, [](auto x, auto w) { return local<product>(x, w); });
  binary<local_op<norm>, stream, gain>(most{}, few{}, [](auto x, auto g) { return local<norm>(x, g); });
}

TEST_CASE("lookups and the loss") {
  binary<embedding_op, table, tokens>(most{}, few{}, [](auto t, auto ids) { return embedding(t, ids); });
  binary<positions_op, stream, position_table>(most{}, few{}, [](auto x, auto t) { return learned_positions(x, t); });
  binary<cross_entropy_op, logits, tokens>(most{}, few{}, [](auto x, auto l) { return cross_entropy(x, l, 0.1); });
}

TEST_CASE("operations on three operands") {
  ternary<layer_norm_op<dims::hidden>, stream, gain, gain>(
      few{}, variants<whole, owed, invariant>{}, variants<whole, invariant>{},
      [](auto x, auto g, auto b) { return layer_norm(dims::hidden, x, g, b, 1e-5); });
  using heads = variants<whole, invariant, third_split>;
  ternary<attention_op, q, k, k>(heads{}, variants<whole, owed, third_split>{}, variants<whole, owed, third_split>{},
                                 [](auto a, auto b, auto c) { return attention(a, b, c, 0.1); });
}

template <auto... Dims>
void compare_refused_parameter() {
  using typed = parameter_check<enter_plan<plan>::number, param<Dims...>>;
  tracer t(plan);
  const param<Dims...> weight{"weight"};
  static_cast<void>(traced_scope(t)[weight]);
  CHECK(!typed::result.holds());
  CHECK(t.refusal.broken == typed::result.broken);
  CHECK(std::string(t.refusal.why.c_str()) == typed::result.why.c_str());
}

TEST_CASE("parameters are placed alike, or refused alike") {
  const param<dims::hidden, dims::ffn> weight{"up"};
  const param<dims::hidden> shift{"shift"};
  tracer t(plan);
  const traced_scope by_data(t);
  const scope_of<plan> by_type;
  constexpr layout i = make(stream, invariant);
  const layout placed = by_data[weight].shape(), beside = by_data(shift, traced{&t, t.make(i, dtype::f32)}).shape();
  CHECK(placed == by_type[weight].shape());
  CHECK(beside == by_type(shift, tensor_of<i, plan>{}).shape());
  CHECK(by_data.stream().shape() == by_type.stream().shape());
  compare_refused_parameter<dims::heads>();
  compare_refused_parameter<dims::hidden, dims::vocab>();
}

// What follows a refused operation is silent, whatever stands beside it.
template <class T>
constexpr bool silent = std::is_same_v<T, refused>;
constexpr tensor_of<plan.stream, plan> x;
constexpr refused no;
static_assert(silent<decltype(gelu(no))> && silent<decltype(swiglu(no, x))> && silent<decltype(swiglu(x, no))>);
static_assert(silent<decltype(sum(x, no))> && silent<decltype(sum(no, x))> && silent<decltype(bias(no, x))>);
static_assert(silent<decltype(contract(dims::hidden, no, x))> && silent<decltype(contract(dims::hidden, x, no))>);
static_assert(silent<decltype(to<R>(no, axes::tp))> && silent<decltype(to_layout_of(x, no))>);
static_assert(silent<decltype(to_layout_of(no, x))> && silent<decltype(split(no, dims::seq, axes::tp))>);
static_assert(silent<decltype(attention(x, no, x, 0))> && silent<decltype(cross_entropy(no, x, 0))>);
static_assert(silent<decltype(layer_norm(dims::hidden, x, no, x, 1e-5))> && silent<decltype(dropout(no, 0.1))>);
static_assert(silent<decltype(embedding(no, x))> && silent<decltype(learned_positions(no, x))>);
static_assert(silent<decltype(local<existing::row_product>(no, x))>);
static_assert(silent<decltype(rotary(no, 1e4))> && silent<decltype(rms_norm(dims::hidden, no, x, 1e-5))>);

TEST_CASE("the table has both kinds") {
  std::printf("%d rows, %d of them refused\n", judgements, refusals);
  CHECK(judgements > 400);
  CHECK(refusals * 4 > judgements);
  CHECK((judgements - refusals) * 5 > judgements);
}

}  // namespace
