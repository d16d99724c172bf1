// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/typing/refuse.hpp>

namespace meshpar::inline v0::typing {

// x [..., d, ...] -> [..., major, minor, ...] with `minor_size` elements of minor: the axes that split d end on major,
// so they must divide it. Every state is kept.
constexpr judged divide_dim(const layout& x, dim_name d, dim_name major, dim_name minor, std::int64_t minor_size) {
  if (!x.maximum.empty()) return {{}, pending_maximum("divide_dim", x)};
  const int at = x.find(d);
  if (at < 0) return {{}, no_dim("divide_dim", "the operand", d)};
  const split_dim whole = x.dims[at];
  std::int64_t unit = minor_size;
  for (int i = 0; i < whole.by.size(); ++i) unit *= whole.by[i].by == order::zigzag ? 2 : 1;
  if (whole.local % unit != 0)
    return {{},
            broken_by(rule::split_does_not_divide, fix::split_over_fewer,
                      text{} << "divide_dim: a rank holds " << static_cast<long>(whole.local) << " of " << name_of(d)
                             << " (over " << name_of(whole.by) << "), not a whole number of " << name_of(major)
                             << " of " << static_cast<long>(minor_size) << "; split over fewer ranks",
                      whole.local, unit)};
  if ((major != d && x.find(major) >= 0) || (minor != d && x.find(minor) >= 0))
    return {
        {},
        broken_by(rule::dimension_appears_twice, fix::rename_one_dimension,
                  text{} << "divide_dim: " << name_of(major) << " or " << name_of(minor) << " is in " << name_of(x))};
  layout out{{}, x.owed, x.invariant, {}};
  for (int i = 0; i < x.dims.size(); ++i) {
    if (i != at) out.dims.push_back(x.dims[i]);
    if (i != at) continue;
    out.dims.push_back({major, whole.local / minor_size, whole.by});
    out.dims.push_back({minor, minor_size, {}});
  }
  return {out, {}};
}

// x [..., major, minor, ...] -> [..., into, ...]. Only major may be split; a split minor would leave each rank strided
// pieces of the merged dim, unless major has one element.
constexpr judged merge_dims(const layout& x, dim_name major, dim_name minor, dim_name into, const mesh& m) {
  if (!x.maximum.empty()) return {{}, pending_maximum("merge_dims", x)};
  const int at = x.find(major);
  if (at < 0) return {{}, no_dim("merge_dims", "the operand", major)};
  if (at + 1 >= x.dims.size() || !(x.dims[at + 1].name == minor))
    return {{},
            broken_by(rule::dimensions_not_adjacent, fix::none,
                      text{} << "merge_dims: " << name_of(minor) << " does not follow " << name_of(major) << " in "
                             << name_of(x))};
  const split_dim a = x.dims[at], b = x.dims[at + 1];
  if (!b.by.empty() && x.global_size(at, m) != 1) return {{}, not_whole("merge_dims", b)};
  for (int i = 0; i < x.dims.size(); ++i)
    if (i != at && i != at + 1 && x.dims[i].name == into)
      return {{},
              broken_by(rule::dimension_appears_twice, fix::rename_one_dimension,
                        text{} << "merge_dims: " << name_of(into) << " is in " << name_of(x) << " already")};
  layout out{{}, x.owed, x.invariant, {}};
  for (int i = 0; i < x.dims.size(); ++i) {
    if (i == at + 1) continue;
    out.dims.push_back(i == at ? split_dim{into, a.local * b.local, b.by.empty() ? a.by : b.by} : x.dims[i]);
  }
  return {out, {}};
}

// `count` elements of a dim from element `first` on: of a whole dim only. (Parts of a fused matrix: layout/fused.hpp.)
constexpr judged slice(const layout& x, dim_name d, std::int64_t first, std::int64_t count) {
  if (!x.maximum.empty()) return {{}, pending_maximum("slice", x)};
  const int at = x.find(d);
  if (at < 0) return {{}, no_dim("slice", "the operand", d)};
  if (!x.dims[at].by.empty())
    return {{},
            located({x.dims[at].by[0].along, state::S},
                    broken_by(rule::dimension_must_be_whole, fix::declare_fused,
                              text{} << "slice: " << name_of(d) << " is over " << name_of(x.dims[at].by)
                                     << ", a rank has no piece of each part; declare them as fused(...)",
                              x.dims[at].local))};
  if (first < 0 || count < 1 || first + count > x.dims[at].local)
    return {
        {},
        broken_by(rule::dimension_sizes_differ, fix::none,
                  text{} << "slice: elements " << static_cast<long>(first) << " to " << static_cast<long>(first + count)
                         << " of " << name_of(d) << ", which has " << static_cast<long>(x.dims[at].local),
                  first + count, x.dims[at].local)};
  layout out = x;
  out.dims[at].local = count;
  return {out, {}};
}

}  // namespace meshpar::inline v0::typing
