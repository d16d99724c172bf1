// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/kernels/init.hpp>
#include <meshpar/layout/offset.hpp>
#include <meshpar/nn/program.hpp>

#include <cmath>
#include <string>

namespace meshpar::inline v0 {

// The full name of a parameter's copy: "layers.3.mlp.up", "embedding", "final_norm.gain".
inline std::string full_name(const program& p, const parameter_entry& e, int copy) {
  const parameter& d = p.declared(e);
  const std::string scope = d.scope;
  const std::string layer = e.copies > 1 || e.kind == block_kind::attention || e.kind == block_kind::mlp
                                ? "layers." + std::to_string(copy) + "."
                                : "";
  return layer + (scope.empty() ? "" : scope + ".") + d.name;
}

// A parameter as everybody names its elements: its logical dims, without padding.
struct logical_shape {
  fixed_vector<std::int64_t, 6> sizes{};
  std::int64_t count = 1;
};
inline logical_shape logical_shape_of(const program& p, const layout& l) {
  logical_shape s;
  for (const split_dim& d : l.dims) {
    s.sizes.push_back(p.where.find(d.name)->logical);
    s.count *= s.sizes.back();
  }
  return s;
}

// The global index of element `local` of a rank in the logical tensor (row-major), or -1 for padding. It depends on
// neither the plan nor the padding, so that weights can be drawn, compared and stored by it.
inline std::int64_t logical_index(const layout& l, const logical_shape& s, const mesh& m, int rank,
                                  std::int64_t local) {
  std::int64_t index = 0, unit = 1;
  for (int i = l.dims.size() - 1; i >= 0; --i) {
    const std::int64_t at = global_index(l.dims[i], m, rank, local % l.dims[i].local);
    if (at >= s.sizes[i]) return -1;
    index += unit * at;
    unit *= s.sizes[i];
    local /= l.dims[i].local;
  }
  return index;
}

// The starting value of element `index` of a parameter (Radford et al. 2019 for `residual`).
inline double initial_value(const program& p, const parameter& d, std::uint64_t name, std::int64_t index) {
  switch (d.start) {
    case initial::ones: return 1;
    case initial::zeros: return 0;
    case initial::normal: return 0.02 * kernels::normal(p.task.seed, name, index);
    case initial::residual: return 0.02 / std::sqrt(2.0 * p.what.layers) * kernels::normal(p.task.seed, name, index);
  }
  return 0;
}

// f(flat element, full name, logical index) for every element of every parameter of a rank that is not padding.
template <class F>
void for_each_parameter(const program& p, int rank, F f) {
  for (const parameter_entry& e : p.parameters)
    for (int copy = 0; copy < e.copies; ++copy) {
      const layout& l = p.shape(e);
      const logical_shape s = logical_shape_of(p, l);
      const std::string name = full_name(p, e, copy);
      for (std::int64_t i = 0; i < e.count; ++i)
        if (const std::int64_t at = logical_index(l, s, p.where.ranks, rank, i); at >= 0)
          f(e, e.first + copy * e.stride + i, name, at, s.count);
    }
}

}  // namespace meshpar::inline v0
