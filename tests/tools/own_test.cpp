// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Our own fields: as options, as a file, and as what `check --json` prints.
#include "given.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <map>
#include <set>

namespace {

// Another value than the default, for a field of any type.
void change(int& field) { field += 3; }
void change(unsigned long long& field) { field += 3; }
void change(double& field) { field += 0.1; }
void change(bool& field) { field = !field; }
void change(int (&field)[mp::stage_limit]) { field[0] = 2, field[1] = 5; }
template <class Enum>
void change(Enum& field) {
  field = static_cast<Enum>(field == static_cast<Enum>(1) ? 2 : 1);
}

std::string as_option(const mt::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::string list = value.dump();
  return list.substr(1, list.size() - 2);
}

}  // namespace

TEST_CASE("each field is read from text and from JSON, and no other field with it") {
  const mt::configuration none;
  mt::each_field(none, [&](const char*, const std::string& name, const auto&) {
    mt::configuration expected;
    mt::json value;
    mt::each_field(expected, [&](const char*, const std::string& other, auto& field) {
      if (other == name) change(field), value = mt::written(field);
    });
    CAPTURE(name);
    REQUIRE(expected != none);
    mt::draft by_text, by_json;
    by_text.set_text(name, as_option(value), "an option");
    by_json.set(name, value, "a file");
    CHECK(by_text.values() == expected);
    CHECK(by_json.values() == expected);
  });
}

// Does not compile when an aggregate gets a member: add it to fields.hpp, and then here.
TEST_CASE("the list of fields has every member of the aggregates") {
  const mt::configuration c;
  [[maybe_unused]] const auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19] =
      c.model;
  [[maybe_unused]] const auto& [j1, j2, j3, j4] = c.job;
  [[maybe_unused]] const auto& [p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14, p15, p16] = c.plan;
  [[maybe_unused]] const auto& [t1, t2, t3, t4, t5] = c.plan.precision;
  std::map<std::string, int> fields;
  mt::each_field(c, [&](const std::string& aggregate, const char*, const auto&) { ++fields[aggregate]; });
  CHECK(fields == std::map<std::string, int>{{"model", 19}, {"job", 4}, {"plan", 16 - 1 + 5}});
}

TEST_CASE("a file of ours") {
  const scratch_file file(R"({
    "model": {"layers": 4, "hidden": 64, "heads": 8, "ffn": 256, "vocab": 96, "seq": 64, "norm": "rms"},
    "job": {"global_batch": 16},
    "plan": {"pp": 3, "stage_layers": [1, 2, 1], "precision": {"param": "bf16"}}})");
  mt::inputs in;
  in.config = file.path();
  in.options["dp"] = "2";
  mt::configuration expected{.model = {.layers = 4, .hidden = 64, .heads = 8, .ffn = 256, .vocab = 96, .seq = 64},
                             .job = {.global_batch = 16},
                             .plan = {.pp = 3, .dp = 2, .precision = mp::mixed_bf16}};
  expected.model.norm = mp::norm_kind::rms;
  expected.plan.stage_layers[0] = expected.plan.stage_layers[2] = 1;
  expected.plan.stage_layers[1] = 2;
  CHECK(mt::resolve(in).values() == expected);
}

TEST_CASE("what --json prints is JSON, and is read back as the same configuration") {
  mt::inputs in = whole();
  in.options.insert({{"tp", "8"}, {"dp", "3"}, {"zero", "1"}, {"precision.param", "bf16"}, {"stage_layers", "4"}});
  const mt::outcome o = mt::judge(mt::resolve(in));
  const mt::json printed = mt::json::parse(mt::json_of(o).dump());
  CHECK(printed["ok"] == false);
  REQUIRE(printed["violations"].size() == 1);
  CHECK(printed["violations"][0] ==
        mt::json{{"rule", "global_batch_divisible"},
                 {"sentence", "global_batch (16) not divisible by dp * micro_batch (3); set global_batch to 18"},
                 {"left", 16},
                 {"right", 3},
                 {"repair", {{"set", "global_batch"}, {"to", 18}}}});
  CHECK(printed["warnings"] == mt::json{"feature_not_built_yet: not built yet: zero (1); set zero to 0"});
  CHECK(printed["plan"]["precision"]["param"] == "bf16");

  const scratch_file file(printed.dump());
  mt::inputs again;
  again.config = file.path();
  CHECK(mt::resolve(again).values() == o.what);
}

TEST_CASE("every verdict of the catalogue is reported, once") {
  mt::inputs in = whole();
  in.options.insert({{"tp", "3"}, {"pp", "3"}, {"dropout", "1.5"}, {"kv_heads", "5"}, {"sequence_parallel", "true"}});
  const mt::outcome o = mt::judge(mt::resolve(in));
  const auto all = mp::check_all(o.what.model, o.what.job, o.what.plan);
  CHECK(static_cast<int>(o.violations.size()) == all.size() - 1);  // one says what is not built yet
  CHECK(o.violations.size() >= 6);
  CHECK_FALSE(o.ok());
  CHECK_FALSE(o.built);
}

TEST_CASE("the number of ranks gives dp, or must agree with it") {
  mt::inputs in = whole();
  in.options["tp"] = "4";
  CHECK(mt::resolve(in).values().plan.dp == 1);
  in.world_size = "16";
  CHECK(mt::resolve(in).values().plan.dp == 4);
  in.options["dp"] = "4";
  CHECK(mt::resolve(in).values().plan.dp == 4);
}

