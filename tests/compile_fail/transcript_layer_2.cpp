// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/nn/check_layer.hpp>
#include <meshpar/ops/activation.hpp>
#include <meshpar/ops/contract.hpp>
#include <meshpar/ops/sum.hpp>

namespace mp = meshpar;
namespace axes = mp::axes;
namespace dims = mp::dims;
using mp::R;

// expect: axis_on_two_dimensions, tp
// expect: sum_of_unlike_states, tp
struct no_gather {
  mp::param<dims::hidden, dims::ffn> up{"up"};
  mp::param<dims::ffn, dims::hidden> down{"down"};
  constexpr auto forward(const auto& r, auto x) const {
    return mp::to_layout_of(x, mp::contract(dims::ffn, mp::gelu(mp::contract(dims::hidden, x, r[up])), r[down]));
  }
};
struct early_bias {
  mp::param<dims::hidden, dims::ffn> up{"up"};
  mp::param<dims::ffn, dims::hidden> down{"down"};
  mp::param<dims::hidden> shift{"shift"};
  constexpr auto forward(const auto& r, auto x) const {
    const auto u = mp::gelu(mp::contract(dims::hidden, mp::to<R>(x, axes::tp), r[up]));
    const auto y = mp::bias(mp::contract(dims::ffn, u, r[down]), r[shift]);
    return mp::to_layout_of(x, y);
  }
};
static_assert(mp::check_layer<no_gather>());
static_assert(mp::check_layer<early_bias>());
