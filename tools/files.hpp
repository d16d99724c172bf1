// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "values.hpp"

#include <string>

namespace meshpar_tools {

// The bytes of a file, at most 128 kB.
std::string text_of(const std::string& path);

// JSON and TOML as one object; keys given twice, nesting without end and what is no such text are bad_input.
json json_of(const std::string& path);
json toml_of(const std::string& path);

}  // namespace meshpar_tools
