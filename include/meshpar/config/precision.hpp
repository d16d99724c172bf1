// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/core/dtype.hpp>

namespace meshpar::inline v0 {

// In which element type each thing is kept. Activations have the type of the parameters. A master copy exists only
// where it is wider than the parameter.
struct precisions {
  dtype param = dtype::f32;
  dtype grad = dtype::f32;     // what backward adds to, between micro-batches
  dtype reduce = dtype::f32;   // in which sums over ranks are taken
  dtype master = dtype::f32;   // the weights that the optimizer moves
  dtype moments = dtype::f32;  // Adam's two
  constexpr bool operator==(const precisions&) const = default;
};

inline constexpr precisions all_f32{};
inline constexpr precisions all_f64{
    .param = dtype::f64, .grad = dtype::f64, .reduce = dtype::f64, .master = dtype::f64, .moments = dtype::f64};
// 18 bytes a parameter at rest: 2 + 4 + 4 + 8.
inline constexpr precisions mixed_bf16{.param = dtype::bf16};
// 16 bytes a parameter at rest: 2 + 2 + 4 + 8.
inline constexpr precisions mixed_bf16_grads{.param = dtype::bf16, .grad = dtype::bf16};

constexpr bool has_master_copy(const precisions& p) { return p.master != p.param; }

// Bytes of one parameter at rest between steps: weight, gradient, master copy, two moments.
constexpr long bytes_per_parameter(const precisions& p) {
  return size_of(p.param) + size_of(p.grad) + (has_master_copy(p) ? size_of(p.master) : 0) + 2 * size_of(p.moments);
}

}  // namespace meshpar::inline v0
