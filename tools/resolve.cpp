// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "files.hpp"
#include "readers.hpp"

#include <algorithm>

namespace meshpar_tools {

namespace {

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
  if (given.megatron_file) line = split_words(text_of(*given.megatron_file));
  if (given.megatron || given.megatron_file || !line.empty()) rest.push_back(read_megatron(line, given.ignored, d));
  return rest;
}

long long as_world_size(const std::string& text) {
  int n = 0;
  try {
    read(n, parsed(n, text));
  } catch (const bad_input& e) {
    throw bad_input("--world-size is " + shown(text) + ": it " + e.what());
  }
  if (n == 0) throw bad_input("--world-size is 0; there is at least one rank");
  return n;
}

std::optional<long long> world_size_of(const inputs& given, const std::vector<pending>& rest) {
  std::optional<long long> world;
  if (given.world_size) world = as_world_size(*given.world_size);
  for (const pending& p : rest) {
    if (world && p.world_size && *world != *p.world_size)
      throw bad_input("--world-size is " + std::to_string(*world) + " but the launcher starts " +
                      std::to_string(*p.world_size) + " ranks; leave one of them out");
    if (p.world_size) world = p.world_size;
  }
  return world;
}

// More ranks than any machine has would also leave the range of the rules' arithmetic.
void refuse_huge(const mp::plan& p) {
  const auto product = [](auto... extents) { return (1.0 * ... * std::max(extents, 1)); };
  constexpr double most = 1 << 30;
  if (product(p.pp, p.virtual_stages) > most || product(p.pp, p.dp, p.cp, p.tp) > most ||
      product(p.edp, p.ep, p.etp) > most)
    throw bad_input(
        "the plan has more than 2^30 ranks or stages; give smaller pp, dp, cp, tp, edp, ep, etp, virtual_stages");
}

// Layers for the stages of a pipeline that has none.
void refuse_no_stages(const mp::plan& p) {
  if (mp::chunk_count(p) < 1 && !mp::equal_stages(p))
    throw bad_input("stage_layers are given but pp * virtual_stages is 0; give both, at least 1");
}

std::string product(const mp::plan& p) {
  return "pp * cp * tp = " + std::to_string(p.pp) + " * " + std::to_string(p.cp) + " * " + std::to_string(p.tp);
}

// Either the ranks of the other axes divide the world and leave dp, or the product must be the world.
void match_world(draft& d, long long ranks) {
  const mp::plan& p = d.values().plan;
  refuse_huge(p);
  const long long others = 1LL * p.pp * p.cp * p.tp;
  if (others < 1) return;  // a rule says so
  if (d.has("dp")) {
    if (const mp::verdict v = mp::world_size_matches_plan(p, static_cast<long>(ranks)); !v.holds())
      throw bad_input(std::string("world_size_matches_plan: ") + v.why.c_str());
    return;
  }
  if (ranks % others != 0)
    throw bad_input("world size " + std::to_string(ranks) + " is no multiple of " + product(p) + " = " +
                    std::to_string(others) + "; start as many ranks as dp such groups have");
  d.set("dp", ranks / others, "the world size");
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
  refuse_huge(d.values().plan);
  refuse_no_stages(d.values().plan);
  for (const pending& p : rest)
    if (p.batch) p.batch(d);
  require_sizes(d);
  return d;
}

}  // namespace meshpar_tools
