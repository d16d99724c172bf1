// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/ops/activation.hpp>
#include <meshpar/ops/contract.hpp>

#include "support/block_runner.hpp"

// The two-layer MLP of the worked example: Z = ReLU(X A) B with X [1, 2], A [2, 4], B [4, 2].
namespace article {

namespace mp = meshpar;
namespace axes = mp::axes;
namespace dims = mp::dims;
using block_runner::block;
using block_runner::given;
using block_runner::numbers;

inline const given numbers_of_the_example{
    .x = {1, 2}, .weights = {{"A", {1, 0, -1, 2, 0, 1, 1, -1}}, {"B", {1, 0, 0, 1, 1, 1, 2, -1}}}, .dy = {1, 1}};

struct mlp {
  mp::param<dims::hidden, dims::ffn> a{"A"};
  mp::param<dims::ffn, dims::hidden> b{"B"};

  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::to<mp::R>(x, axes::tp);                     // f
    const auto y = mp::relu(mp::contract(dims::hidden, h, r[a]));  // columns of A
    return mp::to_layout_of(x, mp::contract(dims::ffn, y, r[b]));  // rows of B, then g
  }
};

// The same for an X that is split as the rows of A are: nothing to gather before the first product.
struct mlp_of_split_x : mlp {
  constexpr auto forward(const auto& r, auto x) const {
    const auto y = mp::relu(mp::contract(dims::hidden, x, r[a]));
    return mp::to_layout_of(x, mp::contract(dims::ffn, y, r[b]));
  }
};

// tp ranks that split `columns` (ffn) or `rows` (hidden, and X with it) of A; 1 rank: nothing is split.
constexpr mp::context context_for(int tp, mp::dim_name split) {
  mp::context c;
  c.ranks = mp::mesh{mp::extent{axes::tp, tp}};
  const mp::axis_set rows = split == dims::hidden ? axes::tp : mp::axis_set{};
  const mp::axis_set columns = split == dims::ffn ? axes::tp : mp::axis_set{};
  c.placement.push_back({dims::hidden, 2, 2, rows});
  c.placement.push_back({dims::ffn, 4, 4, columns});
  c.stream = mp::make_layout(mp::make_dim(dims::seq, 1, c.ranks), mp::make_dim(dims::batch, 1, c.ranks),
                             mp::make_dim(dims::hidden, 2, c.ranks, rows));
  if (rows.empty()) c.stream = mp::with_invariant(c.stream, axes::tp, c.ranks);
  c.compute = c.grad = c.reduce = mp::dtype::f64;
  return c;
}
inline constexpr mp::context one_rank = context_for(1, dims::ffn);
inline constexpr mp::context column_split = context_for(2, dims::ffn);
inline constexpr mp::context row_split = context_for(2, dims::hidden);

}  // namespace article
