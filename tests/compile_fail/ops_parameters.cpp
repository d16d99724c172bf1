// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parameters whose dims do not go together, each beside its nearest correct neighbour.
#include <meshpar/nn/check_layer.hpp>
#include <meshpar/ops/activation.hpp>
#include <meshpar/ops/contract.hpp>

namespace mp = meshpar;
namespace axes = mp::axes;
namespace dims = mp::dims;
using mp::R;

inline constexpr mp::dim<"groups"> groups;
inline constexpr mp::dim<"w"> width;

// ---- tp splits heads and ffn: a rank would hold one block of the diagonal, and the blocks beside it nobody
struct split_on_two_dims {
  mp::param<dims::hidden, dims::heads, dims::ffn> up{"up"};
  mp::param<dims::ffn, dims::hidden> down{"down"};
  constexpr auto forward(const auto& r, auto x) const {
    // told: along::tp, fix::rename_one_dimension
    const auto w = r[up];  // expect: axis_on_two_dimensions
    const auto u = mp::gelu(mp::contract(dims::hidden, mp::to<R>(x, axes::tp), w));
    return mp::to_layout_of(x, mp::contract(dims::ffn, u, r[down]));
  }
};
struct split_on_one_dim {
  mp::param<dims::hidden, groups, dims::ffn> up{"up"};
  mp::param<groups, dims::ffn, dims::hidden> down{"down"};
  constexpr auto forward(const auto& r, auto x) const {
    const auto u = mp::gelu(mp::contract(dims::hidden, mp::to<R>(x, axes::tp), r[up]));
    return mp::to_layout_of(x, mp::contract(mp::over(groups, dims::ffn), u, r[down]));
  }
};
static_assert(mp::check_layer<split_on_two_dims>());
static_assert(mp::check_layer<split_on_one_dim, mp::size<groups, 3>>());

// ---- one name for two dims: which of them a contraction means would be a guess
struct square {
  mp::param<dims::hidden, dims::hidden> mix{"mix"};
  constexpr auto forward(const auto& r, auto x) const {
    // told: fix::rename_one_dimension
    const auto w = r(mix, x);  // expect: dimension_appears_twice
    return mp::contract(dims::hidden, x, w);
  }
};
struct two_matrices {
  mp::param<dims::hidden, width> in{"in"};
  mp::param<width, dims::hidden> out{"out"};
  constexpr auto forward(const auto& r, auto x) const {
    return mp::contract(width, mp::contract(dims::hidden, x, r(in, x)), r(out, x));
  }
};
static_assert(mp::check_layer<square>());
static_assert(mp::check_layer<two_matrices, mp::size<width, 88>>());

// ---- a size for a dim that has one: it would be ignored
using width8 = mp::size<width, 8>;
using width12 = mp::size<width, 12>;
using ffn12 = mp::size<dims::ffn, 12>;
// told: 12, 0, fix::name_another_dimension
static_assert(mp::check_layer<two_matrices, width8, ffn12>());  // expect: dimension_appears_twice, 12
// told: 12, 8, fix::leave_one_out
static_assert(mp::check_layer<two_matrices, width8, width12>());  // expect: dimension_appears_twice, 12, 8
static_assert(mp::check_layer<two_matrices, width8>());
