// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each limit of coverage.tsv is there once, and what stands for it exists.
#include "rules/coverage.hpp"

#include <meshpar/check.hpp>

#include <doctest/doctest.h>

#include <map>
#include <set>

namespace {

using namespace rules_test;

const std::vector<covered> rows = read_coverage("rules/coverage.tsv");

bool is_rule(const std::string& name) {
  for (const meshpar::catalogue_entry& e : meshpar::catalogue)
    if (name == e.name) return true;
  return name == "world_size_matches_plan";  // asked when a run starts
}

bool holds_word(const std::string& text, const std::string& word) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    if (!std::isalnum(static_cast<unsigned char>(text[at + word.size()]))) return true;
  return false;
}

}  // namespace

TEST_CASE("every limit is listed once") {
  const std::map<std::string, int> areas{{"MESH", 18}, {"TP", 18},   {"SP", 9},    {"CP", 21}, {"PP", 23},
                                         {"EP", 6},    {"ETP", 2},   {"ZERO", 11}, {"MOE", 8}, {"PRECISION", 5},
                                         {"ATTN", 6},  {"BATCH", 4}, {"CKPT", 5}};
  std::set<std::string> expected, found;
  for (const auto& [area, count] : areas)
    for (int n = 1; n <= count; ++n) expected.insert(area + (n < 10 ? "-0" : "-") + std::to_string(n));
  for (const covered& r : rows) found.insert(r.id);
  CHECK(rows.size() == expected.size());
  CHECK(found == expected);
}

TEST_CASE("what stands for a limit exists") {
  const std::set<std::string> features{"CP", "PP", "MoE", "ZeRO", "checkpoints"};
  const std::string refused = read_file("compile_fail/CMakeLists.txt"), tests = read_file("CMakeLists.txt");
  for (const covered& r : rows) {
    CAPTURE(r.id);
    CHECK(r.about.size() > 5);
    CHECK(r.note.size() > 0);
    if (r.how == "rule") {
      CHECK(!r.rules().empty());
      for (const std::string& name : r.rules()) CHECK_MESSAGE(is_rule(name), name);
    } else if (r.how == "layout") {
      CHECK(refused.find("meshpar_compile_fail(" + r.where + ")") != std::string::npos);
      const std::string program = read_file("compile_fail/" + r.where);
      CHECK(program.find("// expect: ") != std::string::npos);
      if (r.where == "rules_layouts.cpp") CHECK(holds_word(program, r.id));
    } else if (r.how == "built") {
      CHECK(tests.find("meshpar_test(" + r.where) != std::string::npos);
    } else if (r.how == "feature") {
      CHECK(features.count(r.where) == 1);
    } else {
      CHECK(r.how == "not_planned");
      CHECK(r.note.size() > 3);
    }
  }
}
