// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/typing/refuse.hpp>

namespace meshpar::inline v0::typing {

struct placed {
  split_dim dim{};
  verdict no{};
  constexpr bool holds() const { return no.holds(); }
};

// The largest divisor of `size` that is at most `wanted`.
constexpr int divisor_at_most(std::int64_t size, int wanted) {
  while (wanted > 1 && size % wanted != 0) --wanted;
  return wanted;
}

// A dimension of a tensor with its global size, split over the axes s of the mesh, slowest first. Zigzag applies to cp
// and needs two pieces per rank.
constexpr placed place(dim_name name, std::int64_t size, axis_set s, const mesh& m, order how = order::contiguous) {
  std::int64_t left = size;
  for (const extent& e : m.named(s)) {
    const int pieces = how == order::zigzag && e.along == axes::cp ? 2 : 1;
    if (left % (pieces * e.ranks) == 0) {
      left /= e.ranks;
      continue;
    }
    const int fits = left % pieces == 0 ? divisor_at_most(left / pieces, e.ranks) : 1;
    text t;
    t << name_of(name) << " = " << static_cast<long>(size);
    if (left != size) t << " (" << static_cast<long>(left) << " of it before " << name_of(e.along) << ')';
    t << " does not divide over " << name_of(e.along) << " = " << e.ranks;
    if (pieces == 2) t << " (zigzag: 2 pieces a rank)";
    t << "; the nearest " << name_of(e.along) << " that divides is " << fits;
    return {{}, located({e.along}, broken_by(rule::split_does_not_divide, fix::set_extent, t, size, e.ranks, fits))};
  }
  return {make_dim(name, size, m, s, how), {}};
}

// A parameter whose dims do not go together.
constexpr verdict named_twice(dim_name name) {
  return broken_by(
      rule::dimension_appears_twice, fix::rename_one_dimension,
      text{} << "a parameter has " << name_of(name) << " twice; give one of them a dim of its own size<...>");
}
constexpr verdict split_twice(const layout& so_far, dim_name name, axis a) {
  int i = 0;
  while (!so_far.dims[i].by.axes().contains(a)) ++i;
  return located({a},
                 broken_by(rule::axis_on_two_dimensions, fix::rename_one_dimension,
                           text{} << "a parameter over " << name_of(so_far.dims[i].name) << " and " << name_of(name)
                                  << ", both over " << name_of(a) << "; give one a dim of its own, whole: size<...>"));
}

}  // namespace meshpar::inline v0::typing
