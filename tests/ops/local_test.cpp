// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Local regions: the layouts at their edges, what a program makes of them, and what types do not see of a kernel.
#include <meshpar/meshpar.hpp>
#include <meshpar/ops/check_local.hpp>

#include "support/local_kernels.hpp"

#include <doctest/doctest.h>

#include <cstring>

using namespace meshpar;
namespace ty = meshpar::typing;

namespace {

constexpr mesh m{extent{axes::dp, 2}, extent{axes::tp, 4}};
constexpr split_dim seq = make_dim(dims::seq, 8, m), seq_tp = make_dim(dims::seq, 8, m, axes::tp),
                    batch = make_dim(dims::batch, 4, m, axes::dp), hidden = make_dim(dims::hidden, 6, m),
                    ffn = make_dim(dims::ffn, 12, m), ffn_tp = make_dim(dims::ffn, 12, m, axes::tp);
constexpr layout x = make_layout(seq, batch, hidden), x_seq = make_layout(seq_tp, batch, hidden),
                 wide = make_layout(seq, batch, ffn_tp), down = make_layout(ffn_tp, hidden), gain = make_layout(hidden),
                 up = make_layout(hidden, ffn_tp);
using rule_name = ::meshpar::rule;
constexpr factor_list reversed(const factor_list& by) {
  factor_list r;
  for (int i = by.size() - 1; i >= 0; --i) r.push_back(by[i]);
  return r;
}
template <class K, class... X>
constexpr judged rule(const X&... operands) {
  return local_op<K>::rule(operands..., m);
}

// ---- layouts at the edges
static_assert(rule<existing::row_product>(wide, down).out == with_owed(x, axes::tp, m));
static_assert(rule<existing::row_product>(make_layout(seq_tp, batch, ffn), make_layout(ffn, hidden)).out == x_seq);
static_assert(rule<existing::rms_norm>(x_seq, gain).out == x_seq);
static_assert(rule<existing::rms_norm>(with_invariant(x, axes::tp, m), with_invariant(gain, axes::tp, m)).out ==
              with_invariant(x, axes::tp, m));
static_assert(rule<existing::swiglu_mlp>(x, up, up, down).out == with_owed(x, axes::tp, m));
// The gradients': that of x is owed over tp, that of down over dp.
static_assert(dual(x, m) == with_owed(x, axes::tp, m));
static_assert(dual(down, m) == with_owed(down, axes::dp, m));

constexpr bool says(const judged& j, rule_name r, const char* words) { return j.no.broken == r && j.no.why == words; }
static_assert(says(rule<existing::swiglu_mlp>(x_seq, up, up, down), rule_name::edge_not_as_declared,
                   "swiglu_mlp: x is split(seq) over tp, declared R where gate is split(ffn); to<R>(x, axes::tp)"));
static_assert(says(rule<existing::row_product>(make_layout(seq, batch, ffn), down), rule_name::edge_not_as_declared,
                   "row_product: x is R over tp, declared split(ffn); split(x, dims::ffn, axes::tp)"));
static_assert(says(rule<existing::rms_norm>(with_invariant(x, axes::tp, m), gain), rule_name::edge_not_as_declared,
                   "own_rms_norm: x is I over tp, declared R; to<R>(x, axes::tp)"));

// ---- declarations that no function of one rank's operands can keep
constexpr rule_name declared(const edge_signature& s) {
  const local_edges g{.inputs = {{"a", {dims::seq, dims::hidden}}, {"b", {dims::hidden}}},
                      .result = {"y", {dims::seq, dims::hidden}}};
  return ty::sound("own", g, s).broken;
}
constexpr edge_state split_seq = edge::split(dims::seq), split_hidden = edge::split(dims::hidden),
                     split_ffn = edge::split(dims::ffn);
static_assert(declared({{edge::R, edge::R}, edge::R}) == rule_name::none);
static_assert(declared({{edge::I, edge::I}, edge::I}) == rule_name::none);
static_assert(declared({{edge::R, edge::R}, edge::P}) == rule_name::none);            // by position
static_assert(declared({{edge::R, edge::R}, split_seq}) == rule_name::none);          // by position
static_assert(declared({{split_hidden, split_hidden}, edge::P}) == rule_name::none);  // its piece among zeros
static_assert(declared({{edge::P, edge::R}, edge::P}) == rule_name::none);            // a product
static_assert(declared({{edge::P, edge::P}, edge::P}) == rule_name::none);            // a sum
static_assert(declared({{edge::I, edge::R}, edge::I}) == rule_name::declaration_unsound);
static_assert(declared({{edge::I, edge::I}, edge::R}) == rule_name::declaration_unsound);
static_assert(declared({{edge::R, edge::R}, edge::I}) == rule_name::declaration_unsound);
static_assert(declared({{split_seq, edge::R}, edge::R}) == rule_name::declaration_unsound);
static_assert(declared({{edge::P, edge::R}, edge::R}) == rule_name::declaration_unsound);
static_assert(declared({{edge::P, edge::R}, split_seq}) == rule_name::declaration_unsound);
static_assert(declared({{edge::P, split_hidden}, edge::P}) == rule_name::declaration_unsound);
static_assert(declared({{edge::R, split_seq}, edge::P}) == rule_name::dimension_missing);
static_assert(declared({{edge::R, edge::R}, split_ffn}) == rule_name::dimension_missing);

// ---- a piece by position must divide: 6 of hidden over 4 ranks
struct slice {
  static constexpr const char* name = "slice";
  static constexpr local_edges edges{.inputs = {{"x", {dims::seq, dims::batch, dims::hidden}}},
                                     .result = {"y", {dims::seq, dims::batch, dims::hidden}},
                                     .splits = {dims::batch},
                                     .along = {{{edge::R}, edge::split(dims::hidden), axes::tp}}};
  static void forward(buffer<const double> a, buffer<double> y) {
    const std::int64_t n = a.size(dims::hidden), here = y.size(dims::hidden), first = y.first(dims::hidden);
    for (std::int64_t i = 0; i < y.count(); ++i) y[i] = a[i / here * n + first + i % here];
  }
  static void backward(buffer<const double> a, buffer<const double> dy, buffer<double> da) {
    const std::int64_t n = a.size(dims::hidden), here = dy.size(dims::hidden), first = dy.first(dims::hidden);
    for (std::int64_t i = 0; i < da.count(); ++i) da[i] = 0;
    for (std::int64_t i = 0; i < dy.count(); ++i) da[i / here * n + first + i % here] = dy[i];
  }
};
static_assert(local_op<slice>::rule(make_layout(seq, batch, make_dim(dims::hidden, 8, m)), m).out ==
              make_layout(seq, batch, make_dim(dims::hidden, 8, m, axes::tp)));
static_assert(says(rule<slice>(x), rule_name::split_does_not_divide,
                   "hidden = 6 does not divide over tp = 4; the nearest tp that divides is 3"));

// ---- operands that share a dim have one size of it, and one order of its pieces
static_assert(rule<existing::row_product>(wide, make_layout(make_dim(dims::ffn, 24, m, axes::tp), hidden)).no.broken ==
              rule_name::dimension_sizes_differ);
static_assert(rule<existing::row_product>(
                  make_layout(seq, make_dim(dims::batch, 4, m), make_dim(dims::ffn, 24, m, axes::dp | axes::tp)),
                  make_layout(split_dim{dims::ffn, 3, reversed(make_dim(dims::ffn, 24, m, axes::dp | axes::tp).by)},
                              hidden))
                  .no.broken == rule_name::dimension_split_differently);
static_assert(rule<existing::rms_norm>(x).no.broken == rule_name::edge_not_as_declared);

// ---- by position: every rank has all of x and w and takes its own rows of w, for a term of the sum
struct by_position : existing::row_product {
  static constexpr const char* name = "by_position";
  static constexpr local_edges edges{
      .inputs = {{"x", {dims::seq, dims::batch, dims::ffn}}, {"w", {dims::ffn, dims::hidden}}},
      .result = {"y", {dims::seq, dims::batch, dims::hidden}},
      .splits = {dims::seq, dims::batch},
      .along = {{{edge::R, edge::R}, edge::P, axes::tp}}};
  template <class T>
  static void forward(buffer<const T> a, buffer<const T> w, buffer<T> y) {
    const std::int64_t k = w.size(0), n = w.size(1), rows = a.count() / k;
    const std::int64_t piece = k / a.positions(axes::tp), first = a.position(axes::tp) * piece;
    for (std::int64_t i = 0; i < rows * n; ++i) y[i] = 0;
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t j = first; j < first + piece; ++j)
        for (std::int64_t i = 0; i < n; ++i) y[r * n + i] += a[r * k + j] * w[j * n + i];
  }
  template <class T>
  static void backward(buffer<const T> a, buffer<const T> w, buffer<const T> dy, buffer<T> da, buffer<T> dw) {
    const std::int64_t k = w.size(0), n = w.size(1), rows = a.count() / k;
    const std::int64_t piece = k / a.positions(axes::tp), first = a.position(axes::tp) * piece;
    for (std::int64_t i = 0; i < da.count(); ++i) da[i] = 0;
    for (std::int64_t i = 0; i < dw.count(); ++i) dw[i] = 0;
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t j = first; j < first + piece; ++j)
        for (std::int64_t i = 0; i < n; ++i) {
          da[r * k + j] += dy[r * n + i] * w[j * n + i];
          dw[j * n + i] += dy[r * n + i] * a[r * k + j];
        }
  }
};
constexpr layout x_ffn = make_layout(seq, batch, ffn), w_whole = make_layout(ffn, hidden);
static_assert(rule<by_position>(x_ffn, w_whole).out == with_owed(x, axes::tp, m));

