// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report.hpp"

namespace meshpar_tools {

namespace {

std::string axis(const char* name, int ranks) { return std::string(name) + " " + std::to_string(ranks); }

// How the ranks are arranged, so that a reader sees what was understood.
std::string summary_of(const configuration& c) {
  const mp::plan& p = c.plan;
  return std::to_string(mp::world_size(p)) + " ranks = " + axis("pp", p.pp) + " * " + axis("dp", p.dp) + " * " +
         axis("cp", p.cp) + " * " + axis("tp", p.tp) +
         ", micro-batches of a step: " + std::to_string(mp::micro_batches(c.job, p));
}

// The rule about the ranks that are started is asked beside the catalogue.
std::string rule_of(mp::rule id) {
  return id == mp::rule::world_size_matches_plan ? "world_size_matches_plan" : mp::name_of(id);
}

// The field that a repair changes: "set FIELD to ", or the type of precision that the sentence begins with.
std::string field_of(const mp::verdict& v) {
  const std::string words = mp::name_of(v.remedy), sentence = v.why.c_str();
  if (v.remedy == mp::fix::set_ranks) return "world_size";
  if (v.remedy == mp::fix::use_f32 || v.remedy == mp::fix::use_f64)
    return "precision." + sentence.substr(0, sentence.find(' '));
  return words.empty() ? "" : words.substr(4, words.find_first_of(" ,", 4) - 4);
}

// The number of a repair as a value of its field.
json repaired(int, const mp::verdict& v, const configuration&) { return v.repair; }
json repaired(unsigned long long, const mp::verdict& v, const configuration&) { return v.repair; }
json repaired(bool, const mp::verdict& v, const configuration&) { return v.repair != 0; }
json repaired(double, const mp::verdict& v, const configuration&) {
  const char* power = v.remedy == mp::fix::set_norm_eps_to_1e_minus ? "1e-" : "";
  return parsed(0.0, power + std::to_string(v.repair));
}
json repaired(mp::dtype, const mp::verdict& v, const configuration&) {
  return written(v.remedy == mp::fix::use_f64 ? mp::dtype::f64 : mp::dtype::f32);
}
template <class Enum>
json repaired(Enum, const mp::verdict& v, const configuration&) {
  return written(static_cast<Enum>(v.repair));
}
// Shares that differ by one layer at most.
json repaired(const int (&)[mp::stage_limit], const mp::verdict&, const configuration& c) {
  const long stages = mp::chunk_count(c.plan);
  json layers = json::array();
  for (long i = 0; i < stages; ++i) layers.push_back(c.model.layers / stages + (i < c.model.layers % stages ? 1 : 0));
  return layers;
}

json repair_of(const mp::verdict& v, const configuration& c) {
  const std::string field = field_of(v);
  json to;
  if (field == "world_size") to = v.repair;
  each_field(c, [&](const char*, const char* name, const auto& value) {
    if (field == name) to = repaired(value, v, c);
  });
  return to.is_null() ? to : json{{"set", field}, {"to", to}};
}

json json_of(const mp::verdict& v, const configuration& c) {
  return {{"rule", rule_of(v.broken)},
          {"sentence", v.why.c_str()},
          {"left", v.left},
          {"right", v.right},
          {"repair", repair_of(v, c)}};
}

// Ranks of a plan without a product are the business of positive_sizes.
mp::verdict world_of(const draft& d) {
  const mp::plan& p = d.values().plan;
  if (!d.ranks() || mp::rank_count(p) == 0) return {};
  return mp::world_size_matches_plan(p, *d.ranks());
}

}  // namespace

outcome judge(const draft& d) {
  outcome o{d.values(), {}, d.warnings()};
  if (const mp::verdict world = world_of(d); !world.holds()) o.violations.push_back(world);
  for (const mp::verdict& v : mp::check_all(o.what.model, o.what.job, o.what.plan)) {
    if (v.broken != mp::rule::feature_not_built_yet) {
      o.violations.push_back(v);
    } else {
      o.built = false;
      o.warnings.push_back(sentence_of(v));
    }
  }
  return o;
}

std::string sentence_of(const mp::verdict& v) { return rule_of(v.broken) + ": " + v.why.c_str(); }

std::string lines_of(const outcome& o) {
  std::string lines;
  for (const mp::verdict& v : o.violations) lines += "violation: " + sentence_of(v) + '\n';
  for (const std::string& w : o.warnings) lines += "warning: " + w + '\n';
  const std::size_t broken = o.violations.size();
  if (broken > 0)
    return lines + "refused: " + std::to_string(broken) + (broken == 1 ? " rule is broken\n" : " rules are broken\n");
  return lines + "ok: " + summary_of(o.what) + '\n';
}

json json_of(const configuration& c) {
  json all;
  each_field(c, [&](const char* group, const std::string& name, const auto& field) {
    const auto dot = name.find('.');
    if (dot == name.npos) all[group][name] = written(field);
    else all[group][name.substr(0, dot)][name.substr(dot + 1)] = written(field);
  });
  return all;
}

json json_of(const outcome& o) {
  json all{{"ok", o.ok()}, {"violations", json::array()}, {"warnings", o.warnings}};
  for (const mp::verdict& v : o.violations) all["violations"].push_back(json_of(v, o.what));
  all.update(json_of(o.what));
  return all;
}

}  // namespace meshpar_tools
