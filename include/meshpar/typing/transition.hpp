// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/typing/refuse.hpp>

namespace meshpar::inline v0::typing {

// How a value changes its layout. Those from all_gather to permute talk to other ranks.
enum class collective : unsigned char {
  none,
  all_gather,
  reduce_scatter,
  all_reduce,
  all_reduce_max,
  all_to_all,
  permute,     // the pieces of one dim change places between ranks
  slice,       // keep the own piece
  zero_pad,    // the own piece between zeros: backward of slice
  keep_first,  // the value on the first rank, zero on the others: R -> P, I -> P
};

// One move: the collective, the axes along which it runs (all of them make the same move), the dim that loses them
// (a gather, an all-to-all) and the dim that gets them (a scatter, an all-to-all); -1 where there is none.
struct move {
  collective kind = collective::none;
  axis_set along{};
  int from_dim = -1, to_dim = -1;
  verdict no{};
  constexpr bool holds() const { return no.holds(); }
};

// The table: every pair keeps the value, and its backward is the move between the duals, which is in it too.
inline constexpr collective move_table[4][4] = {
    // to R, I, P, split; from R
    {collective::none, collective::none, collective::keep_first, collective::slice},
    // from I
    {collective::none, collective::none, collective::keep_first, collective::slice},
    // from P
    {collective::all_reduce, collective::all_reduce, collective::none, collective::reduce_scatter},
    // from split
    {collective::all_gather, collective::all_gather, collective::zero_pad, collective::all_to_all},
};

// The one state of a layout over all axes of a set, or none; `split_there` are the axes that split it among them.
constexpr state state_over(const layout& x, axis_set s, axis_set split_there) {
  if (x.owed.contains(s)) return state::P;
  if (x.invariant.contains(s)) return state::I;
  if (split_there.contains(s)) return state::S;
  return ((x.owed | x.invariant | split_there) & s).empty() ? state::R : state::none;
}

constexpr verdict two_moves(const layout& from, const layout& to, axis_set moving) {
  const axis a = first_of(moving);
  text t = text{} << "to: " << name_of(a) << " goes from " << state_of(from, a) << " to " << state_of(to, a);
  if (axis_set rest = moving - a; !rest.empty()) {
    const axis b = first_of(rest);
    t << ", " << name_of(b) << " from " << state_of(from, b) << " to " << state_of(to, b);
  }
  return located(at(a, from, to),
                 broken_by(rule::not_one_collective, fix::one_axis_at_a_time, t << "; write one `to` per axis"));
}
constexpr verdict not_a_suffix(const split_dim& from) {
  return broken_by(rule::only_a_suffix_can_be_gathered, fix::to_R,
                   text{} << "to: " << name_of(from.name) << " is over " << name_of(from.by)
                          << ", of which only the last can move; gather " << name_of(last_axis(from.by)) << " too");
}
// Ranks of a group are numbered in mesh order, so the axes of one collective stand in mesh order in the list.
constexpr bool in_mesh_order(const factor_list& by, int first, const mesh& m) {
  for (int i = first; i + 1 < by.size(); ++i)
    if (m.stride(by[i].along) < m.stride(by[i + 1].along)) return false;
  return true;
}
constexpr verdict out_of_mesh_order(const split_dim& d) {
  return broken_by(rule::not_one_collective, fix::one_axis_at_a_time,
                   text{} << "to: the axes of " << name_of(d.name) << " (" << name_of(d.by)
                          << ") are not in mesh order; move one at a time, " << name_of(last_axis(d.by))
                          << " first when gathering");
}

constexpr verdict not_the_same_tensor(const layout& from, const layout& to, const mesh& m) {
  for (int i = 0; i < from.dims.size() && i < to.dims.size(); ++i) {
    if (!(from.dims[i].name == to.dims[i].name)) return no_dim("to: the target", "at that place", from.dims[i].name);
    if (from.global_size(i, m) != to.global_size(i, m))
      return broken_by(rule::dimension_sizes_differ, fix::none,
                       text{} << "to: " << name_of(from.dims[i].name) << " has "
                              << static_cast<long>(from.global_size(i, m)) << " elements, its target "
                              << static_cast<long>(to.global_size(i, m)),
                       from.global_size(i, m), to.global_size(i, m));
  }
  return from.dims.size() == to.dims.size()
             ? verdict{}
             : broken_by(rule::dimension_missing, fix::name_another_dimension,
                         text{} << "to: " << name_of(from) << " and " << name_of(to) << " do not have the same dims",
                         from.dims.size(), to.dims.size());
}

// The axes that leave dims and join dims between two layouts of one tensor, or what stands in the way, at dim `at`.
enum obstacle : unsigned char { nothing_refused, not_last, out_of_order, axes_replaced };
struct split_changes {
  axis_set leaving{}, joining{}, reordered{};
  int from_dim = -1, to_dim = -1, dims_touched = 0, at = -1;
  obstacle refused = nothing_refused;
};
constexpr split_changes changes(const layout& from, const layout& to, const mesh& m) {
  split_changes c;
  for (int i = 0; i < from.dims.size(); ++i) {
    const factor_list f = from.dims[i].by, t = to.dims[i].by;
    if (f.packed == t.packed) continue;
    int k = 0;
    while (k < f.size() && k < t.size() && f[k] == t[k]) ++k;
    ++c.dims_touched;
    obstacle here = nothing_refused;
    if (k == t.size()) {
      c.leaving = c.leaving | (f.axes() - t.axes()), c.from_dim = i;
      if (!in_mesh_order(f, k, m)) here = out_of_order;
    } else if (k == f.size()) {
      c.joining = c.joining | (t.axes() - f.axes()), c.to_dim = i;
      if (!in_mesh_order(t, k, m)) here = out_of_order;
    } else if (f.axes() == t.axes()) {
      for (int j = k; j < f.size(); ++j) c.reordered = c.reordered | f[j].along;
      c.from_dim = c.to_dim = i;
    } else {
      here = t.axes().contains(f.axes()) || f.axes().contains(t.axes()) ? not_last : axes_replaced;
    }
    if (here != nothing_refused) c.refused = here, c.at = i;
  }
  return c;
}
constexpr verdict words_for(const split_changes& c, const layout& from, const layout& to) {
  const split_dim &f = from.dims[c.at], &t = to.dims[c.at];
  const split_dim& longer = f.by.size() > t.by.size() ? f : t;
  const axis_set a = f.by.axes(), b = t.by.axes();
  if (c.refused == axes_replaced) return two_moves(from, to, (a | b) - (a & b));
  return located(at(last_axis(longer.by), from, to),
                 c.refused == not_last ? not_a_suffix(longer) : out_of_mesh_order(longer));
}

constexpr bool one_tensor(const layout& from, const layout& to, const mesh& m) {
  if (from.dims.size() != to.dims.size()) return false;
  int i = 0;
  for (const split_dim& f : from.dims) {
    const split_dim& t = to.dims[i];
    if (!(f.name == t.name)) return false;
    if (f.by == t.by ? f.local != t.local : from.global_size(i, m) != to.global_size(i, m)) return false;
    ++i;
  }
  return true;
}

// The move from one layout of a tensor to another. Refused: different tensors, two different moves at once, a gather of
// axes that are not last in their list. The move of the gradient is transition(dual(to, m), dual(from, m), m).
constexpr move transition(const layout& from, const layout& to, const mesh& m) {
  move r;
  if (from == to) return r;
  if (!one_tensor(from, to, m)) {
    r.no = not_the_same_tensor(from, to, m);
    return r;
  }
  const split_changes c = changes(from, to, m);
  if (c.refused != nothing_refused) {
    r.no = words_for(c, from, to);
    return r;
  }
  const axis_set pending = from.maximum - to.maximum;
  r.along = (from.owed | to.owed) - (from.owed & to.owed);
  r.along = r.along | ((from.invariant | to.invariant) - (from.invariant & to.invariant));
  r.along = r.along | c.leaving | c.joining | c.reordered | pending;
  const bool one_each = c.dims_touched <= (c.leaving.empty() || c.joining.empty() ? 1 : 2);
  if (!pending.empty() || !(to.maximum - from.maximum).empty()) {
    const bool finished = to.maximum.empty() && r.along == pending && from.dims == to.dims && from.owed == to.owed;
    r.kind = collective::all_reduce_max;
    if (!finished) r.no = pending_maximum("to", from.maximum.empty() ? to : from);
    return r;
  }
  if (!c.reordered.empty()) {
    r.kind = collective::permute, r.from_dim = c.from_dim, r.to_dim = c.to_dim;
    if (c.dims_touched > 1 || !(r.along == c.reordered)) r.no = two_moves(from, to, r.along);
    return r;
  }
  const state a = state_over(from, r.along, c.leaving), b = state_over(to, r.along, c.joining);
  if (a == state::none || b == state::none || !one_each) {
    r.no = two_moves(from, to, r.along);
    return r;
  }
  r.kind = move_table[static_cast<int>(a) - 1][static_cast<int>(b) - 1];
  r.from_dim = c.from_dim, r.to_dim = c.to_dim;
  return r;
}

}  // namespace meshpar::inline v0::typing
