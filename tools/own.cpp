// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Our own file: {"model": {...}, "job": {...}, "plan": {...}}, with the names of the fields. What `check --json` prints
// can be read again.
#include "files.hpp"
#include "readers.hpp"

#include <set>

namespace meshpar_tools {

namespace {

std::set<std::string> names_of(const std::string& aggregate) {
  std::set<std::string> names;
  const configuration any;
  each_field(any, [&](const char* group, const char* name, const auto&) {
    if (aggregate == group) names.insert(name);
  });
  return names;
}

void read_part(const std::string& place, const std::string& aggregate, const std::string& prefix, const json& part,
               draft& into) {
  if (!part.is_object()) throw bad_input(in_quotes(aggregate) + place + " must be an object of fields");
  for (const auto& [key, value] : part.items()) {
    const std::string name = prefix + key;
    if (names_of(aggregate).count(name) != 0) into.set(name, value, aggregate + "." + name + place);
    else if (name == "precision" && aggregate == "plan") read_part(place, aggregate, "precision.", value, into);
    else
      throw bad_input("unknown field " + shown(aggregate + "." + name) + place +
                      "; meshpar check --help lists the fields");
  }
}

}  // namespace

void read_own(const std::string& path, draft& into) {
  const std::string place = " in " + in_quotes(path);
  const json all = json_of(path);
  for (const auto& [key, value] : all.items()) {
    if (key == "ok" || key == "violations" || key == "warnings") continue;
    if (key != "model" && key != "job" && key != "plan")
      throw bad_input("unknown part " + in_quotes(key) + place + "; the parts are model, job, plan");
    read_part(place, key, "", value, into);
  }
}

}  // namespace meshpar_tools
