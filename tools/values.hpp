// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "bad_input.hpp"
#include "fields.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace meshpar_tools {

using json = nlohmann::ordered_json;

// A field from JSON, from the text of an option, and back to JSON. What a field cannot hold is bad_input that says what
// the field takes; the caller adds where the value came from. A negative size can be held: a rule refuses it.
void read(int& field, const json& value);
void read(unsigned long long& field, const json& value);
void read(double& field, const json& value);
void read(bool& field, const json& value);
void read(int (&field)[mp::stage_limit], const json& value);
template <class Enum>
void read(Enum& field, const json& value) {
  std::string all;
  for (std::size_t i = 0; i < words<Enum>::values.size(); ++i) {
    if (value == words<Enum>::values[i]) return void(field = static_cast<Enum>(i));
    all += (i == 0 ? "" : ", ") + std::string(words<Enum>::values[i]);
  }
  throw bad_input("must be one of " + all);
}

[[noreturn]] void not_whole();

json parsed(int, std::string_view text);
json parsed(unsigned long long, std::string_view text);
json parsed(double, std::string_view text);
json parsed(bool, std::string_view text);
json parsed(const int (&)[mp::stage_limit], std::string_view text);
template <class Enum>
json parsed(Enum, std::string_view text) {
  return std::string(text);
}

inline json written(int field) { return field; }
inline json written(unsigned long long field) { return field; }
inline json written(double field) { return field; }
inline json written(bool field) { return field; }
json written(const int (&field)[mp::stage_limit]);
template <class Enum>
json written(Enum field) {
  return words<Enum>::values[static_cast<std::size_t>(field)];
}

}  // namespace meshpar_tools
