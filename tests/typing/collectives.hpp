// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "simulator.hpp"

namespace meshpar::test {

// What a move does to what the ranks hold, element by element as the two layouts say. Data comes only from members of
// the group along `move.along`; nothing is returned if that would not do.
inline std::optional<ranks> perform(const ty::move& t, const ranks& x, const layout& from, const layout& to,
                                    const mesh& m) {
  using enum ty::collective;
  ranks y(x.size(), array(local_shape(to)));
  const int group = m.size(t.along);
  for (int r = 0; r < m.size(); ++r)
    for (std::int64_t i = 0; i < to.local_count(); ++i) {
      num& out = y[static_cast<std::size_t>(r)][i];
      const std::int64_t g = global_index(to, m, r, i);
      const place_of source = owner(from, m, r, g);
      const num here = x[static_cast<std::size_t>(source.rank)][source.local];
      if (m.member(source.rank, t.along, m.position(r, t.along)) != r) return std::nullopt;  // not of this group
      const bool own = source.rank == r;
      if (t.kind == zero_pad) out = own ? here : num(0);
      else if (t.kind == keep_first) out = m.position(r, t.along) == 0 ? here : num(0);
      else if (t.kind == none || t.kind == slice) {
        if (!own) return std::nullopt;
        out = here;
      } else if (t.kind == all_reduce || t.kind == reduce_scatter || t.kind == all_reduce_max) {
        out = t.kind == all_reduce_max ? -1e300 : 0.0;
        for (int at = 0; at < group; ++at) {
          const num term = x[static_cast<std::size_t>(m.member(r, t.along, at))][source.local];
          out = t.kind == all_reduce_max ? num(std::max(out.v, term.v)) : out + term;
        }
      } else {
        out = here;
      }
    }
  return y;
}

// Chunk `at` of `n` of an array along a dim; several arrays one after the other along a dim.
inline array chunk(const array& a, std::size_t dim, int n, int at) {
  array y = a;
  y.shape[dim] /= n;
  y.at.resize(static_cast<std::size_t>(y.count()));
  std::int64_t inner = 1;
  for (std::size_t k = dim + 1; k < a.shape.size(); ++k) inner *= a.shape[k];
  const std::int64_t piece = y.shape[dim] * inner;
  for (std::int64_t i = 0; i < y.count(); ++i) y[i] = a[(i / piece * n + at) * piece + i % piece];
  return y;
}
inline array joined(const std::vector<array>& parts, std::size_t dim) {
  const int n = static_cast<int>(parts.size());
  array y = parts[0];
  y.shape[dim] *= n;
  y.at.resize(static_cast<std::size_t>(y.count()));
  std::int64_t inner = 1;
  for (std::size_t k = dim + 1; k < y.shape.size(); ++k) inner *= y.shape[k];
  const std::int64_t piece = parts[0].shape[dim] * inner;
  for (std::int64_t i = 0; i < y.count(); ++i)
    y[i] = parts[static_cast<std::size_t>(i / piece % n)][i / (piece * n) * piece + i % piece];
  return y;
}

// The same as a communicator does it that knows nothing of layouts: whole blocks in the order of the group. Nothing
// where shapes do not divide.
inline std::optional<ranks> perform_plainly(const ty::move& t, const ranks& x, const mesh& m) {
  using enum ty::collective;
  const int n = m.size(t.along);
  const auto from = static_cast<std::size_t>(t.from_dim), to = static_cast<std::size_t>(t.to_dim);
  ranks y;
  for (int r = 0; r < m.size(); ++r) {
    const int position = m.position(r, t.along);
    const array& mine = x[static_cast<std::size_t>(r)];
    if (t.to_dim >= 0 && mine.shape[to] % n != 0) return std::nullopt;
    std::vector<array> all;
    for (int at = 0; at < n; ++at) all.push_back(x[static_cast<std::size_t>(m.member(r, t.along, at))]);
    array total = all[0];
    for (int at = 1; at < n; ++at)
      for (std::int64_t i = 0; i < total.count(); ++i) total[i] = total[i] + all[static_cast<std::size_t>(at)][i];
    array zero = mine;
    for (num& v : zero.at) v = 0;
    switch (t.kind) {
      case all_gather: y.push_back(joined(all, from)); break;
      case reduce_scatter: y.push_back(chunk(total, to, n, position)); break;
      case all_reduce: y.push_back(total); break;
      case all_to_all:
        for (array& a : all) a = chunk(a, to, n, position);
        y.push_back(joined(all, from));
        break;
      case slice: y.push_back(chunk(mine, to, n, position)); break;
      case zero_pad:
        for (int at = 0; at < n; ++at)
          if (at != position) all[static_cast<std::size_t>(at)] = zero;
        y.push_back(joined(all, from));
        break;
      case keep_first: y.push_back(position == 0 ? mine : zero); break;
      default: y.push_back(mine);
    }
  }
  return y;
}

// Every move of the table on tensors of `dims` dims over the given axes.
inline std::vector<ty::move> every_move(axis_set along, int dims) {
  using enum ty::collective;
  std::vector<ty::move> all;
  for (const ty::collective kind : {none, all_reduce, keep_first}) all.push_back({kind, along, -1, -1, {}});
  for (int d = 0; d < dims; ++d) {
    for (const ty::collective kind : {all_gather, zero_pad}) all.push_back({kind, along, d, -1, {}});
    for (const ty::collective kind : {reduce_scatter, slice}) all.push_back({kind, along, -1, d, {}});
    for (int e = 0; e < dims; ++e)
      if (e != d) all.push_back({all_to_all, along, d, e, {}});
  }
  return all;
}

}  // namespace meshpar::test
