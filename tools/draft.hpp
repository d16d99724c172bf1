// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "values.hpp"

#include <map>
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

  void warn(const std::string& sentence) { warnings_.push_back(sentence); }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  configuration values_;
  std::map<std::string, std::string> source_;
  std::vector<std::string> warnings_;
};

}  // namespace meshpar_tools