// ---- linear: a sum that is owed goes through. Its result comes from x alone, its pullback from nothing.
struct doubled {
  static constexpr const char* name = "doubled";
  static constexpr local_edges edges{.inputs = {{"x", {dims::seq, dims::hidden}}},
                                     .result = {"y", {dims::seq, dims::hidden}},
                                     .splits = {dims::seq, dims::hidden},
                                     .along = {{{edge::P}, edge::P}}};
  static constexpr local_reads reads{};
  static void forward(buffer<const double> a, buffer<double> y) {
    for (std::int64_t i = 0; i < a.count(); ++i) y[i] = 2 * a[i];
  }
  static void backward(buffer<const double> dy, buffer<double> da) {
    for (std::int64_t i = 0; i < da.count(); ++i) da[i] = 2 * dy[i];
  }
};
// tanh, whose pullback reads its result; over plain pointers and floats of one type.
struct own_tanh {
  static constexpr const char* name = "own_tanh";
  static constexpr local_edges edges{
      .inputs = {{"x", {dims::hidden}}}, .result = {"y", {dims::hidden}}, .splits = {dims::hidden}};
  static constexpr local_reads reads{.result = true};
  static void forward(buffer<const double> a, double* y) {
    for (std::int64_t i = 0; i < a.count(); ++i) y[i] = std::tanh(a[i]);
  }
  static void backward(buffer<const double> y, const double* dy, double* da) {
    for (std::int64_t i = 0; i < y.count(); ++i) da[i] = dy[i] * (1 - y[i] * y[i]);
  }
};

