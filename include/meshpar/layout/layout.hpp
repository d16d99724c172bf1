// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/core/fixed_vector.hpp>
#include <meshpar/core/state.hpp>
#include <meshpar/layout/dim.hpp>
#include <meshpar/mesh/mesh.hpp>

namespace meshpar::inline v0 {

// In which order the ranks of an axis take the pieces of a dimension: rank c holds piece c, or (zigzag) of 2N pieces
// the pieces c and 2N-1-c, one early and one late, which balances causal attention.
enum class order : std::uint8_t { contiguous, zigzag };

struct factor {
  axis along{};
  order by = order::contiguous;
  constexpr bool operator==(const factor&) const = default;
};

// The axes that split one dimension, major to minor, packed five bits each so that layouts compare in few steps.
struct factor_list {
  std::uint32_t packed = 0;

  constexpr int size() const {
    int n = 0;
    for (std::uint32_t p = packed; p != 0; p >>= 5) ++n;
    return n;
  }
  constexpr bool empty() const { return packed == 0; }
  constexpr factor operator[](int i) const {
    const std::uint32_t five = packed >> (5 * i) & 31u;
    return {axis{static_cast<std::uint8_t>((five & 15u) - 1)}, static_cast<order>(five >> 4)};
  }
  constexpr void push_back(factor f) {
    const std::uint32_t five = static_cast<std::uint32_t>(f.along.id + 1) | static_cast<std::uint32_t>(f.by) << 4;
    packed |= five << (5 * size());
  }
  constexpr void pop_back() { packed &= (1u << (5 * (size() - 1))) - 1u; }
  constexpr axis_set axes() const {
    std::uint32_t bits = 0;
    for (std::uint32_t p = packed; p != 0; p >>= 5) bits |= 1u << ((p & 15u) - 1u);
    return {static_cast<std::uint16_t>(bits)};
  }
  constexpr bool operator==(const factor_list&) const = default;
};

// One dimension of a tensor: its name, its local size, and the axes that split it.
struct split_dim {
  dim_name name{};
  std::int64_t local = 0;
  factor_list by{};
  constexpr bool operator==(const split_dim&) const = default;
};

// A layout: dims in memory order (row-major, last fastest), the axes over which a sum is owed (state P) and those over
// which the value is invariant (state I). An axis that splits nothing and is in neither set is replicated (state R).
// `maximum` holds the axes over which a maximum, not a sum, is pending: it has no gradient, and only a transition (or
// the loss that made it) takes it. Only canonical layouts exist: no axis of extent 1 appears, and unused slots are
// zero; so equal layouts are one type.
struct layout {
  fixed_vector<split_dim, 6> dims{};
  axis_set owed{};
  axis_set invariant{};
  axis_set maximum{};

  // The position of a dim, or -1.
  constexpr int find(dim_name name) const {
    int i = 0;
    for (const split_dim& d : dims) {
      if (d.name == name) return i;
      ++i;
    }
    return -1;
  }
  constexpr axis_set split() const {
    unsigned bits = 0;
    for (const split_dim& d : dims)
      if (d.by.packed != 0) bits |= d.by.axes().bits;
    return {static_cast<std::uint16_t>(bits)};
  }
  // The axes at which it is neither split, owed nor invariant, among those of a mesh.
  constexpr axis_set replicated(const mesh& m) const {
    const unsigned taken = split().bits | owed.bits | invariant.bits | maximum.bits;
    return {static_cast<std::uint16_t>(m.all().bits & ~taken)};
  }
  // Elements that one rank holds.
  constexpr std::int64_t local_count() const {
    std::int64_t n = 1;
    for (const split_dim& d : dims) n *= d.local;
    return n;
  }
  constexpr std::int64_t global_size(int i, const mesh& m) const {
    const split_dim& d = dims[i];
    return d.by.packed == 0 ? d.local : d.local * m.size(d.by.axes());
  }
  constexpr bool operator==(const layout&) const = default;
};

// The state of a layout over one axis.
constexpr state state_at(const layout& l, axis a) {
  return l.owed.contains(a)        ? state::P
         : l.invariant.contains(a) ? state::I
         : l.maximum.contains(a)   ? state::M
         : l.split().contains(a)   ? state::S
                                   : state::R;
}

// The gradient's layout is a function of the value's: it swaps replicated and owed (P* = R, R* = P), and a split or
// invariant axis stays what it is. dual(dual(x)) == x.
constexpr layout dual(layout x, const mesh& m) {
  x.owed = x.replicated(m);
  return x;
}

// ---- the functions that build layouts; all return canonical form

// A dimension of global size `size`, split over axes of the mesh (those of extent 1 vanish).
// The caller has checked that the extents divide the size (typing/placement.hpp refuses what does not).
constexpr split_dim make_dim(dim_name name, std::int64_t size, const mesh& m, axis_set by = {},
                             order how = order::contiguous) {
  split_dim d{name, size / m.size(by), {}};
  for (const extent& e : m.extents)
    if (by.contains(e.along)) d.by.push_back({e.along, e.along == axes::cp ? how : order::contiguous});
  return d;
}

constexpr layout make_layout() { return {}; }
template <class... Dims>
constexpr layout make_layout(split_dim first, Dims... more) {
  layout l;
  l.dims.push_back(first);
  (l.dims.push_back(more), ...);
  return l;
}

constexpr layout with_owed(layout l, axis_set s, const mesh& m) {
  l.owed = s & m.all();
  return l;
}
constexpr layout with_invariant(layout l, axis_set s, const mesh& m) {
  l.invariant = s & m.all();
  return l;
}

}  // namespace meshpar::inline v0
