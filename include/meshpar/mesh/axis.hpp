// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/core/text.hpp>

#include <cstdint>

namespace meshpar::inline v0 {

// A set of axes as a bit mask: states of a layout, the group of a collective, the ranks a gradient is summed over.
struct axis_set {
  std::uint16_t bits = 0;

  constexpr bool empty() const { return bits == 0; }
  constexpr bool contains(axis_set other) const { return (other.bits & ~bits) == 0; }
  constexpr bool operator==(const axis_set&) const = default;
};

// An axis of the mesh is a small number with a name; a user's own axis takes a number from 10 to 14. It stands for the
// set that holds it alone.
struct axis {
  std::uint8_t id = 0;
  constexpr operator axis_set() const { return {static_cast<std::uint16_t>(1u << id)}; }
  constexpr bool operator==(const axis&) const = default;
};

// Axes in mesh order, slowest first. kv_rep is the minor part of tp over which KV heads are replicated when tp exceeds
// them; a plan in which they divide has no such axis (extent 1).
template <int Id>
struct named_axis : axis {
  static constexpr axis value{Id};  // in its type, so that an operation can be told an axis as an ordinary argument
  constexpr named_axis() : axis{Id} {}
};
namespace axes {
inline constexpr named_axis<0> pp;
inline constexpr named_axis<1> dp;
inline constexpr named_axis<2> cp;
inline constexpr named_axis<3> tp;
inline constexpr named_axis<4> kv_rep;
inline constexpr named_axis<5> edp;
inline constexpr named_axis<6> ep;
inline constexpr named_axis<7> etp;
}  // namespace axes

inline constexpr int axis_limit = 15;

constexpr text name_of(axis a) {
  constexpr const char* names[] = {"pp", "dp", "cp", "tp", "kv_rep", "edp", "ep", "etp"};
  text t;
  if (a.id < 8) return t << names[a.id];
  return t << "axis " << static_cast<int>(a.id);
}

constexpr axis_set operator|(axis_set a, axis_set b) { return {static_cast<std::uint16_t>(a.bits | b.bits)}; }
constexpr axis_set operator&(axis_set a, axis_set b) { return {static_cast<std::uint16_t>(a.bits & b.bits)}; }
constexpr axis_set operator-(axis_set a, axis_set b) { return {static_cast<std::uint16_t>(a.bits & ~b.bits)}; }

// "tp", "dp and tp"; the part kv_rep of tp is not named apart when tp itself is there.
constexpr text name_of(axis_set s) {
  text t;
  if (s.contains(axes::tp)) s = s - axes::kv_rep;
  for (int i = 0; i < axis_limit; ++i)
    if (axis a{static_cast<std::uint8_t>(i)}; s.contains(a)) (t.empty() ? t : t << " and ") << name_of(a);
  return t;
}

// What a user means by one axis: tp is both of its parts.
constexpr axis_set whole_axis(axis a) { return a == axes::tp ? axes::tp | axes::kv_rep : axis_set(a); }

}  // namespace meshpar::inline v0
