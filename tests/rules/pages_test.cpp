// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pages of docs/rules are what the catalogue says now. To write them anew: rules_write_pages FOLDER_OF_THE_PROJECT.
#include "rules/pages.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <set>

using namespace rules_test;

TEST_CASE("the pages are current, and there are no others") {
  const pages all = rule_pages(read_coverage("rules/coverage.tsv"), read_file("../include/meshpar/core/rule.hpp"));
  for (const pages::value_type& page : all)
    CHECK_MESSAGE(read_file("../docs/rules/" + page.first) == page.second,
                  page.first << ": write it with rules_write_pages");
  for (const auto& entry : std::filesystem::directory_iterator("../docs/rules"))
    CHECK_MESSAGE(all.count(entry.path().filename().string()) == 1, entry.path().filename().string());
}

TEST_CASE("an example shows all that is not at its default") {
  constexpr mp::model m;
  constexpr mp::job j;
  constexpr mp::plan p;
  for (const violation& v : violations) {
    CAPTURE(v.said);
    mp::model unshown_m = v.s.m;
    unshown_m.layers = m.layers, unshown_m.hidden = m.hidden, unshown_m.heads = m.heads;
    unshown_m.kv_heads = m.kv_heads, unshown_m.head_dim = m.head_dim, unshown_m.ffn = m.ffn, unshown_m.vocab = m.vocab;
    unshown_m.seq = m.seq, unshown_m.experts = m.experts, unshown_m.top_k = m.top_k;
    unshown_m.positions = m.positions, unshown_m.dropout = m.dropout;
    CHECK(unshown_m == m);
    CHECK((v.s.j.seed == j.seed && v.s.j.label_smoothing == j.label_smoothing));
    CHECK((v.s.p.recompute == p.recompute && v.s.p.zigzag == p.zigzag));
    CHECK(v.s.p.context_exchange != mp::exchange_kind::all_gather);
  }
}

TEST_CASE("each rule is on a page") {
  std::set<rule> listed{rule::none, rule::world_size_matches_plan};
  for (const mp::catalogue_entry& e : mp::catalogue) listed.insert(e.id);
  for (const mp::verdict& v : refused_operations()) listed.insert(v.broken);
  for (const mp::verdict& v : refused_programs()) listed.insert(v.broken);
  const std::vector<std::string> names = rule_names(read_file("../include/meshpar/core/rule.hpp"));
  CHECK(names.size() > 50);
  for (std::size_t i = 0; i < names.size(); ++i) CHECK_MESSAGE(listed.count(static_cast<rule>(i)) == 1, names[i]);
}
