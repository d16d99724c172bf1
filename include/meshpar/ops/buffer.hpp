// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/layout/offset.hpp>

namespace meshpar::inline v0 {

// One rank's part of a tensor, as a local region sees it: its elements row-major and dense, where they lie in the whole
// tensor, and where the rank is. It passes for a pointer.
template <class T>
struct buffer {
  T* data = nullptr;
  const layout* shape = nullptr;
  const mesh* ranks = nullptr;
  int rank = 0;

  constexpr operator T*() const { return data; }
  constexpr std::int64_t count() const { return shape->local_count(); }
  constexpr int dims() const { return shape->dims.size(); }
  // Elements along a dim: those here, those of the whole tensor, and the number of the first one here among these.
  constexpr std::int64_t size(int i) const { return shape->dims[i].local; }
  constexpr std::int64_t size(dim_name d) const { return size(shape->find(d)); }
  constexpr std::int64_t whole(dim_name d) const { return shape->global_size(shape->find(d), *ranks); }
  constexpr std::int64_t first(dim_name d) const { return global_index(shape->dims[shape->find(d)], *ranks, rank, 0); }
  // The rank's position along axes, and how many positions there are.
  constexpr int position(axis a) const { return ranks->position(rank, whole_axis(a)); }
  constexpr int positions(axis a) const { return ranks->size(whole_axis(a)); }
};

}  // namespace meshpar::inline v0