// ---- lies that types do not see
struct not_linear : doubled {  // says that a sum goes through it
  static void forward(buffer<const double> a, buffer<double> y) {
    for (std::int64_t i = 0; i < a.count(); ++i) y[i] = a[i] * a[i];
  }
  static constexpr local_reads reads{.in = {true}};
  static void backward(buffer<const double> a, buffer<const double> dy, buffer<double> da) {
    for (std::int64_t i = 0; i < da.count(); ++i) da[i] = 2 * a[i] * dy[i];
  }
};
struct rows_together : existing::rms_norm {  // says that it can work on a piece of hidden
  static constexpr local_edges edges{
      .inputs = {{"x", {dims::seq, dims::batch, dims::hidden}}, {"gain", {dims::hidden}}},
      .result = {"y", {dims::seq, dims::batch, dims::hidden}},
      .splits = {dims::hidden}};
};
struct says_whole : by_position {  // a term of a sum, declared R
  static constexpr local_edges edges{
      .inputs = {{"x", {dims::seq, dims::batch, dims::ffn}}, {"w", {dims::ffn, dims::hidden}}},
      .result = {"y", {dims::seq, dims::batch, dims::hidden}}};
  template <class T>
  static void forward(buffer<const T> a, buffer<const T> w, buffer<T> y) {
    by_position::forward(a, w, y);
    if (a.position(axes::dp) > 0) y[0] = 0;
  }
};
struct wrong_slope : doubled {
  static void backward(buffer<const double> dy, buffer<double> da) {
    for (std::int64_t i = 0; i < da.count(); ++i) da[i] = 3 * dy[i];
  }
};
struct forgets_an_element : doubled {
  static void forward(buffer<const double> a, buffer<double> y) {
    for (std::int64_t i = 1; i < a.count(); ++i) y[i] = 2 * a[i];
  }
};

}  // namespace

TEST_CASE("kernels that are what they declare") {
  CHECK(check_local<existing::row_product>() == "");
  CHECK(check_local<existing::rms_norm>() == "");
  CHECK(check_local<existing::swiglu_mlp>({{dims::ffn, 12}}) == "");
  CHECK(check_local<by_position>() == "");
  CHECK(check_local<doubled>() == "");
  CHECK(check_local<own_tanh>() == "");
  CHECK(check_local<slice>() == "");
}

