// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/core/dtype.hpp>
#include <meshpar/layout/layout.hpp>

namespace meshpar::inline v0 {

// What a plan says of one dimension: its global size (padded where a split needs it), the logical size, and the axes
// that split it in parameters.
struct placed_dim {
  dim_name name{};
  std::int64_t size = 0;
  std::int64_t logical = 0;
  axis_set by{};
  constexpr bool operator==(const placed_dim&) const = default;
};

// All that a trace needs to know of a model under a plan: the mesh of a stage, every dimension's placement, the layout
// of the residual stream, and the element types.
struct context {
  mesh ranks{};
  fixed_vector<placed_dim, 16> placement{};
  layout stream{};  // [seq, batch, hidden] between blocks
  layout tokens{};  // [seq, batch] of ids and labels: whole over tp
  dtype compute = dtype::f32;
  dtype grad = dtype::f32;
  dtype reduce = dtype::f32;

  constexpr const placed_dim* find(dim_name name) const {
    for (const placed_dim& p : placement)
      if (p.name == name) return &p;
    return nullptr;
  }
  constexpr bool operator==(const context&) const = default;
};

}  // namespace meshpar::inline v0
