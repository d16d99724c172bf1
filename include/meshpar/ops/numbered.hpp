// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/ops/context.hpp>

// Tensors and plans as types with short names. A compiler writes out a type wherever it tells the way to an error, and
// a layout written out takes some hundred characters. So a type carries a number, made of the layout's or the plan's
// value, and a friend function, defined where the number is made, gives the value back. Equal values are one type. Two
// values with one number would define that friend twice: an error, never a mistake.

namespace meshpar {

inline namespace v0 {

// A hash of what is added to it, of at most nine digits.
struct number {
  std::uint64_t state = 14695981039346656037u;

  constexpr void add(std::uint64_t x) { state = (state ^ x ^ state >> 29) * 1099511628211u; }
  constexpr void add(const layout& l) {
    for (const split_dim& d : l.dims) add(d.name.code), add(std::uint64_t(d.local) << 32 ^ d.by.packed);
    add(std::uint64_t{l.owed.bits} << 32 | std::uint64_t{l.invariant.bits} << 16 | l.maximum.bits);
  }
  constexpr operator int() const { return static_cast<int>(state % 1'000'000'007u); }
};
constexpr int number_of(const context& c) {
  number n;
  for (const extent& e : c.ranks.extents) n.add(std::uint64_t(e.ranks) << 8 ^ e.along.id);
  for (const placed_dim& d : c.placement)
    n.add(d.name.code), n.add(std::uint64_t(d.size)), n.add(std::uint64_t(d.logical) << 16 ^ d.by.bits);
  n.add(c.stream), n.add(c.tokens);
  n.add(std::uint64_t(c.compute) << 16 | std::uint64_t(c.grad) << 8 | std::uint64_t(c.reduce));
  return n;
}
constexpr int number_of(const layout& l, int plan) {
  number n;
  n.add(l), n.add(std::uint64_t(plan));
  return n;
}

// A layout under the plan of a number.
struct placed_layout {
  layout shape{};
  int plan = 0;
};

struct refused;

// Plans.
template <int Number>
struct plan_number {
  template <class>
  friend constexpr context value_of(plan_number);
};
template <context Plan>
struct enter_plan {
  static constexpr int number = number_of(Plan);
  template <class>
  friend constexpr context value_of(plan_number<number>) {
    return Plan;
  }
};
template <int Number>
inline constexpr context plan_numbered = value_of<void>(plan_number<Number>{});

}  // namespace v0

// Tensors and what hands out parameters. Not in v0, for messages write these names often and would write that each
// time.
template <int P>
struct scope;
template <int Number>
struct tensor {
  template <class>
  friend constexpr placed_layout value_of(tensor);
  static constexpr const layout& shape();
};
template <layout L, int Plan>
struct enter_layout {
  static constexpr int number = v0::number_of(L, Plan);
  template <class>
  friend constexpr placed_layout value_of(tensor<number>) {
    return {L, Plan};
  }
};
template <int Number>
inline constexpr placed_layout entry = value_of<void>(tensor<Number>{});
template <int Number>
constexpr const layout& tensor<Number>::shape() {
  return entry<Number>.shape;
}

inline namespace v0 {

template <layout L, const context& Plan>
using tensor_of = tensor<enter_layout<L, enter_plan<Plan>::number>::number>;
template <const context& Plan>
using scope_of = scope<enter_plan<Plan>::number>;

// What an operation returns whose rule holds, or not. (std::conditional would be one more class for each result.)
template <bool Holds>
struct result {
  template <layout, int>
  using type = refused;
};
template <>
struct result<true> {
  template <layout L, int Plan>
  using type = tensor<enter_layout<L, Plan>::number>;
};

}  // namespace v0
}  // namespace meshpar
