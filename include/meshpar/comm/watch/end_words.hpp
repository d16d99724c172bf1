// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/watch/roll.hpp>

#include <unistd.h>

namespace meshpar::inline v0 {

// What each rank was last doing; ranks that did the same share a line.
inline std::string last_words(const std::vector<activity>& last) {
  std::vector<std::pair<std::string, std::vector<int>>> lines;
  for (std::size_t r = 0; r < last.size(); ++r) {
    const std::string words = describe(last[r]);
    auto at = lines.begin();
    while (at != lines.end() && at->first != words) ++at;
    if (at == lines.end()) at = lines.insert(at, {words, {}});
    at->second.push_back(static_cast<int>(r));
  }
  std::string s;
  for (const auto& [words, ranks] : lines) s += "meshpar:   " + rank_words(ranks) + ": " + words + "\n";
  return s;
}

// One line on each rank; and what each rank was last doing, on rank 0.
inline std::string end_words(const end_of_run& e, int me) {
  std::string s = "meshpar: rank " + std::to_string(me) + ": " + e.line + "; ending\n";
  if (me == 0 && !e.last.empty()) s += "meshpar: last seen of each rank:\n" + last_words(e.last);
  return s;
}

// Past stdio, whose lock a stuck thread may hold.
inline void print_end(const end_of_run& e, int me) {
  const std::string s = end_words(e, me);
  [[maybe_unused]] const ssize_t n = ::write(2, s.data(), s.size());
}

}  // namespace meshpar::inline v0
