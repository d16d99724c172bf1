// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/meshpar.hpp>

namespace mp = meshpar;
namespace axes = mp::axes;
namespace dims = mp::dims;
using mp::R;

// expect: partial_sum_in_a_nonlinearity, tp
struct mlp {
  mp::param<dims::hidden, dims::ffn> up{"up"};
  mp::param<dims::ffn, dims::hidden> down{"down"};
  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::to<R>(x, axes::tp);
    const auto y = mp::contract(dims::ffn, mp::contract(dims::hidden, h, r[up]), r[down]);
    return mp::to_layout_of(x, mp::gelu(y));
  }
};
static_assert(mp::check_layer<mlp>());
