// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/typing/states.hpp>

namespace meshpar::inline v0::typing {

// Shapes that meet element by element: the same dims in the same order, split the same way.
constexpr verdict equal_dims(const char* what, const layout& x, const layout& y) {
  if (x.dims == y.dims) return {};
  if (x.dims.size() != y.dims.size())
    return broken_by(rule::dimension_missing, fix::name_another_dimension,
                     text{} << what << ": the left is " << name_of(x) << ", the right " << name_of(y), x.dims.size(),
                     y.dims.size());
  int i = 0;
  while (x.dims[i] == y.dims[i]) ++i;
  if (!(x.dims[i].name == y.dims[i].name)) return no_dim(what, "the right operand", x.dims[i].name);
  return unlike(what, x, i, y, i);
}

// b has the last dims of x, held as x holds them (a bias, a gain).
constexpr verdict trailing_dims(const char* what, const layout& x, const layout& b) {
  const int skip = x.dims.size() - b.dims.size();
  for (int i = 0; i < b.dims.size(); ++i) {
    if (skip < 0 || !(x.dims[skip + i].name == b.dims[i].name))
      return no_dim(what, "the end of the left operand", b.dims[i].name);
    if (!same(x.dims[skip + i], b.dims[i])) return unlike(what, x, skip + i, b, i);
  }
  return {};
}

// Linear maps of each element (scale by a constant, cast, transpose): every state is kept.
constexpr judged linear(const layout& x) {
  if (!x.maximum.empty()) return {{}, pending_maximum("linear", x)};
  return {x, {}};
}
constexpr judged scale(const layout& x) { return linear(x); }
// The mask is a function of (seed, global index), so it is R, I or split as x is, and it multiplies a partial sum too.
constexpr judged dropout(const layout& x) { return linear(x); }

// Any other function of each element: R, I and split are kept, P is refused.
constexpr judged nonlinear(const layout& x, const char* what) {
  if (x.owed.empty() && x.maximum.empty()) return {x, {}};
  return {{}, settled(what, x)};
}

// x * y element by element: multiplication's algebra of states.
constexpr judged product(const layout& x, const layout& y, const char* what = "product") {
  if (verdict v = equal_dims(what, x, y); !v.holds()) return {{}, v};
  if (verdict v = multiply(what, x, y, x.split()); !v.holds()) return {{}, v};
  layout out = x;
  out.owed = x.owed | y.owed;
  return {out, {}};
}

// x + y: both in the same state over every axis.
constexpr judged sum(const layout& x, const layout& y) {
  if (x == y && x.maximum.empty()) return {x, {}};
  if (verdict v = equal_dims("sum", x, y); !v.holds()) return {{}, v};
  return {x, add("sum", x, y)};
}

// x + b, where b has the last dims of x: split there as x is, and otherwise in x's state; where x is split on another
// dim, b is R.
constexpr judged bias(const layout& x, const layout& b) {
  if (verdict v = trailing_dims("bias", x, b); !v.holds()) return {{}, v};
  return {x, add("bias", x, b)};
}

// x divided by a number that every rank knows: a count of labels, a norm. A local count would be P.
constexpr judged quotient(const layout& x, const layout& count) {
  if (!count.dims.empty())
    return {{},
            broken_by(rule::divisor_differs, fix::none,
                      text{} << "quotient: the divisor is " << name_of(count) << ", not one number")};
  if (!count.owed.empty()) {
    const axis a = first_of(count.owed);
    return {{},
            mended_by(fix::to_R, "divisor", at(a, x, count), rule::divisor_differs,
                      text{} << "quotient: the divisor is P over " << name_of(a)
                             << ", a rank has its own; sum it first with ")};
  }
  if (!count.maximum.empty()) return {{}, pending_maximum("quotient", count)};
  return linear(x);
}

// x and y one after the other along a dim that is whole in both; every other dim and every state equal.
constexpr judged concat(const layout& x, const layout& y, dim_name along) {
  const int i = x.find(along);
  if (i < 0) return {{}, no_dim("concat", "the left operand", along)};
  if (y.find(along) != i) return {{}, no_dim("concat", "the right operand", along)};
  if (!x.dims[i].by.empty()) return {{}, not_whole("concat", x.dims[i])};
  layout other = y, out = x;
  other.dims[i].local = x.dims[i].local;
  if (verdict v = equal_dims("concat", x, other); !v.holds()) return {{}, v};
  out.dims[i].local += y.dims[i].local;
  return {out, add("concat", x, y)};
}

}  // namespace meshpar::inline v0::typing
