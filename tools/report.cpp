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

json json_of(const mp::verdict& v) {
  return {{"rule", mp::name_of(v.broken)},
          {"sentence", v.why.c_str()},
          {"left", v.left},
          {"right", v.right},
          {"repair", v.repair}};
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

}  // namespace

outcome judge(const draft& d) {
  outcome o{d.values(), {}, d.warnings()};
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

std::string sentence_of(const mp::verdict& v) { return std::string(mp::name_of(v.broken)) + ": " + v.why.c_str(); }

std::string lines_of(const outcome& o) {
  std::string lines;
  for (const mp::verdict& v : o.violations) lines += "violation: " + sentence_of(v) + '\n';
  for (const std::string& w : o.warnings) lines += "warning: " + w + '\n';
  const std::size_t broken = o.violations.size();
  if (broken > 0)
    return lines + "refused: " + std::to_string(broken) + (broken == 1 ? " rule is broken\n" : " rules are broken\n");
  return lines + "ok: " + summary_of(o.what) + '\n';
}

json json_of(const outcome& o) {
  json all{{"ok", o.ok()}, {"violations", json::array()}, {"warnings", o.warnings}};
  for (const mp::verdict& v : o.violations) all["violations"].push_back(json_of(v));
  all.update(json_of(o.what));
  return all;
}

}  // namespace meshpar_tools
