// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/typing/states.hpp>

namespace meshpar::inline v0::typing {

// ids [...] and a table [rows, columns...] -> [..., columns...]: a lookup, linear in the table; the ids have no
// gradient, so R and I are one for them. Where the rows are split each rank looks up what it owns, and the result owes
// a sum; the ids must then be whole over that axis.
constexpr judged lookup(const char* what, const layout& ids, const layout& table) {
  if (table.dims.size() < 2) return {{}, no_dim(what, "the table", dims::hidden)};
  if (verdict v = settled(what, ids); !v.holds()) return {{}, v};
  if (!table.maximum.empty()) return {{}, pending_maximum(what, table)};
  const axis_set rows = table.dims[0].by.axes();
  if (const axis_set clash = ids.split() & (table.split() | table.owed); !clash.empty()) {
    const axis a = first_of(clash);
    return {{},
            mended_by(fix::to_R, "ids", at(a, ids, table), rule::indices_and_table_share_an_axis,
                      text{} << what << ": ids are " << state_of(ids, a) << ", table " << state_of(table, a) << " over "
                             << name_of(a) << "; first ")};
  }
  if (const axis_set clash = ids.split() & table.invariant; !clash.empty())
    return {{}, invariant_mixed(what, layout{ids.dims, {}, {}, {}}, layout{table.dims, {}, clash, {}})};
  layout out = ids;
  for (int i = 1; i < table.dims.size(); ++i) {
    if (out.find(table.dims[i].name) >= 0)
      return {
          {},
          broken_by(rule::dimension_appears_twice, fix::rename_one_dimension,
                    text{} << what << ": " << name_of(table.dims[i].name) << " is a dim of the ids and of the table")};
    out.dims.push_back(table.dims[i]);
  }
  out.owed = table.owed | rows;
  out.invariant = table.invariant;
  return {out, {}};
}

// ids [seq, batch], table [vocab, hidden] -> [seq, batch, hidden], P over the axes that split vocab.
constexpr judged embedding(const layout& ids, const layout& table) { return lookup("embedding", ids, table); }

// The rows of a table [positions, hidden] at the global positions of ids [seq, batch], which the layout of seq gives;
// so seq may be split. Positions are whole.
constexpr judged learned_positions(const layout& ids, const layout& table, const mesh& m) {
  const int s = ids.find(dims::seq);
  if (s < 0) return {{}, no_dim("learned_positions", "the ids", dims::seq)};
  if (table.dims.size() < 2) return {{}, no_dim("learned_positions", "the table", dims::hidden)};
  if (!table.dims[0].by.empty()) return {{}, not_whole("learned_positions", table.dims[0])};
  if (ids.global_size(s, m) > table.dims[0].local)
    return {{},
            broken_by(rule::dimension_sizes_differ, fix::none,
                      text{} << "learned_positions: " << static_cast<long>(ids.global_size(s, m))
                             << " positions of seq, but only " << static_cast<long>(table.dims[0].local) << " rows of "
                             << name_of(table.dims[0].name),
                      ids.global_size(s, m), table.dims[0].local)};
  return lookup("learned_positions", ids, table);
}

}  // namespace meshpar::inline v0::typing
