// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/rendezvous.hpp>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

namespace meshpar::inline v0 {

inline const char* from_environment(const char* name) { return std::getenv(name); }

// How the ranks of a program are started. Where they are processes, this one knows from its launcher which it is.
struct launch_options {
  double time_out = 300;  // seconds that one rank may wait for another
  rendezvous where = find_rendezvous({}, from_environment);
};

// Takes the options of launching out of a command line, so that a program can read the rest: --time-out SECONDS, and
// where no launcher says it, --rank, --world-size, --local-rank, --local-world-size, --node-rank, --master-addr,
// --master-port, --token. Each as two words or with '='. What cannot be is thrown as one line.
inline launch_options take_launch_options(int& argc, char** argv) {
  rendezvous_arguments said;
  const char* time_out = nullptr;
  const std::pair<std::string_view, const char**> known[] = {{"--rank", &said.rank},
                                                             {"--world-size", &said.world_size},
                                                             {"--local-rank", &said.local_rank},
                                                             {"--local-world-size", &said.local_world_size},
                                                             {"--node-rank", &said.node_rank},
                                                             {"--master-addr", &said.master_address},
                                                             {"--master-port", &said.master_port},
                                                             {"--token", &said.token},
                                                             {"--time-out", &time_out}};
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const std::string_view name = word.substr(0, word.find('='));
    const char** value = nullptr;
    for (const auto& [option, where] : known)
      if (name == option) value = where;
    if (value == nullptr) {
      argv[kept++] = argv[i];
      continue;
    }
    if (*value != nullptr) throw std::invalid_argument(std::string(name) + " is given twice: give it once");
    if (name.size() < word.size()) *value = argv[i] + name.size() + 1;
    else if (i + 1 < argc) *value = argv[++i];
    else throw std::invalid_argument(std::string(name) + " has no value: give one behind it");
  }
  argc = kept;
  argv[kept] = nullptr;

  launch_options o{.where = find_rendezvous(said, from_environment)};
  if (time_out != nullptr) {
    char* end = nullptr;
    o.time_out = std::strtod(time_out, &end);
    if (end == time_out || *end != '\0' || !(o.time_out >= 0.1 && o.time_out <= 1e6))
      throw std::invalid_argument(std::string("--time-out ") + time_out + " is no number of seconds from 0.1 to 1e6");
  }
  return o;
}

}  // namespace meshpar::inline v0
