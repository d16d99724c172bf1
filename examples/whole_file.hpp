// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

// A file that is whole or not there: written under another name, then renamed.
class whole_file {
 public:
  explicit whole_file(const std::string& path) : path_(path), draft_(path + ".part") {
    if (path.empty()) return;
    if (std::filesystem::exists(path) && !std::filesystem::is_regular_file(path))
      throw std::runtime_error("cannot write '" + path + "': it is there and is not a file");
    out_.open(draft_);
    if (!out_) throw std::runtime_error("cannot write '" + path + "'");
  }
  whole_file(const whole_file&) = delete;
  ~whole_file() {
    if (out_.is_open()) std::remove(draft_.c_str());
  }
  void write(const std::string& what) {
    if (path_.empty()) return;
    out_ << what << '\n';
    out_.close();
    if (!out_ || std::rename(draft_.c_str(), path_.c_str()) != 0) {
      std::remove(draft_.c_str());
      throw std::runtime_error("writing '" + path_ + "' failed");
    }
  }

 private:
  std::string path_, draft_;
  std::ofstream out_;
};
