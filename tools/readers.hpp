// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "foreign.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace meshpar_tools {

// A reader takes what a source says at once, and returns what can be said only when all sources are read.
struct pending {
  std::function<void(draft&)> sizes = {};  // before the number of ranks is known
  std::function<void(draft&)> dp = {};     // where nobody says the number of ranks
  std::function<void(draft&)> batch = {};  // after dp
  std::optional<long> world_size = {};     // where the source says it
  bool leaves_dp_open = false;             // it means a number of ranks that it does not say
};

// The words of a command line, as a shell would split them; variables of a shell are refused.
std::vector<std::string> split_words(const std::string& text);

pending read_megatron(const std::vector<std::string>& line, const std::set<std::string>& ignored, draft& into);
pending read_huggingface(const std::string& path, const std::set<std::string>& ignored, draft& into);
pending read_torchtitan(const std::string& path, const std::set<std::string>& ignored, draft& into);
pending read_deepspeed(const std::string& path, const std::set<std::string>& ignored, draft& into);
std::string huggingface_types();  // "gpt2, llama, ..."
void read_own(const std::string& path, draft& into);

// Everything that a user gives.
struct inputs {
  std::map<std::string, std::string> options;  // field -> text
  std::optional<std::string> config, huggingface, torchtitan, deepspeed, megatron, megatron_file;
  std::vector<std::string> megatron_words;  // behind --
  std::optional<std::string> world_size;
  std::set<std::string> ignored;
};

// The configuration that the inputs make together; what they leave open or contradict is bad_input.
draft resolve(const inputs& given);

// The option of a field.
std::string option_of(const std::string& field);

}  // namespace meshpar_tools
