// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// docs/silent_bugs.md against the tests: every report is in it once, with an outcome; a file that a row names has a
// test of that report; and no test is of a report whose row does not name the file.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace {

using words = std::set<std::string>;

std::vector<std::string> lines_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  REQUIRE_MESSAGE(in, file.string());
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}
bool begins(const std::string& line, const std::string& with) { return line.compare(0, with.size(), with) == 0; }

// S and two digits, wherever they stand in a line.
words reports_in(const std::string& line) {
  words all;
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  for (std::size_t i = 0; i + 2 < line.size(); ++i)
    if (line[i] == 'S' && digit(line[i + 1]) && digit(line[i + 2])) all.insert(line.substr(i, 3));
  return all;
}
// The words in backquotes that end in .cpp.
words files_in(const std::string& line) {
  words all;
  for (std::size_t at = line.find('`'); at != std::string::npos; at = line.find('`', at + 1)) {
    const std::size_t end = line.find('`', at + 1);
    const std::string word = line.substr(at + 1, end - at - 1);
    if (std::filesystem::path(word).extension() == ".cpp") all.insert(word);
    at = end;
  }
  return all;
}

// Of each report the files that its row names.
std::map<std::string, words> rows() {
  std::map<std::string, words> all;
  std::string last;
  for (const std::string& line : lines_of("../docs/silent_bugs.md")) {
    if (!begins(line, "| S")) continue;
    const std::string report = line.substr(2, 3), outcome = line.substr(line.find("| ", line.find("| ", 2) + 1) + 2);
    CAPTURE(report);
    CHECK(report > last);
    bool known = false;
    for (const char* o : {"refused", "cannot be written", "later", "run time", "out of scope"})
      known = known || begins(outcome, o);
    CHECK(known);
    if (begins(outcome, "refused")) CHECK(line.find("compile_fail/") != std::string::npos);
    if (begins(outcome, "cannot be written")) CHECK(line.find("silent_bugs/") != std::string::npos);
    all[report] = files_in(line);
    last = report;
  }
  return all;
}

// Of each report the files that have a test of it: a heading of a compile-fail family, the name of a test case.
std::map<std::string, words> tested() {
  std::map<std::string, words> all;
  for (const char* folder : {"compile_fail", "silent_bugs"})
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      for (const std::string& line : entry.is_regular_file() ? lines_of(entry.path()) : std::vector<std::string>{})
        if (begins(line, "// ---- ") || begins(line, "TEST_CASE("))
          for (const std::string& report : reports_in(line.substr(0, line.find(':'))))
            all[report].insert(std::string(folder) + "/" + entry.path().filename().string());
  return all;
}

}  // namespace

TEST_CASE("every report is listed with its outcome") { CHECK(rows().size() == 56); }

TEST_CASE("what the list names is tested, and what is tested is named") {
  const auto listed = rows(), found = tested();
  for (const auto& row : listed) {
    const std::string& report = row.first;
    CAPTURE(report);
    CHECK(row.second == (found.count(report) ? found.at(report) : words{}));
  }
  for (const auto& test : found) {
    const std::string& report = test.first;
    CAPTURE(report);
    CHECK(listed.count(report) == 1);
  }
}
