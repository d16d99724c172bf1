// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/typing/elementwise.hpp>

namespace meshpar::inline v0::typing {

constexpr verdict ends_with(const char* what, const layout& x, dim_name d) {
  return !x.dims.empty() && x.dims.back().name == d ? verdict{} : no_dim(what, "the end of the operand", d);
}

// x [..., d] times a gain [d], element by element along d: the gain is I where x is I, split where d is, and R
// elsewhere, so that its gradient is owed over every axis that splits other dims (sequence parallelism, heads).
constexpr judged gained(const char* what, const layout& x, const layout& gain) {
  if (gain.dims.size() != 1) return {{}, no_dim(what, "the gain", x.dims.back().name)};
  if (verdict v = trailing_dims(what, x, gain); !v.holds()) return {{}, v};
  layout out = x;
  out.owed = x.owed | gain.owed;
  return {out, multiply(what, x, gain, gain.split())};
}

// RMSNorm or the like of x [..., d] with a gain [d]; d whole. Keeps x's layout.
constexpr judged norm(const layout& x, const layout& gain, dim_name d) {
  if (verdict v = ends_with("norm", x, d); !v.holds()) return {{}, v};
  if (!x.dims.back().by.empty()) return {{}, not_whole("norm", x.dims.back())};
  if (verdict v = settled("norm", x); !v.holds()) return {{}, v};
  return gained("norm", x, gain);
}
// With a shift [d] too (LayerNorm): its states are the gain's.
constexpr judged norm(const layout& x, const layout& gain, const layout& shift, dim_name d) {
  const judged n = norm(x, gain, d);
  return n.holds() ? bias(n.out, shift) : n;
}
// Norm of each head of q or k: heads may be split, head_dim is whole, the gain [head_dim] is R where they are.
constexpr judged head_norm(const layout& x, const layout& gain) { return norm(x, gain, dims::head_dim); }

// Norm over a split dim, first part: the sums of squares [...] of x [..., d], owed where d is split.
constexpr judged square_sums(const layout& x, dim_name d) {
  if (verdict v = ends_with("square_sums", x, d); !v.holds()) return {{}, v};
  if (verdict v = settled("square_sums", x); !v.holds()) return {{}, v};
  layout out = x;
  out.owed = x.dims.back().by.axes();
  out.dims.pop_back();
  return {out, {}};
}
// Second part: x [..., d] over the root of the summed squares [...], times a gain [d] split as x is. The squares are R
// where d is split: each rank uses them for its own piece. Linear in x.
constexpr judged norm_by(const layout& x, const layout& squares, const layout& gain, dim_name d) {
  if (verdict v = ends_with("norm_by", x, d); !v.holds()) return {{}, v};
  if (verdict v = settled("norm_by: a root", squares); !v.holds()) return {{}, v};
  layout rows = x;
  rows.dims.pop_back();
  if (verdict v = equal_dims("norm_by", rows, squares); !v.holds()) return {{}, v};
  if (verdict v = multiply("norm_by", x, squares, squares.split()); !v.holds()) return {{}, v};
  return gained("norm_by", x, gain);
}

}  // namespace meshpar::inline v0::typing
