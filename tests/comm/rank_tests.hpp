// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <atomic>
#include <vector>

inline std::vector<int> first(int n, int stride = 1, int start = 0) {
  std::vector<int> ranks(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) ranks[static_cast<std::size_t>(i)] = start + i * stride;
  return ranks;
}

// Failures are counted, not asserted, on the ranks' threads.
struct tally {
  std::atomic<int> wrong{0};
  void expect(bool right) { wrong += !right; }
};
