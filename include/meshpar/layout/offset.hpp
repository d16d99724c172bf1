// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/layout/layout.hpp>

namespace meshpar::inline v0 {

// A layout as a function (rank, local index) -> global index, and back. One factor after the other, major to minor: a
// contiguous factor over N ranks cuts what is held into N pieces, and rank c keeps piece c; a zigzag factor cuts it
// into 2N, and rank c keeps the pieces c and 2N-1-c, in that order. A minor factor cuts what its majors left, in local
// order.

// Consecutive elements of a dimension: `count` of them from `global` on, held from `local` on.
struct run {
  std::int64_t global = 0, local = 0, count = 0;
  constexpr bool operator==(const run&) const = default;
};
using runs = fixed_vector<run, 16>;

// The elements [first, first + count) of what `from` holds, appended to `to`. Neighbours merge.
constexpr void take(const runs& from, std::int64_t first, std::int64_t count, runs& to) {
  for (const run& r : from) {
    const std::int64_t begin = first > r.local ? first : r.local;
    const std::int64_t end = first + count < r.local + r.count ? first + count : r.local + r.count;
    if (begin >= end) continue;
    const std::int64_t global = r.global + begin - r.local;
    if (!to.empty() && to.back().global + to.back().count == global) to.back().count += end - begin;
    else to.push_back({global, to.empty() ? 0 : to.back().local + to.back().count, end - begin});
  }
}

// What a rank holds of one dimension, in local order.
constexpr runs pieces(const split_dim& d, const mesh& m, int rank) {
  std::int64_t held = d.local * m.size(d.by.axes());
  runs all;
  all.push_back({0, 0, held});
  for (int i = 0; i < d.by.size(); ++i) {
    const int n = m.size(d.by[i].along), c = m.coordinate(rank, d.by[i].along);
    const bool zigzag = d.by[i].by == order::zigzag;
    const std::int64_t piece = held / (zigzag ? 2 * n : n);
    runs mine;
    take(all, c * piece, piece, mine);
    if (zigzag) take(all, (2 * n - 1 - c) * piece, piece, mine);
    all = mine;
    held /= n;
  }
  return all;
}

// The global index of a rank's element `local` of a dimension.
constexpr std::int64_t global_index(const split_dim& d, const mesh& m, int rank, std::int64_t local) {
  for (int i = d.by.size() - 1; i >= 0; --i) {
    const int n = m.size(d.by[i].along), c = m.coordinate(rank, d.by[i].along);
    factor_list majors = d.by;
    while (majors.size() > i) majors.pop_back();
    const std::int64_t mine = d.local * m.size(d.by.axes()) / m.size(majors.axes()) / n;
    if (d.by[i].by == order::contiguous) local += c * mine;
    else local += local < mine / 2 ? c * (mine / 2) : (2 * n - 2 - c) * (mine / 2);
  }
  return local;
}

// Which rank holds a global index, and where: the rank with the coordinates of `like_rank` on all axes that do not
// split the dimension. The inverse of global_index.
struct place_of {
  int rank = 0;
  std::int64_t local = 0;
  constexpr bool operator==(const place_of&) const = default;
};
constexpr place_of owner(const split_dim& d, const mesh& m, int like_rank, std::int64_t global) {
  place_of p{like_rank, global};
  std::int64_t held = d.local * m.size(d.by.axes());
  for (int i = 0; i < d.by.size(); ++i) {
    const axis a = d.by[i].along;
    const int n = m.size(a);
    int c;
    if (d.by[i].by == order::contiguous) {
      const std::int64_t piece = held / n;
      c = static_cast<int>(p.local / piece);
      p.local -= c * piece;
    } else {
      const std::int64_t piece = held / (2 * n), at = p.local / piece;
      c = static_cast<int>(at < n ? at : 2 * n - 1 - at);
      p.local += (at < n ? -at : 1 - at) * piece;
    }
    held /= n;
    p.rank += (c - m.coordinate(p.rank, a)) * m.stride(a);
  }
  return p;
}

// The same for whole tensors: row-major local and global indices.
constexpr std::int64_t global_index(const layout& l, const mesh& m, int rank, std::int64_t local) {
  std::int64_t global = 0, unit = 1;
  for (int i = l.dims.size() - 1; i >= 0; --i) {
    const split_dim& d = l.dims[i];
    global += unit * global_index(d, m, rank, local % d.local);
    local /= d.local;
    unit *= l.global_size(i, m);
  }
  return global;
}
constexpr place_of owner(const layout& l, const mesh& m, int like_rank, std::int64_t global) {
  place_of p{like_rank, 0};
  std::int64_t unit = 1;
  for (int i = l.dims.size() - 1; i >= 0; --i) {
    const std::int64_t size = l.global_size(i, m);
    const place_of at = owner(l.dims[i], m, p.rank, global % size);
    p.rank = at.rank;
    p.local += unit * at.local;
    global /= size;
    unit *= l.dims[i].local;
  }
  return p;
}

}  // namespace meshpar::inline v0
