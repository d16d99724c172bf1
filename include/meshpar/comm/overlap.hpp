// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>

namespace meshpar::inline v0 {

struct memory_range {
  const void* data;
  long bytes;
};

inline constexpr long no_offset = INT64_MIN;

// Are both apart, or does `b` start exactly `allowed` bytes behind `a`?
inline bool apart(memory_range a, memory_range b, long allowed) {
  const auto x = reinterpret_cast<std::intptr_t>(a.data), y = reinterpret_cast<std::intptr_t>(b.data);
  return a.bytes <= 0 || b.bytes <= 0 || x + a.bytes <= y || y + b.bytes <= x || y - x == allowed;
}

}  // namespace meshpar::inline v0
