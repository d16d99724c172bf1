// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "values.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace meshpar_tools {

namespace {

constexpr int least = std::numeric_limits<int>::min(), most = std::numeric_limits<int>::max();
[[noreturn]] void no_seed() { throw bad_input("must be a whole number from 0 to 18446744073709551615"); }
[[noreturn]] void no_number() { throw bad_input("must be a finite number"); }
[[noreturn]] void no_bool() { throw bad_input("must be true or false"); }
[[noreturn]] void no_stages() {
  throw bad_input("must be at most " + std::to_string(mp::stage_limit) + " whole numbers, the layers of each stage");
}

// The whole text as a number of type T.
template <class T>
bool from_text(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

void not_whole() { throw bad_input("must be a whole number from 0 to " + std::to_string(most)); }

void read(int& field, const json& value) {
  if (!value.is_number_integer()) not_whole();
  if (value.is_number_unsigned() ? value.get<unsigned long long>() > static_cast<unsigned long long>(most)
                                 : value.get<long long>() < least || value.get<long long>() > most)
    not_whole();
  field = value.get<int>();
}

void read(unsigned long long& field, const json& value) {
  if (!value.is_number_unsigned() && !(value.is_number_integer() && value.get<long long>() >= 0)) no_seed();
  field = value.get<unsigned long long>();
}

void read(double& field, const json& value) {
  if (!value.is_number() || !std::isfinite(value.get<double>())) no_number();
  field = value.get<double>();
}

void read(bool& field, const json& value) {
  if (!value.is_boolean()) no_bool();
  field = value.get<bool>();
}

void read(int (&field)[mp::stage_limit], const json& value) {
  if (!value.is_array() || value.size() > static_cast<std::size_t>(mp::stage_limit)) no_stages();
  int layers[mp::stage_limit]{};
  for (std::size_t i = 0; i < value.size(); ++i) read(layers[i], value[i]);
  std::copy(std::begin(layers), std::end(layers), std::begin(field));
}

json parsed(int, std::string_view text) {
  long long value = 0;
  if (!from_text(text, value)) not_whole();
  return value;
}

json parsed(unsigned long long, std::string_view text) {
  unsigned long long value = 0;
  if (!from_text(text, value)) no_seed();
  return value;
}

json parsed(double, std::string_view text) {
  double value = 0;
  if (!from_text(text, value) || !std::isfinite(value)) no_number();
  return value;
}

json parsed(bool, std::string_view text) {
  if (text != "true" && text != "false") no_bool();
  return text == "true";
}

json parsed(const int (&)[mp::stage_limit], std::string_view text) {
  json stages = json::array();
  while (!text.empty()) {
    const auto comma = text.find(',');
    stages.push_back(parsed(0, text.substr(0, comma)));
    text = comma == text.npos ? "" : text.substr(comma + 1);
  }
  return stages;
}

json written(const int (&field)[mp::stage_limit]) {
  json stages = json::array();
  int count = mp::stage_limit;
  while (count > 0 && field[count - 1] == 0) --count;
  for (int i = 0; i < count; ++i) stages.push_back(field[i]);
  return stages;
}

}  // namespace meshpar_tools