TEST_CASE("kernels that are not, by the first thing that is wrong") {
  const auto begins = [](const std::string& s, const char* words) {
    CAPTURE(s);
    CHECK(s.substr(0, std::strlen(words)) == words);
  };
  begins(check_local<not_linear>(), "doubled: with x P, y P: y[0] is ");
  begins(check_local<rows_together>(),
         "own_rms_norm: with x split(hidden), gain split(hidden), y split(hidden): y[0] is ");
  begins(check_local<says_whole>(), "by_position: with x R, w R, y R: y[0] is 0.000000, on one rank ");
  begins(check_local<wrong_slope>(), "doubled: forward rises by ");
  begins(check_local<forgets_an_element>(), "doubled: forward rises by nan along x");
}

// ---- what a program makes of a region
namespace {

struct fused {
  param<dims::hidden, dims::ffn> gate{"gate"}, up{"up"};
  param<dims::ffn, dims::hidden> down{"down"};
  constexpr auto forward(const auto& r, auto stream) const {
    const auto h = to<R>(stream, axes::tp);
    const auto g = r[gate];
    const auto u = r[up];
    return to_layout_of(stream, local<existing::swiglu_mlp>(h, g, u, r[down]));
  }
};
struct in_parts : fused {
  constexpr auto forward(const auto& r, auto stream) const {
    const auto h = to<R>(stream, axes::tp);
    const auto g = contract(dims::hidden, h, r[gate]);
    const auto w = swiglu(g, contract(dims::hidden, h, r[up]));
    return to_layout_of(stream, contract(dims::ffn, w, r[down]));
  }
};
constexpr model tiny = llama_like({.layers = 2, .hidden = 16, .heads = 4, .ffn = 32, .vocab = 24, .seq = 8});
constexpr job batch4{.global_batch = 4};
constexpr plan dp2_tp4{.dp = 2, .tp = 4, .sequence_parallel = true, .precision = all_f64};
using net = decoder<tiny, batch4, dp2_tp4, replace<mlp, fused>>;
using usual = decoder<tiny, batch4, dp2_tp4, replace<mlp, in_parts>>;

// It calls for the collectives and the gradient groups of the layer that it replaces, and for its flops.
static_assert(cost_of<net>.whole.sent == cost_of<usual>.whole.sent);
static_assert(cost_of<net>.forward.flops == cost_of<usual>.forward.flops);
static_assert(cost_of<net>.backward.flops == cost_of<usual>.backward.flops);

}  // namespace

TEST_CASE("memory follows from what backward reads: a fused region keeps its input and nothing between") {
  const program a(tiny, batch4, dp2_tp4, net::make_layers()), b(tiny, batch4, dp2_tp4, usual::make_layers());
  REQUIRE(!a.refused());
  const std::int64_t tokens = a.where.tokens.local_count();
  const std::int64_t saved = kept(b.traced_block(block_kind::mlp)) - kept(a.traced_block(block_kind::mlp));
  CHECK(saved == 8 * tokens * 3 * (tiny.ffn / 4));  // gate, up and their product
}

TEST_CASE("a region is a kind of its own in a program, by its name") {
  const program p(tiny, batch4, dp2_tp4, net::make_layers());
  int forward = 0, backward = 0;
  for (const record& r : p.traced_block(block_kind::mlp).records) {
    forward += r.op == &local_op<existing::swiglu_mlp>::info;
    backward += r.op == &local_op<existing::swiglu_mlp>::grad_info;
  }
  CHECK(forward == 1);
  CHECK(backward == 1);
}

TEST_CASE("an entry for a kernel of a device's own comes before the one for all") {
  struct device {};
  using own = local_op<existing::swiglu_mlp>;
  static constexpr runner<device> table[] = {{&any_host_function, nullptr}, {&own::info, nullptr}};
  CHECK(find_kind<device>(table, own::info) == table + 1);
  CHECK(find_kind<device>(table, own::grad_info) == table);
  CHECK(find_kind<device>(table, sum_op::info) == nullptr);
}

TEST_CASE("a device whose table has no functions over host memory lacks the kernel, by its name") {
  struct device {};
  const program p(tiny, batch4, dp2_tp4, net::make_layers());
  static constexpr runner<device> table[] = {{&to_op::info, nullptr},
                                             {&rms_norm_kind::info, nullptr},
                                             {&rms_norm_kind::input_grad_info, nullptr},
                                             {&rms_norm_kind::weight_grad_info, nullptr}};
  const operation* missing = missing_kind<device>(p.traced_block(block_kind::mlp), table);
  REQUIRE(missing != nullptr);
  CHECK(std::string(missing->name) == "swiglu_mlp");
}
