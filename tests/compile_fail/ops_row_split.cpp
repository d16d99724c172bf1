// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// TPM-07: the MLP of the worked example, Z = ReLU(X A) B on two ranks, with the rows of A split and with its columns.
#include <meshpar/nn/check_layer.hpp>
#include <meshpar/ops/activation.hpp>
#include <meshpar/ops/contract.hpp>

namespace mp = meshpar;
namespace axes = mp::axes;
namespace dims = mp::dims;

constexpr mp::context split_over_tp(mp::dim_name name) {
  mp::context c;
  c.ranks = mp::mesh{mp::extent{axes::tp, 2}};
  const mp::axis_set rows = name == dims::hidden ? axes::tp : mp::axis_set{};
  c.placement.push_back({dims::hidden, 2, 2, rows});
  c.placement.push_back({dims::ffn, 4, 4, name == dims::ffn ? axes::tp : mp::axis_set{}});
  c.stream = mp::make_layout(mp::make_dim(dims::seq, 1, c.ranks), mp::make_dim(dims::batch, 1, c.ranks),
                             mp::make_dim(dims::hidden, 2, c.ranks, rows));
  return c;
}
inline constexpr mp::context rows_split = split_over_tp(dims::hidden);
inline constexpr mp::context columns_split = split_over_tp(dims::ffn);

struct weights {
  mp::param<dims::hidden, dims::ffn> a{"A"};
  mp::param<dims::ffn, dims::hidden> b{"B"};
};
struct row_split_mlp : weights {
  constexpr auto forward(const auto& r, auto x) const {
    // told: &activation_op::info, 'P', along::tp, fix::to_R
    const auto y = mp::relu(mp::contract(dims::hidden, x, r[a]));  // expect: partial_sum_in_a_nonlinearity
    return mp::to_layout_of(x, mp::contract(dims::ffn, y, r[b]));
  }
};
struct column_split_mlp : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto y = mp::relu(mp::contract(dims::hidden, x, r[a]));
    return mp::to<mp::R>(mp::contract(dims::ffn, y, r[b]), axes::tp);
  }
};
static_assert(mp::layer_check<row_split_mlp, rows_split>::ok);
static_assert(mp::layer_check<column_split_mlp, columns_split>::ok);
