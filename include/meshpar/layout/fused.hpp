// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/layout/offset.hpp>

namespace meshpar::inline v0 {

// Several logical dims whose pieces lie one after the other on each rank, so that one matrix product serves them all
// (q, k and v; gate and up). Each part is split on its own: the rows of rank r are its q rows, then its k rows, then
// its v rows, never rows of the plain concatenation. Files and initialisation see the parts.
struct fused {
  fixed_vector<split_dim, 4> parts{};

  constexpr fused() = default;
  template <class... Dims>
  constexpr explicit fused(split_dim first, Dims... more) {
    parts.push_back(first);
    (parts.push_back(more), ...);
  }

  // Rows that a rank holds, and where part i begins among them.
  constexpr std::int64_t local() const { return offset(parts.size()); }
  constexpr std::int64_t offset(int i) const {
    std::int64_t n = 0;
    for (int k = 0; k < i; ++k) n += parts[k].local;
    return n;
  }
  constexpr bool operator==(const fused&) const = default;
};

// Which part holds a rank's local row, and the row's global index in that part.
struct fused_row {
  int part = 0;
  std::int64_t global = 0;
  constexpr bool operator==(const fused_row&) const = default;
};
constexpr fused_row row_of(const fused& f, const mesh& m, int rank, std::int64_t local) {
  int i = 0;
  while (local >= f.parts[i].local) local -= f.parts[i++].local;
  return {i, global_index(f.parts[i], m, rank, local)};
}

}  // namespace meshpar::inline v0
