// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/typing/elementwise.hpp>

namespace meshpar::inline v0::typing {

// The last dim of x is `over`, and x owes nothing.
constexpr verdict normalisable(const char* what, const layout& x, dim_name over_dim) {
  if (x.dims.empty() || !(x.dims.back().name == over_dim)) return no_dim(what, "the end of the operand", over_dim);
  return settled(what, x);
}

// A gain or shift of a norm over the last dim of x: I where x is I, split where that dim is, and R elsewhere, so that
// its gradient is owed over every axis that splits other dims (sequence parallelism, heads).
constexpr verdict norm_parameter(const char* what, const layout& x, const layout& p) {
  if (p.dims.size() != 1) return no_dim(what, "its parameter", x.dims.back().name);
  if (verdict v = trailing_dims(what, x, p); !v.holds()) return v;
  return multiply(what, x, p, p.split());
}

// RMSNorm or the like of x [..., over] with a gain [over]; `over` whole. Keeps x's layout.
constexpr judged norm(const layout& x, const layout& gain, dim_name over_dim) {
  if (verdict v = normalisable("norm", x, over_dim); !v.holds()) return {{}, v};
  if (!x.dims.back().by.empty()) return {{}, not_whole("norm", x.dims.back())};
  if (!gain.owed.empty()) return {{}, owed_sum("norm by a gain", gain)};
  return {x, norm_parameter("norm", x, gain)};
}
// With a shift too (LayerNorm).
constexpr judged norm(const layout& x, const layout& gain, const layout& shift, dim_name over_dim) {
  if (verdict v = add("norm", x, shift); !v.holds()) return {{}, v};
  if (judged j = norm(x, shift, over_dim); !j.holds()) return j;
  return norm(x, gain, over_dim);
}
// Norm of each head of q or k: heads may be split, head_dim is whole, the gain [head_dim] is R where they are.
constexpr judged head_norm(const layout& x, const layout& gain) { return norm(x, gain, dims::head_dim); }

// Norm over a split dim, first part: the sums of squares [...] of x [..., over], owed where `over` is split.
constexpr judged square_sums(const layout& x, dim_name over_dim) {
  if (verdict v = normalisable("square_sums", x, over_dim); !v.holds()) return {{}, v};
  layout out = x;
  out.owed = x.dims.back().by.axes();
  out.dims.pop_back();
  return {out, {}};
}
// Second part: x over the root of the summed squares, times a gain split as x is. The squares are R where x is split
// over that dim (each rank uses them on its own piece).
constexpr judged norm_by(const layout& x, const layout& squares, const layout& gain, dim_name over_dim) {
  if (verdict v = normalisable("norm_by", x, over_dim); !v.holds()) return {{}, v};
  if (verdict v = settled("norm_by the squares", squares); !v.holds()) return {{}, v};
  if (!gain.owed.empty()) return {{}, owed_sum("norm by a gain", gain)};
  layout rest = x;
  rest.dims.pop_back();
  if (verdict v = equal_dims("norm_by", rest, squares); !v.holds()) return {{}, v};
  if (verdict v = multiply("norm_by", x, squares, squares.split()); !v.holds()) return {{}, v};
  return {x, norm_parameter("norm_by", x, gain)};
}

}  // namespace meshpar::inline v0::typing