TEST_CASE("another number of ranks is a violation, beside all others") {
  const auto sentences = [](const mt::inputs& in) {
    std::vector<std::string> all;
    for (const mp::verdict& v : mt::judge(mt::resolve(in)).violations) all.push_back(mt::sentence_of(v));
    return all;
  };
  using lines = std::vector<std::string>;
  mt::inputs in = whole();
  in.options.insert({{"tp", "4"}, {"dp", "2"}, {"dropout", "1"}});
  in.world_size = "16";
  CHECK(sentences(in) ==
        lines{"world_size_matches_plan: ranks (16) are not pp * dp * cp * tp = 1 * 2 * 1 * 4 = 8; start 8 ranks",
              "values_in_range: dropout (1) must be at least 0 and below 1; set dropout to 0"});
  in.options.erase("dropout");
  in.options.erase("dp");
  in.world_size = "10";
  CHECK(sentences(in) ==
        lines{"world_size_matches_plan: ranks (10) are not pp * dp * cp * tp = 1 * 2 * 1 * 4 = 8; start 8 ranks"});
  in.world_size = "3";
  CHECK(sentences(in) ==
        lines{"world_size_matches_plan: ranks (3) are not pp * dp * cp * tp = 1 * 1 * 1 * 4 = 4; start 4 ranks"});
  in.options["tp"] = "-4";
  CHECK(sentences(in) == lines{"positive_sizes: tp (-4) must be at least 1; set tp to 1 or more"});
}

namespace {

void apply(const mt::json& repair, mt::json& configuration, mt::inputs& in) {
  const std::string field = repair["set"];
  if (field == "world_size") return void(in.world_size = repair["to"].dump());
  const mt::configuration any;
  bool found = false;
  mt::each_field(any, [&](const char* group, const std::string& name, const auto&) {
    if (name != field) return;
    const auto dot = name.find('.');
    mt::json& part = configuration[group];
    (dot == name.npos ? part[name] : part[name.substr(0, dot)][name.substr(dot + 1)]) = repair["to"];
    found = true;
  });
  CHECK_MESSAGE(found, field);
}

// The rules that `in` breaks while the first repair that --json prints is followed, until nothing is broken.
std::set<std::string> rules_while_repaired(mt::inputs in) {
  std::set<std::string> rules;
  std::deque<scratch_file> files;
  while (files.size() < 40) {
    mt::json said = mt::json_of(mt::judge(mt::resolve(in)));
    if (said["ok"] == true) return rules;
    const mt::json first = said["violations"][0];
    INFO(first.dump());
    REQUIRE(first["repair"].is_object());
    rules.insert(first["rule"]);
    apply(first["repair"], said, in);
    in.options.clear();
    in.config = files.emplace_back(said.dump()).path();
  }
  FAIL("40 repairs do not mend it");
  return rules;
}

mt::inputs with(std::map<std::string, std::string> options) {
  mt::inputs in = whole();
  for (const auto& [field, text] : options) in.options[field] = text;
  return in;
}

}  // namespace

TEST_CASE("the repairs that --json prints, followed one by one, mend a configuration") {
  using rules = std::set<std::string>;
  CHECK(rules_while_repaired(with({{"norm_eps", "0"}, {"dropout", "1.5"}, {"rope_theta", "-1"}, {"zero", "7"}})) ==
        rules{"values_in_range"});
  CHECK(rules_while_repaired(with({{"sequence_parallel", "true"}})) == rules{"sequence_parallel_needs_tp"});
  CHECK(rules_while_repaired(with({{"precision.param", "bf16"}, {"precision.moments", "bf16"}})) ==
        rules{"precision_is_supported"});
  CHECK(rules_while_repaired(with({{"precision.param", "f64"}})) == rules{"precision_is_supported"});
  CHECK(rules_while_repaired(with({{"layers", "5"}, {"pp", "3"}})) == rules{"layers_divisible_by_pp"});
  CHECK(rules_while_repaired(with({{"pp", "2"}, {"stage_layers", "2,3"}})) == rules{"stage_layers_add_up"});
  CHECK(rules_while_repaired(with({{"pp", "2"}, {"stage_layers", "4"}})) == rules{"stage_layers_add_up"});
  CHECK(rules_while_repaired(with({{"tp", "-2"}, {"layers", "0"}, {"kv_heads", "-1"}})) == rules{"positive_sizes"});
  CHECK(rules_while_repaired(with({{"experts", "6"}, {"ep", "4"}, {"tp", "2"}})) ==
        rules{"experts_divisible_by_ep", "top_k_fits_experts", "moe_with_tp_needs_sequence_parallel",
              "folding_products_agree"});
  CHECK(rules_while_repaired(with({{"schedule", "zb_v"}, {"pp", "2"}})) == rules{"virtual_stages_fit_schedule"});
  const mt::json zero = mt::json_of(mt::judge(mt::resolve(with({{"norm_eps", "0"}}))));
  CHECK(zero["violations"][0]["repair"] == mt::json{{"set", "norm_eps"}, {"to", 1e-5}});
  mt::inputs ranks = with({{"tp", "4"}, {"dp", "3"}});
  ranks.world_size = "8";
  CHECK(rules_while_repaired(ranks) == rules{"world_size_matches_plan", "global_batch_divisible"});
}
