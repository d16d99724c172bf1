// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
// The pages of docs/rules, from the catalogue, the violations of each rule, and coverage.tsv. What a rule says is asked
// of the rule.
#include "rules/coverage.hpp"
#include "rules/operations.hpp"
#include "rules/programs.hpp"
#include "rules/spelled.hpp"
#include "rules/violations.hpp"

#include <map>

namespace rules_test {

using pages = std::map<std::string, std::string>;  // file name, text

inline const std::string made =
    "<!-- Written by the program rules_write_pages; a test compares this page with what it writes. -->\n\n";

inline std::string area_name(mp::area a) {
  switch (a) {
    case mp::area::sizes: return "sizes";
    case mp::area::attention: return "attention";
    case mp::area::tensor: return "tensor parallelism";
    case mp::area::sequence: return "sequence parallelism";
    case mp::area::batch: return "batch";
    case mp::area::precision: return "precision";
    case mp::area::pipeline: return "pipeline parallelism";
    case mp::area::context: return "context parallelism";
    case mp::area::experts: return "experts";
    case mp::area::built: return "what is built";
  }
  return "";
}

// What a user changes, as code would have it.
inline std::string repair_of(const mp::verdict& v) {
  mp::text t;
  return (t << mp::remedy{v.remedy, v.repair}).c_str();
}

inline std::string example(const violation& v) {
  const mp::verdict said = ask(v.broken, v.s);
  return "```cpp\ninline constexpr mp::model model" + spelled(v.s.m) + ";\ninline constexpr mp::job job" +
         spelled(v.s.j) + ";\ninline constexpr mp::plan plan" + spelled(v.s.p) + ";\n```\n\n`" +
         mp::name_of(said.broken) + ": " + said.why.c_str() + "`\n\nCheapest repair: " + repair_of(said) + ".\n\n";
}

// The limits of other systems for which a rule stands.
inline std::string elsewhere(const std::string& name, const std::vector<covered>& rows) {
  std::string s;
  for (const covered& row : rows)
    for (const std::string& r : row.rules())
      if (r == name) s += "- " + row.system + ": " + row.about + (row.note == "-" ? "" : " (" + row.note + ")") + "\n";
  return s.empty() ? s : "## Limits of other systems that this covers\n\n" + s;
}

inline std::string rule_page(const mp::catalogue_entry& e, const std::vector<covered>& rows) {
  std::string s = made + "# " + e.name + "\n\n" + e.demand + "\n\n## Broken\n\n";
  for (const violation& v : violations)
    if (v.broken == e.id) s += example(v);
  s += std::string("## Why it matters\n\n") + e.why_it_matters + "\n";
  const std::string others = elsewhere(e.name, rows);
  return others.empty() ? s : s + "\n" + others;
}

inline std::string world_page(const std::vector<covered>& rows) {
  constexpr mp::plan p{.dp = 2, .tp = 4};
  const mp::verdict said = mp::world_size_matches_plan(p, 6);
  return made + "# world_size_matches_plan\n\n" + mp::world_demand +
         " Asked when a run starts.\n\n## Broken\n\n```cpp\ninline constexpr mp::plan plan" + spelled(p) +
         ";  // started with 6 ranks\n```\n\n`" + said.why.c_str() + "`\n\nCheapest repair: " + repair_of(said) +
         ".\n\n## Why it matters\n\n" + mp::world_matters + "\n\n" + elsewhere("world_size_matches_plan", rows);
}

inline std::string index_page() {
  std::string s = made +
                  "# The rules\n\nA configuration is checked against each of these when a program names it, and by " +
                  "`meshpar::check_all` at run time.\n\n| rule | about | demands |\n|---|---|---|\n";
  for (const mp::catalogue_entry& e : mp::catalogue)
    s += std::string("| [") + e.name + "](" + e.name + ".md) | " + area_name(e.where) + " | " + e.demand + " |\n";
  return s + "| [world_size_matches_plan](world_size_matches_plan.md) | start of a run | " + mp::world_demand + " |\n" +
         "\nOther lists: [rules of operations and programs](operations.md), by which layers are checked; [what cannot "
         "be "
         "written](layouts.md); [limits that come with their feature](with_their_feature.md); [limits that other "
         "systems "
         "have and this library has not](not_planned.md).\n";
}

// The names of the rules as they are declared.
inline std::vector<std::string> rule_names(const std::string& declaration) {
  std::vector<std::string> names;
  std::istringstream in(declaration.substr(declaration.find("enum class rule")));
  std::string line;
  for (std::getline(in, line); std::getline(in, line) && line != "};";)
    if (line.find("//") == std::string::npos) names.push_back(line.substr(2, line.find(',') - 2));
  return names;
}

inline std::string refusals(const std::vector<mp::verdict>& all, const std::vector<std::string>& names) {
  std::string s = "| rule | a refusal |\n|---|---|\n";
  for (const mp::verdict& v : all)
    s += "| " + names[static_cast<std::size_t>(v.broken)] + " | `` " + v.why.c_str() + " `` |\n";
  return s;
}

inline std::string operations_page(const std::string& declaration) {
  const std::vector<std::string> names = rule_names(declaration);
  return made + "# Rules of operations\n\nBy these a layer is checked. Each stands with what one refusal says.\n\n" +
         refusals(refused_operations(), names) +
         "\n## Rules of programs\n\nBy these a layer is checked as a whole, the two ends of a model together, and a "
         "program with what it is to run on.\n\n" +
         refusals(refused_programs(), names);
}

// The rows of some kinds: the limit, where it is known from, and what `cells` says of it.
template <class Cells>
std::string list_page(const std::string& head, const std::string& columns, const std::vector<std::string>& kinds,
                      const std::vector<covered>& rows, Cells cells) {
  std::string s = made + head + "\n\n| limit | known from | " + columns + " |\n|---|---|";
  for (std::size_t n = pieces(columns, '|').size(); n > 0; --n) s += "---|";
  s += "\n";
  for (const covered& r : rows)
    for (const std::string& kind : kinds)
      if (r.how == kind) s += "| " + r.about + " | " + r.system + " | " + cells(r) + " |\n";
  return s;
}

inline std::string note_of(const covered& r) { return r.note == "-" ? "" : r.note; }
inline std::string where_and_note(const covered& r) { return r.where + " | " + note_of(r); }

// All pages. `rows` are those of coverage.tsv, `declaration` is the text of core/rule.hpp.
inline pages rule_pages(const std::vector<covered>& rows, const std::string& declaration) {
  pages all;
  for (const mp::catalogue_entry& e : mp::catalogue) all[std::string(e.name) + ".md"] = rule_page(e, rows);
  all["world_size_matches_plan.md"] = world_page(rows);
  all["README.md"] = index_page();
  all["operations.md"] = operations_page(declaration);
  all["layouts.md"] = list_page(
      "# What cannot be written\n\nNo rule of the catalogue is about these: the layouts of tensors do not allow them, "
      "or "
      "the library leaves no choice. A program in `tests/compile_fail` is refused, or a test shows it.",
      "shown by | note", {"layout", "built"}, rows, where_and_note);
  all["with_their_feature.md"] =
      list_page("# Limits that come with their feature\n\nTheir rules come when the feature is built.",
                "feature | note", {"feature"}, rows, where_and_note);
  all["not_planned.md"] =
      list_page("# Limits that are not here\n\nWhat other systems refuse and this library does not, and why.", "why",
                {"not_planned"}, rows, note_of);
  return all;
}

}  // namespace rules_test
