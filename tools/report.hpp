// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "draft.hpp"

#include <string>
#include <vector>

namespace meshpar_tools {

// What the catalogue says of a configuration. A rule about what this version cannot run yet is no fault of the
// configuration: its sentence is a warning, and `built` is false.
struct outcome {
  configuration what;
  std::vector<mp::verdict> violations;
  std::vector<std::string> warnings;
  bool built = true;
  bool ok() const { return violations.empty(); }
};
outcome judge(const draft& d);

std::string sentence_of(const mp::verdict& v);
std::string lines_of(const outcome& o);
json json_of(const outcome& o);

// A header whose constants are the configuration; for one that is ok and built.
std::string header_of(const outcome& o, const std::string& name);

}  // namespace meshpar_tools
