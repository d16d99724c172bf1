// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Local regions with one mistake each in what is declared or given, each beside its nearest correct neighbour.
#include <meshpar/nn/decoder.hpp>
#include <meshpar/ops/activation.hpp>
#include <meshpar/ops/contract.hpp>
#include <meshpar/ops/local.hpp>

namespace mp = meshpar;
namespace axes = mp::axes;
namespace dims = mp::dims;
namespace edge = mp::edge;
using mp::R;

// What every kernel here has beside its edges.
struct kernel {
  static constexpr const char* name = "own";
  static void forward(const auto&... operands);
  static void backward(const auto&... operands);
};
inline constexpr mp::local_operand x_ffn{"x", {dims::seq, dims::batch, dims::ffn}},
    x_hidden{"x", {dims::seq, dims::batch, dims::hidden}}, y_hidden{"y", {dims::seq, dims::batch, dims::hidden}},
    w_rows{"w", {dims::ffn, dims::hidden}}, w_columns{"w", {dims::hidden, dims::ffn}}, gain{"gain", {dims::hidden}};

struct row_product : kernel {
  static constexpr mp::local_edges edges{
      .inputs = {x_ffn, w_rows}, .result = y_hidden, .splits = {dims::seq, dims::batch, dims::ffn}};
};
struct fused : kernel {  // x whole over tp, its weights split over ffn
  static constexpr mp::local_edges edges{
      .inputs = {x_hidden, w_columns, w_rows}, .result = y_hidden, .splits = {dims::seq, dims::batch, dims::ffn}};
};
struct row_norm : kernel {
  static constexpr mp::local_edges edges{
      .inputs = {x_hidden, gain}, .result = y_hidden, .splits = {dims::seq, dims::batch}};
};
struct pointwise : kernel {
  static constexpr mp::local_edges edges{
      .inputs = {x_hidden}, .result = y_hidden, .splits = {dims::seq, dims::batch, dims::hidden}};
};

struct weights {
  mp::param<dims::hidden, dims::ffn> up{"up"};
  mp::param<dims::ffn, dims::hidden> down{"down"};
  mp::param<dims::hidden> scale{"scale"};
  constexpr auto wide(const auto& r, auto x) const {
    return mp::gelu(mp::contract(dims::hidden, mp::to<R>(x, axes::tp), r[up]));
  }
};

// ---- a region that takes x whole is given a piece
struct piece_where_whole : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto u = r[up];
    // told: &local_op<fused>::info, 'S', 'R', along::tp, fix::to_R
    const auto y = mp::local<fused>(x, u, r[down]);  // expect: edge_not_as_declared
    return mp::to_layout_of(x, y);
  }
};
struct gathered_first : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto u = r[up];
    return mp::to_layout_of(x, mp::local<fused>(mp::to<R>(x, axes::tp), u, r[down]));
  }
};
static_assert(mp::check_layer<piece_where_whole>());
static_assert(mp::check_layer<gathered_first>());

// ---- a region that takes a piece is given the whole
struct whole_where_piece : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::to<R>(wide(r, x), axes::tp);
    // told: &local_op<row_product>::info, 'R', 'S', along::tp, fix::split_it
    const auto y = mp::local<row_product>(h, r[down]);  // expect: edge_not_as_declared
    return mp::to_layout_of(x, y);
  }
};
struct left_split : weights {
  constexpr auto forward(const auto& r, auto x) const {
    return mp::to_layout_of(x, mp::local<row_product>(wide(r, x), r[down]));
  }
};
static_assert(mp::check_layer<whole_where_piece>());
static_assert(mp::check_layer<left_split>());

// ---- a sum that is owed goes into a region that is not declared linear
struct owed_into_region : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto z = mp::contract(dims::ffn, wide(r, x), r[down]);
    // told: &local_op<pointwise>::info, 'P', 'R', along::tp, fix::to_R
    const auto y = mp::local<pointwise>(z);  // expect: edge_not_as_declared
    return mp::to_layout_of(x, y);
  }
};
struct summed_first : weights {
  constexpr auto forward(const auto& r, auto x) const {
    return mp::local<pointwise>(mp::to_layout_of(x, mp::contract(dims::ffn, wide(r, x), r[down])));
  }
};
struct linear : pointwise {
  static constexpr mp::local_edges edges{.inputs = {x_hidden},
                                         .result = y_hidden,
                                         .splits = {dims::seq, dims::batch, dims::hidden},
                                         .along = {{{edge::P}, edge::P}}};
};
struct owed_through_linear : weights {
  constexpr auto forward(const auto& r, auto x) const {
    return mp::to_layout_of(x, mp::local<linear>(mp::contract(dims::ffn, wide(r, x), r[down])));
  }
};
static_assert(mp::check_layer<owed_into_region>());
static_assert(mp::check_layer<summed_first>());
static_assert(mp::check_layer<owed_through_linear>());

// ---- a replicated gain beside an invariant stream (without sequence parallelism)
struct replicated_gain : weights {
  constexpr auto forward(const auto& r, auto x) const {
    // told: &local_op<row_norm>::info, 'I', 'R', along::tp, fix::to_R
    return mp::local<row_norm>(x, r[scale]);  // expect: edge_not_as_declared
  }
};
struct invariant_gain : weights {
  constexpr auto forward(const auto& r, auto x) const { return mp::local<row_norm>(x, r(scale, x)); }
};
static_assert(mp::check_layer<replicated_gain>());
static_assert(mp::check_layer<invariant_gain>());

