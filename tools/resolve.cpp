// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "files.hpp"
#include "readers.hpp"

#include <algorithm>

namespace meshpar_tools {

namespace {

// Without what editors of another system leave: the mark at the beginning, and \r at the end of lines.
std::string unix_lines(std::string text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  std::erase(text, '\r');
  return text;
}

std::vector<pending> read_all(const inputs& given, draft& d) {
  for (const auto& [field, text] : given.options) d.set_text(field, text, option_of(field));
  if (given.config) read_own(*given.config, d);
  std::vector<pending> rest;
  if (given.deepspeed) rest.push_back(read_deepspeed(*given.deepspeed, given.ignored, d));
  if (given.torchtitan) rest.push_back(read_torchtitan(*given.torchtitan, given.ignored, d));
  if (given.huggingface) rest.push_back(read_huggingface(*given.huggingface, given.ignored, d));
  if (given.megatron.has_value() + given.megatron_file.has_value() + !given.megatron_words.empty() > 1)
    throw bad_input("flags of Megatron-LM are given in two ways; use one of --megatron, --megatron-file and --");
  std::vector<std::string> line = given.megatron_words;
  if (given.megatron) line = split_words(*given.megatron);
  if (given.megatron_file) line = split_words(unix_lines(text_of(*given.megatron_file)));
  if (given.megatron || given.megatron_file || !line.empty()) rest.push_back(read_megatron(line, given.ignored, d));
  return rest;
}

long as_world_size(const std::string& text) {
  int n = 0;
  try {
    read(n, parsed(n, text));
  } catch (const bad_input& e) {
    throw bad_input("--world-size is " + shown(text) + ": it " + e.what());
  }
  if (n < 1) throw bad_input("--world-size is " + std::to_string(n) + "; there is at least one rank");
  return n;
}

std::optional<long> world_size_of(const inputs& given, const std::vector<pending>& rest) {
  std::optional<long> world;
  if (given.world_size) world = as_world_size(*given.world_size);
  for (const pending& p : rest) {
    if (world && p.world_size && *world != *p.world_size)
      throw bad_input("--world-size is " + std::to_string(*world) + " but the launcher starts " +
                      std::to_string(*p.world_size) + " ranks; leave one of them out");
    if (p.world_size) world = p.world_size;
  }
  return world;
}

// What the other axes leave of the ranks is dp, where nobody says it; a rule says when the product is another.
void match_world(draft& d, long ranks) {
  d.start(ranks);
  const mp::plan& p = d.values().plan;
  const long others = mp::capped_product(p.pp, mp::capped_product(p.cp, p.tp));
  if (!d.has("dp") && others > 0) d.set("dp", std::max(ranks / others, 1L), "the world size");
}

void find_dp(draft& d, const std::vector<pending>& rest) {
  bool open = false;
  for (const pending& p : rest) {
    if (p.dp && !d.has("dp")) p.dp(d);
    open = open || p.leaves_dp_open;
  }
  if (open && !d.has("dp")) throw bad_input("the number of ranks is not given; add --world-size N or --dp N");
}

void require_sizes(const draft& d) {
  std::string missing, repair;
  for (const char* field : {"layers", "hidden", "heads", "ffn", "vocab", "seq", "global_batch"}) {
    if (d.has(field)) continue;
    missing += (missing.empty() ? "" : ", ") + std::string(field);
    repair += " " + option_of(field) + " N";
  }
  if (!missing.empty()) throw bad_input("not given: " + missing + "; add" + repair);
}

}  // namespace

std::string option_of(const std::string& field) {
  std::string option = "--" + field;
  for (char& c : option)
    if (c == '_' || c == '.') c = '-';
  return option;
}

draft resolve(const inputs& given) {
  draft d;
  const std::vector<pending> rest = read_all(given, d);
  for (const pending& p : rest)
    if (p.sizes) p.sizes(d);
  if (const auto ranks = world_size_of(given, rest)) match_world(d, *ranks);
  else find_dp(d, rest);
  for (const pending& p : rest)
    if (p.batch) p.batch(d);
  require_sizes(d);
  return d;
}

}  // namespace meshpar_tools
