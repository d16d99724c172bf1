// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// write_fuzz SEED COUNT FOLDER: random configurations, each as constants in FOLDER/fuzz.hpp for the compiler and as
// FOLDER/<number>.json for the command.
#include "support/drawn.hpp"

#include <tools/report.hpp>

#include <fstream>
#include <iostream>

namespace {

namespace mt = meshpar_tools;

std::string constant(const mt::configuration& c) {
  return "{meshpar::model" + mt::initialiser_of(c, "model") + ", meshpar::job" + mt::initialiser_of(c, "job") +
         ", meshpar::plan" + mt::initialiser_of(c, "plan") + "},\n";
}

meshpar_test::setup drawn(meshpar_test::dice& d) {
  const meshpar_test::setup s = meshpar_test::sound(d, {.ranks = 2048, .built = d.chance(55)});
  return d.chance(42) ? s : meshpar_test::spoiled(d, s);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return std::cerr << "write_fuzz SEED COUNT FOLDER\n", 2;
  const auto seed = std::stoull(argv[1]);
  const int count = std::stoi(argv[2]);
  const std::string folder = std::string(argv[3]) + "/";
  meshpar_test::dice d(seed);
  std::ofstream header(folder + "fuzz.hpp");
  header << "inline constexpr unsigned long long fuzz_seed = " << seed << ";\n"
         << "inline constexpr rules_test::setup fuzz[] = {\n";
  for (int i = 0; i < count; ++i) {
    const auto s = drawn(d);
    const mt::configuration c{s.m, s.j, s.p};
    header << constant(c);
    std::ofstream(folder + std::to_string(i) + ".json") << mt::json_of(c).dump(2) << '\n';
  }
  header << "};\n";
}
