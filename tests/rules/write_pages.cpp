// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rules_write_pages ROOT: writes ROOT/docs/rules, ROOT being the folder of the project.
#include "rules/pages.hpp"

#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "rules_write_pages ROOT\n"), 2;
  const std::string root = argv[1];
  const rules_test::pages all = rules_test::rule_pages(rules_test::read_coverage(root + "/tests/rules/coverage.tsv"),
                                                       rules_test::read_file(root + "/include/meshpar/core/rule.hpp"));
  for (const auto& [file, text] : all) {
    std::ofstream out(root + "/docs/rules/" + file);
    if (!(out << text)) return std::fprintf(stderr, "cannot write docs/rules/%s\n", file.c_str()), 1;
  }
}
