// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace meshpar::inline v0 {

// Ranks in increasing order as a sentence names them: "rank 2", "ranks 2 and 5", "ranks 0-3, 6 and 9".
inline std::string rank_words(const std::vector<int>& ranks) {
  std::vector<std::string> spans;
  for (std::size_t i = 0, next; i < ranks.size(); i = next) {
    for (next = i + 1; next < ranks.size() && ranks[next] == ranks[next - 1] + 1;) ++next;
    if (next - i < 3) next = i + 1;
    spans.push_back(std::to_string(ranks[i]) + (next - i > 1 ? "-" + std::to_string(ranks[next - 1]) : ""));
  }
  constexpr std::size_t room = 16;
  if (spans.size() > room + 1) {
    spans[room] = std::to_string(spans.size() - room) + " more";
    spans.resize(room + 1);
  }
  std::string s = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < spans.size(); ++i) s += (i == 0 ? "" : i + 1 == spans.size() ? " and " : ", ") + spans[i];
  return s;
}

// 30.0 s
inline std::string seconds_words(double seconds) {
  const long tenths = std::lround(std::min(seconds, 1e9) * 10);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

}  // namespace meshpar::inline v0
