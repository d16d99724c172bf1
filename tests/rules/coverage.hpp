// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
// coverage.tsv: limits that other systems have, and what stands for each of them here.
//   rule         rules of the catalogue say it
//   layout       it cannot be written: a program of tests/compile_fail shows that
//   built        the library does it, and nobody can say otherwise: a test shows that
//   feature      its rule comes with a feature that is not built yet
//   not_planned  it is about something that is not here; the note says why
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace rules_test {

inline std::vector<std::string> pieces(const std::string& line, char between) {
  std::vector<std::string> all;
  std::istringstream in(line);
  for (std::string piece; std::getline(in, piece, between);) all.push_back(piece);
  return all;
}

struct covered {
  std::string id, system, about, how, where, note;
  std::vector<std::string> rules() const { return how == "rule" ? pieces(where, ',') : std::vector<std::string>(); }
};

inline std::vector<covered> read_coverage(const std::string& path) {
  std::vector<covered> rows;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string> c = pieces(line, '\t');
    c.resize(6);
    rows.push_back({c[0], c[1], c[2], c[3], c[4], c[5]});
  }
  return rows;
}

inline std::string read_file(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace rules_test
