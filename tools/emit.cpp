// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report.hpp"

#include <charconv>

namespace meshpar_tools {

namespace {

std::string literal(int value) { return std::to_string(value); }
std::string literal(bool value) { return value ? "true" : "false"; }
std::string literal(unsigned long long value) { return std::to_string(value) + "ull"; }
std::string literal(double value) {  // the shortest that is read back as the same
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, value).ptr};
}
std::string literal(const int (&values)[mp::stage_limit]) {
  std::string all;
  for (const json& layers : written(values)) all += (all.empty() ? "" : ", ") + layers.dump();
  return "{" + all + "}";
}
template <class Enum>
std::string literal(Enum value) {
  const auto at = static_cast<std::size_t>(value);
  return std::string("meshpar::") + words<Enum>::type + "::" + words<Enum>::values[at];
}

// The members that differ from their defaults, as designated initialisers.
class members {
 public:
  void add(const std::string& name, const std::string& value) {
    const auto dot = name.find('.');
    if (dot == name.npos) return put(name, value);
    if (nested_.empty()) parent_ = name.substr(0, dot);
    nested_ += (nested_.empty() ? "" : ", ") + ("." + name.substr(dot + 1)) + " = " + value;
  }
  std::string text() {
    if (!nested_.empty()) put(parent_, "{" + nested_ + "}");
    nested_.clear();
    return all_.empty() ? "{}" : "{\n" + all_ + "}";
  }

 private:
  void put(const std::string& name, const std::string& value) { all_ += "    ." + name + " = " + value + ",\n"; }
  std::string all_, parent_, nested_;
};

std::string aggregate(const configuration& c, const char* which) {
  const json defaults = [] {
    json all;
    const configuration none;
    each_field(none, [&](const char*, const char* name, const auto& field) { all[name] = written(field); });
    return all;
  }();
  members m;
  each_field(c, [&](const char* group, const std::string& name, const auto& field) {
    if (std::string(group) == which && written(field) != defaults.at(name)) m.add(name, literal(field));
  });
  return m.text();
}

}  // namespace

std::string header_of(const outcome& o, const std::string& name) {
  std::string text = "// Written by meshpar emit.\n";
  for (const std::string& w : o.warnings) text += "// warning: " + w + '\n';
  text += "#pragma once\n#include <meshpar/meshpar.hpp>\n\n";
  for (const char* part : {"model", "job", "plan"})
    text +=
        std::string("inline constexpr meshpar::") + part + " " + name + "_" + part + aggregate(o.what, part) + ";\n";
  const std::string all = "<" + name + "_model, " + name + "_job, " + name + "_plan>";
  text += "\nstatic_assert(meshpar::checked_plan" + all + "::ok);\n";
  return text + "using " + name + "_net = meshpar::decoder" + all + ";\n";
}

}  // namespace meshpar_tools
