// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/check.hpp>

#include <array>

namespace meshpar_tools {

namespace mp = meshpar;

struct configuration {
  mp::model model{};
  mp::job job{};
  mp::plan plan{};
  bool operator==(const configuration&) const = default;
};

// The names of an enumeration: of the type, and of its values in order.
template <class Enum>
struct words;
template <>
struct words<mp::norm_kind> {
  static constexpr const char* type = "norm_kind";
  static constexpr std::array values{"layer", "rms"};
};
template <>
struct words<mp::activation_kind> {
  static constexpr const char* type = "activation_kind";
  static constexpr std::array values{"gelu", "relu", "swiglu"};
};
template <>
struct words<mp::position_kind> {
  static constexpr const char* type = "position_kind";
  static constexpr std::array values{"learned", "rotary"};
};
template <>
struct words<mp::schedule_kind> {
  static constexpr const char* type = "schedule_kind";
  static constexpr std::array values{"gpipe", "one_f_one_b", "interleaved", "zb_h1", "zb_v", "dualpipe", "dualpipe_v"};
};
template <>
struct words<mp::recompute_kind> {
  static constexpr const char* type = "recompute_kind";
  static constexpr std::array values{"none", "selective", "full"};
};
template <>
struct words<mp::exchange_kind> {
  static constexpr const char* type = "exchange_kind";
  static constexpr std::array values{"ring", "all_gather", "heads"};
};
template <>
struct words<mp::dtype> {  // those that a precision can be
  static constexpr const char* type = "dtype";
  static constexpr std::array values{"f32", "f64", "bf16"};
};

// Words are found by ordinal: each enumeration has as many as values.
template <class Enum>
constexpr bool words_end_at(Enum last) {
  return words<Enum>::values.size() == static_cast<std::size_t>(last) + 1;
}
static_assert(words_end_at(mp::norm_kind::rms) && words_end_at(mp::activation_kind::swiglu) &&
              words_end_at(mp::position_kind::rotary) && words_end_at(mp::schedule_kind::dualpipe_v) &&
              words_end_at(mp::recompute_kind::full) && words_end_at(mp::exchange_kind::heads) &&
              words_end_at(mp::dtype::bf16));

// Every field of a configuration, once and in the order of the aggregates: visit(aggregate, name, field). Options,
// files, reports and emitted headers all follow this list.
template <class Configuration, class Visit>
void each_field(Configuration& c, Visit visit) {
  auto& m = c.model;
  visit("model", "layers", m.layers);
  visit("model", "hidden", m.hidden);
  visit("model", "heads", m.heads);
  visit("model", "kv_heads", m.kv_heads);
  visit("model", "head_dim", m.head_dim);
  visit("model", "ffn", m.ffn);
  visit("model", "vocab", m.vocab);
  visit("model", "seq", m.seq);
  visit("model", "experts", m.experts);
  visit("model", "top_k", m.top_k);
  visit("model", "norm", m.norm);
  visit("model", "activation", m.activation);
  visit("model", "positions", m.positions);
  visit("model", "bias", m.bias);
  visit("model", "qk_norm", m.qk_norm);
  visit("model", "tied_embeddings", m.tied_embeddings);
  visit("model", "dropout", m.dropout);
  visit("model", "norm_eps", m.norm_eps);
  visit("model", "rope_theta", m.rope_theta);
  auto& j = c.job;
  visit("job", "global_batch", j.global_batch);
  visit("job", "micro_batch", j.micro_batch);
  visit("job", "seed", j.seed);
  visit("job", "label_smoothing", j.label_smoothing);
  auto& p = c.plan;
  visit("plan", "pp", p.pp);
  visit("plan", "dp", p.dp);
  visit("plan", "cp", p.cp);
  visit("plan", "tp", p.tp);
  visit("plan", "edp", p.edp);
  visit("plan", "ep", p.ep);
  visit("plan", "etp", p.etp);
  visit("plan", "sequence_parallel", p.sequence_parallel);
  visit("plan", "zero", p.zero);
  visit("plan", "schedule", p.schedule);
  visit("plan", "virtual_stages", p.virtual_stages);
  visit("plan", "stage_layers", p.stage_layers);
  visit("plan", "recompute", p.recompute);
  visit("plan", "context_exchange", p.context_exchange);
  visit("plan", "zigzag", p.zigzag);
  visit("plan", "precision.param", p.precision.param);
  visit("plan", "precision.grad", p.precision.grad);
  visit("plan", "precision.reduce", p.precision.reduce);
  visit("plan", "precision.master", p.precision.master);
  visit("plan", "precision.moments", p.precision.moments);
}

}  // namespace meshpar_tools
