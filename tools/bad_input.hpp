// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <stdexcept>
#include <string>
#include <string_view>

namespace meshpar_tools {

// What a user gave cannot be read as a configuration. The text is one line that names the input and what to do.
struct bad_input : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Somebody's text inside a line of ours: its first bytes, and only printable ASCII.
inline std::string shown(std::string_view text, std::size_t most = 60) {
  constexpr char hex[] = "0123456789abcdef";
  std::string s;
  for (const char c : text.substr(0, most)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7F) s += c;
    else s += std::string("\\x") + hex[byte >> 4] + hex[byte & 15];
  }
  return text.size() > most ? s + "..." : s;
}

inline std::string in_quotes(std::string_view text) { return "'" + shown(text) + "'"; }

}  // namespace meshpar_tools
