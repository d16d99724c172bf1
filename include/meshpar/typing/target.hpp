// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/typing/placement.hpp>

namespace meshpar::inline v0::typing {

// The targets of transitions: what a tensor's layout becomes over some axes. Axes that the mesh lacks are passed over.

// Without the axes s anywhere: R over them.
constexpr layout replicate(layout x, axis_set s, const mesh& m) {
  x.owed = x.owed - s, x.invariant = x.invariant - s, x.maximum = x.maximum - s;
  for (split_dim& d : x.dims) {
    const axis_set gone = d.by.axes() & s;
    if (gone.empty()) continue;
    factor_list kept;
    for (int i = 0; i < d.by.size(); ++i)
      if (!s.contains(d.by[i].along)) kept.push_back(d.by[i]);
    d.local *= m.size(gone);
    d.by = kept;
  }
  return x;
}

// I over the axes s.
constexpr layout invariant(const layout& x, axis_set s, const mesh& m) {
  layout out = replicate(x, s, m);
  out.invariant = out.invariant | (s & m.all());
  return out;
}

// P over the axes s: from R or I the value stays on the first rank.
constexpr layout owed(const layout& x, axis_set s, const mesh& m) {
  layout out = replicate(x, s, m);
  out.owed = out.owed | (s & m.all());
  return out;
}

// Laid out as y is; `transition` refuses if y is not the same tensor.
constexpr layout like(const layout&, const layout& y) { return y; }

// Split further, on a dim, over the axes s in mesh order; they leave whatever they were at.
constexpr judged split(const layout& x, dim_name d, axis_set s, const mesh& m) {
  layout out = replicate(x, s - (x.find(d) < 0 ? axis_set{} : x.dims[x.find(d)].by.axes()), m);
  const int at = out.find(d);
  if (at < 0) return {{}, no_dim("split", "the operand", d)};
  const axis_set joining = s - out.dims[at].by.axes();
  for (const extent& e : m.named(joining)) {
    if (const std::int64_t held = out.dims[at].local; held % e.ranks != 0) {
      const int fits = divisor_at_most(held, e.ranks);
      return {{},
              located({e.along}, broken_by(rule::split_does_not_divide, fix::set_extent,
                                           text{} << "split: a rank holds " << static_cast<long>(held) << " of "
                                                  << name_of(d) << ", not divisible by " << name_of(e.along) << " = "
                                                  << e.ranks << "; the nearest " << name_of(e.along) << " is " << fits,
                                           held, e.ranks, fits))};
    }
    out.dims[at].local /= e.ranks;
  }
  for (const extent& e : m.extents)
    if (joining.contains(e.along)) out.dims[at].by.push_back({e.along, order::contiguous});
  return {out, {}};
}

}  // namespace meshpar::inline v0::typing
