// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/core/text.hpp>

#include <cstdint>

namespace meshpar::inline v0 {

// The name of a dimension as one number: up to ten of [a-z0-9_], six bits each, first letter in the low bits, so that
// a layout stays small in symbol names and names compare in one step.
struct dim_name {
  std::uint64_t code = 0;

  constexpr dim_name() = default;
  constexpr dim_name(std::uint64_t packed) : code(packed) {}  // nvcc writes template arguments out in this form
  template <int N>
  consteval dim_name(const char (&word)[N]) {
    static_assert(N - 1 <= 10, "a dimension's name has at most ten letters");
    for (int i = N - 2; i >= 0; --i) code = code << 6 | number(word[i]);
  }
  constexpr bool operator==(const dim_name&) const = default;

  static constexpr std::uint64_t number(char c) {
    return static_cast<std::uint64_t>(c == '_' ? 63 : c <= '9' ? c - '0' + 1 : c - 'a' + 11);
  }
};

constexpr text name_of(dim_name d) {
  text t;
  for (std::uint64_t code = d.code; code != 0; code >>= 6) {
    const int n = static_cast<int>(code & 63);
    t << static_cast<char>(n == 63 ? '_' : n <= 10 ? '0' + n - 1 : 'a' + n - 11);
  }
  return t;
}

}  // namespace meshpar::inline v0

// A dimension, declared once: `inline constexpr dim<"hidden"> hidden;`. Its name is in its type, so that an operation
// can be told dimensions as ordinary arguments and still check them at compile time; as a number, and not in v0, so
// that the type is short where a message writes it.
namespace meshpar {
template <std::uint64_t Code>
struct dim_id {
  static constexpr dim_name name{Code};
  constexpr operator dim_name() const { return name; }
};
}  // namespace meshpar

namespace meshpar::inline v0 {

template <dim_name Name>
using dim = dim_id<Name.code>;

namespace dims {
inline constexpr dim<"seq"> seq;            // positions of a sequence
inline constexpr dim<"batch"> batch;        // sequences
inline constexpr dim<"hidden"> hidden;      // the residual stream
inline constexpr dim<"ffn"> ffn;            // the width of an MLP
inline constexpr dim<"heads"> heads;        // query heads
inline constexpr dim<"kv_heads"> kv_heads;  // key and value heads
inline constexpr dim<"head_dim"> head_dim;
inline constexpr dim<"vocab"> vocab;
inline constexpr dim<"positions"> positions;  // rows of a learned position table
}  // namespace dims

}  // namespace meshpar::inline v0
