// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "values.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace meshpar_tools {

// A configuration while its sources are read. Each field remembers who set it: two sources may agree, and are
// contradictory otherwise.
class draft {
 public:
  void set(const std::string& field, const json& value, const std::string& source);
  void set_text(const std::string& field, const std::string& text, const std::string& source);
  // What a format takes where it says nothing.
  void fall_back(const std::string& field, const json& value, const std::string& source) {
    if (!has(field)) set(field, value, source);
  }
  bool has(const std::string& field) const { return source_.count(field) != 0; }
  std::string source(const std::string& field) const { return has(field) ? source_.at(field) : "its default"; }
  const configuration& values() const { return values_; }
  // The number of ranks that are started, where it is said.
  void start(long ranks) { ranks_ = ranks; }
  std::optional<long> ranks() const { return ranks_; }

  // Each sentence once: one section of a file can ask for the same with several keys.
  void warn(const std::string& sentence) {
    if (std::find(warnings_.begin(), warnings_.end(), sentence) == warnings_.end()) warnings_.push_back(sentence);
  }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  configuration values_;
  std::optional<long> ranks_;
  std::map<std::string, std::string> source_;
  std::vector<std::string> warnings_;
};

}  // namespace meshpar_tools