// ---- dims in another order
struct transposed : weights {
  constexpr auto forward(const auto& r, auto x) const {
    // told: &local_op<row_product>::info, fix::name_another_dimension
    const auto y = mp::local<row_product>(wide(r, x), r[up]);  // expect: dimension_missing
    return mp::to_layout_of(x, y);
  }
};
static_assert(mp::check_layer<transposed>());

// ---- an operand too many
struct one_too_many : weights {
  constexpr auto forward(const auto& r, auto x) const {
    // told: &local_op<row_norm>::info, 3, 2
    const auto y = mp::local<row_norm>(x, r(scale, x), x);  // expect: edge_not_as_declared
    return y;
  }
};
static_assert(mp::check_layer<one_too_many>());

// ---- declarations that nothing can keep: a whole result of pieces, without communication
struct whole_of_pieces : kernel {
  static constexpr mp::local_edges edges{
      .inputs = {x_ffn, w_rows},
      .result = y_hidden,
      .splits = {dims::seq, dims::batch},
      .along = {{{edge::split(dims::ffn), edge::split(dims::ffn)}, edge::R, axes::tp}}};
};
struct term_of_pieces : kernel {
  static constexpr mp::local_edges edges{
      .inputs = {x_ffn, w_rows},
      .result = y_hidden,
      .splits = {dims::seq, dims::batch},
      .along = {{{edge::split(dims::ffn), edge::split(dims::ffn)}, edge::P, axes::tp}}};
};
template <class Kernel>
struct declared : weights {
  constexpr auto forward(const auto& r, auto x) const {
    // told: &local_op<whole_of_pieces>::info, fix::change_the_declaration
    const auto y = mp::local<Kernel>(wide(r, x), r[down]);  // expect: declaration_unsound
    return mp::to_layout_of(x, y);
  }
};
static_assert(mp::check_layer<declared<whole_of_pieces>>());
static_assert(mp::check_layer<declared<term_of_pieces>>());

// ---- I beside R: one gradient would be summed over copies of the same work
struct i_and_r : kernel {
  static constexpr mp::local_edges edges{.inputs = {x_hidden, gain},
                                         .result = y_hidden,
                                         .splits = {dims::seq, dims::batch},
                                         .along = {{{edge::I, edge::R}, edge::I}}};
};
struct i_and_i : kernel {
  static constexpr mp::local_edges edges{.inputs = {x_hidden, gain},
                                         .result = y_hidden,
                                         .splits = {dims::seq, dims::batch},
                                         .along = {{{edge::I, edge::I}, edge::I}}};
};
struct stream_and_r : weights {
  constexpr auto forward(const auto& r, auto x) const {
    // told: &local_op<i_and_r>::info, fix::change_the_declaration
    return mp::local<i_and_r>(x, r(scale, x));  // expect: declaration_unsound
  }
};
struct stream_and_i : weights {
  constexpr auto forward(const auto& r, auto x) const { return mp::local<i_and_i>(x, r(scale, x)); }
};
static_assert(mp::check_layer<stream_and_r>());
static_assert(mp::check_layer<stream_and_i>());

// ---- a dim that no input has
struct misspelt : kernel {
  static constexpr mp::local_edges edges{
      .inputs = {x_hidden}, .result = y_hidden, .splits = {dims::seq, dims::batch, dims::ffn}};
};
struct with_misspelt : weights {
  constexpr auto forward(const auto&, auto x) const {
    // told: &local_op<misspelt>::info, fix::change_the_declaration
    return mp::local<misspelt>(x);  // expect: declaration_unsound
  }
};
struct result_of_nothing : kernel {
  static constexpr mp::local_edges edges{
      .inputs = {x_hidden}, .result = {"y", {dims::seq, dims::batch, dims::ffn}}, .splits = {dims::seq, dims::batch}};
};
struct with_result_of_nothing : weights {
  constexpr auto forward(const auto&, auto x) const {
    // told: &local_op<result_of_nothing>::info, fix::change_the_declaration
    return mp::local<result_of_nothing>(x);  // expect: dimension_missing
  }
};
struct with_pointwise : weights {
  constexpr auto forward(const auto&, auto x) const { return mp::local<pointwise>(x); }
};
static_assert(mp::check_layer<with_misspelt>());
static_assert(mp::check_layer<with_result_of_nothing>());
static_assert(mp::check_layer<with_pointwise>());

// ---- a kernel for f32 in a model of f64
struct for_floats : pointwise {
  static void forward(const float* x, float* y);
  static void backward(const float* x, const float* dy, float* dx);
};
struct with_floats {
  constexpr auto forward(const auto&, auto x) const { return mp::local<for_floats>(x); }
};
inline constexpr mp::model tiny{.layers = 1, .hidden = 16, .heads = 4, .ffn = 32, .vocab = 24, .seq = 8};
inline constexpr mp::job one_sample{.global_batch = 1};
inline constexpr mp::plan f32{.tp = 2}, f64{.tp = 2, .precision = mp::all_f64};
template <const mp::plan& P>
inline constexpr auto size_of_net = sizeof(mp::decoder<tiny, one_sample, P, mp::replace<mp::mlp, with_floats>>);
// told: fix::add_a_kernel
static_assert(size_of_net<f64> > 0);  // expect: device_has_no_kernel
static_assert(size_of_net<f32> > 0);
