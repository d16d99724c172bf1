// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "tools/readers.hpp"
#include "tools/report.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace mt = meshpar_tools;
namespace mp = meshpar;

// A file with a text, as long as the object lives.
class scratch_file {
 public:
  explicit scratch_file(const std::string& text) {
    close(mkstemp(path_.data()));
    std::ofstream(path_) << text;
  }
  ~scratch_file() { std::remove(path_.c_str()); }
  scratch_file(const scratch_file&) = delete;
  scratch_file& operator=(const scratch_file&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_ = "/tmp/meshpar_tools_XXXXXX";
};

// Options that make a whole configuration, for sources that give a part.
inline mt::inputs whole() {
  mt::inputs in;
  in.options = {{"layers", "4"}, {"hidden", "64"}, {"heads", "8"},        {"ffn", "256"},
                {"vocab", "96"}, {"seq", "64"},    {"global_batch", "16"}};
  return in;
}
inline mt::inputs without(mt::inputs in, std::initializer_list<const char*> fields) {
  for (const char* field : fields) in.options.erase(field);
  return in;
}

// Whether a warning begins like this.
inline bool warned(const mt::draft& d, const std::string& beginning) {
  return std::any_of(d.warnings().begin(), d.warnings().end(), [&](const auto& w) { return w.starts_with(beginning); });
}

// What bad_input says, or nothing.
inline std::string refusal(const mt::inputs& in) {
  try {
    mt::resolve(in);
  } catch (const mt::bad_input& e) {
    return e.what();
  }
  return "";
}
