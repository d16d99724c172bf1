// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <string>

namespace meshpar::inline v0 {

enum class doing : std::uint8_t { computing, waiting, ended };

// What a rank is in: "step 12, waiting in all_reduce 'gradients'". Steps count from 1; 0 is before the first, and ""
// before the first call.
inline std::string doing_words(long step, doing now, const std::string& call) {
  std::string s = step <= 0 ? "" : "step " + std::to_string(step) + ", ";
  s += now == doing::ended ? "ended after " : now == doing::waiting ? "waiting in " : "computing after ";
  return s + (call.empty() ? "no call yet" : call);
}

}  // namespace meshpar::inline v0
