// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
// Configurations as values, and what a user does about a refusal.
#include <meshpar/check.hpp>

namespace rules_test {

namespace mp = meshpar;
using mp::rule;

// Legal as it stands, on one rank.
struct setup {
  mp::model m{.layers = 4, .hidden = 64, .heads = 8, .ffn = 128, .vocab = 250, .seq = 64};
  mp::job j{.global_batch = 16, .micro_batch = 2};
  mp::plan p{};
};
template <class Change>
constexpr setup with(Change change, setup s = {}) {
  change(s);
  return s;
}

constexpr int entry_of(rule id) {
  int i = 0;
  while (i < mp::catalogue_size && mp::catalogue[i].id != id) ++i;
  return i;
}
constexpr mp::verdict ask(rule id, const setup& s) { return mp::catalogue[entry_of(id)].check(s.m, s.j, s.p); }
constexpr bool holds(rule id, const setup& s) { return ask(id, s).holds(); }

// The entries that are broken, but for what is not built yet: its rule goes away with the features.
constexpr std::uint64_t broken_in(const setup& s) {
  return mp::broken_entries(s.m, s.j, s.p) & ~(std::uint64_t{1} << entry_of(rule::feature_not_built_yet));
}

constexpr void spread_layers(setup& s) {
  const long chunks = mp::chunk_count(s.p);
  for (int i = 0; i < mp::stage_limit; ++i)
    s.p.stage_layers[i] = i < chunks ? static_cast<int>((s.m.layers + chunks - 1 - i) / chunks) : 0;
}

// A user does what the refusal says.
constexpr setup followed(const mp::verdict& v, setup s) {
  const int to = static_cast<int>(v.repair);
  switch (v.remedy) {
    case mp::fix::set_heads: s.m.heads = to; break;
    case mp::fix::set_kv_heads: s.m.kv_heads = to; break;
    case mp::fix::set_head_dim: s.m.head_dim = to; break;
    case mp::fix::set_hidden: s.m.hidden = to; break;
    case mp::fix::set_ffn: s.m.ffn = to; break;
    case mp::fix::set_vocab: s.m.vocab = to; break;
    case mp::fix::set_seq: s.m.seq = to; break;
    case mp::fix::set_layers: s.m.layers = to; break;
    case mp::fix::set_experts: s.m.experts = to; break;
    case mp::fix::set_top_k: s.m.top_k = to; break;
    case mp::fix::set_dropout: s.m.dropout = to; break;
    case mp::fix::set_norm_eps_to_1e_minus:
      for (s.m.norm_eps = 1; s.m.norm_eps > 1.5e-5;) s.m.norm_eps /= 10;
      break;
    case mp::fix::set_rope_theta: s.m.rope_theta = to; break;
    case mp::fix::set_label_smoothing: s.j.label_smoothing = to; break;
    case mp::fix::set_global_batch: s.j.global_batch = to; break;
    case mp::fix::set_micro_batch: s.j.micro_batch = to; break;
    case mp::fix::set_pp: s.p.pp = to; break;
    case mp::fix::set_dp: s.p.dp = to; break;
    case mp::fix::set_cp: s.p.cp = to; break;
    case mp::fix::set_tp: s.p.tp = to; break;
    case mp::fix::set_edp: s.p.edp = to; break;
    case mp::fix::set_ep: s.p.ep = to; break;
    case mp::fix::set_etp: s.p.etp = to; break;
    case mp::fix::set_sequence_parallel: s.p.sequence_parallel = to != 0; break;
    case mp::fix::set_virtual_stages: s.p.virtual_stages = to; break;
    case mp::fix::set_stage_layers: spread_layers(s); break;
    case mp::fix::set_zero: s.p.zero = to; break;
    case mp::fix::set_recompute: s.p.recompute = static_cast<mp::recompute_kind>(to); break;
    case mp::fix::use_f32:
      s.p.precision = {.param = s.p.precision.param == mp::dtype::bf16 ? mp::dtype::bf16 : mp::dtype::f32};
      break;
    case mp::fix::use_f64: s.p.precision = mp::all_f64; break;
    default: break;  // changes a layer, not a configuration
  }
  return s;
}

}  // namespace rules_test
