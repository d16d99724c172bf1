// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/core/fixed_vector.hpp>
#include <meshpar/mesh/axis.hpp>

namespace meshpar::inline v0 {

// An axis and the number of ranks along it.
struct extent {
  axis along{};
  int ranks = 1;
  constexpr bool operator==(const extent&) const = default;
};

// A mesh: its axes with their extents, slowest first. An axis of extent 1 is not in it. A rank's coordinates are the
// digits of its number in this mixed radix.
struct mesh {
  fixed_vector<extent, axis_limit> extents{};

  constexpr mesh() = default;
  template <class... Extents>
  constexpr explicit mesh(extent first, Extents... more) {
    add(first);
    (add(more), ...);
  }
  constexpr void add(extent e) {
    if (e.ranks > 1) extents.push_back(e);
  }

  constexpr int size(axis a) const {
    for (const extent& e : extents)
      if (e.along == a) return e.ranks;
    return 1;
  }
  // The product of the extents in a set: the size of a group along it.
  constexpr int size(axis_set s) const {
    if (s.empty()) return 1;
    int n = 1;
    for (const extent& e : extents)
      if (s.bits >> e.along.id & 1u) n *= e.ranks;
    return n;
  }
  constexpr int size() const { return size(all()); }
  constexpr axis_set all() const {
    unsigned bits = 0;
    for (const extent& e : extents) bits |= 1u << e.along.id;
    return {static_cast<std::uint16_t>(bits)};
  }
  // The distance between ranks that are neighbours along an axis.
  constexpr int stride(axis a) const {
    int n = 1;
    for (int i = extents.size() - 1; i >= 0 && !(extents[i].along == a); --i) n *= extents[i].ranks;
    return n;
  }
  constexpr int coordinate(int rank, axis a) const { return rank / stride(a) % size(a); }
  // A rank's number within its group along a set of axes: the mixed-radix number of those coordinates.
  constexpr int position(int rank, axis_set s) const {
    int n = 0;
    for (const extent& e : extents)
      if (s.contains(e.along)) n = n * e.ranks + coordinate(rank, e.along);
    return n;
  }
  // The world rank of the member `position` of the group of `rank` along a set of axes.
  constexpr int member(int rank, axis_set s, int at) const {
    for (int i = extents.size() - 1; i >= 0; --i) {
      const extent e = extents[i];
      if (!s.contains(e.along)) continue;
      rank += (at % e.ranks - coordinate(rank, e.along)) * stride(e.along);
      at /= e.ranks;
    }
    return rank;
  }
  constexpr bool operator==(const mesh&) const = default;
};

}  // namespace meshpar::inline v0
