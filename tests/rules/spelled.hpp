// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
// A configuration as a user would write it: the fields that are not at their defaults, in the order of declaration.
#include "rules/setup.hpp"

#include <string>

namespace rules_test {

struct fields {
  std::string s;
  void put(const std::string& name, const std::string& value) { s += (s.empty() ? "." : ", .") + name + " = " + value; }
  template <class T>
  void number(const char* name, T value, T standard) {
    if (value != standard) put(name, mp::decimal(static_cast<double>(value)).c_str());
  }
  void flag(const char* name, bool value, bool standard) {
    if (value != standard) put(name, value ? "true" : "false");
  }
  template <class Enum>
  void kind(const char* name, Enum value, Enum standard, const std::string& word) {
    if (value != standard) put(name, word);
  }
};

inline std::string spelled(const mp::model& m) {
  constexpr mp::model standard;
  fields f;
  f.number("layers", m.layers, standard.layers);
  f.number("hidden", m.hidden, standard.hidden);
  f.number("heads", m.heads, standard.heads);
  f.number("kv_heads", m.kv_heads, standard.kv_heads);
  f.number("head_dim", m.head_dim, standard.head_dim);
  f.number("ffn", m.ffn, standard.ffn);
  f.number("vocab", m.vocab, standard.vocab);
  f.number("seq", m.seq, standard.seq);
  f.number("experts", m.experts, standard.experts);
  f.number("top_k", m.top_k, standard.top_k);
  f.kind("positions", m.positions, standard.positions, "mp::position_kind::rotary");
  f.number("dropout", m.dropout, standard.dropout);
  return "{" + f.s + "}";
}

inline std::string spelled(const mp::job& j) {
  constexpr mp::job standard;
  fields f;
  f.number("global_batch", j.global_batch, standard.global_batch);
  f.number("micro_batch", j.micro_batch, standard.micro_batch);
  return "{" + f.s + "}";
}

inline std::string spelled(const mp::precisions& p) {
  constexpr mp::precisions standard;
  const auto type = [](mp::dtype t) { return std::string("mp::dtype::") + mp::name_of(t); };
  fields f;
  f.kind("param", p.param, standard.param, type(p.param));
  f.kind("grad", p.grad, standard.grad, type(p.grad));
  f.kind("reduce", p.reduce, standard.reduce, type(p.reduce));
  f.kind("master", p.master, standard.master, type(p.master));
  f.kind("moments", p.moments, standard.moments, type(p.moments));
  return "{" + f.s + "}";
}

inline std::string spelled_layers(const mp::plan& p) {
  std::string s;
  for (int layers : p.stage_layers)
    if (layers != 0) s += (s.empty() ? "" : ", ") + std::to_string(layers);
  return "{" + s + "}";
}

inline std::string spelled(const mp::plan& p) {
  constexpr mp::plan standard;
  fields f;
  f.number("pp", p.pp, standard.pp);
  f.number("dp", p.dp, standard.dp);
  f.number("cp", p.cp, standard.cp);
  f.number("tp", p.tp, standard.tp);
  f.number("edp", p.edp, standard.edp);
  f.number("ep", p.ep, standard.ep);
  f.number("etp", p.etp, standard.etp);
  f.flag("sequence_parallel", p.sequence_parallel, standard.sequence_parallel);
  f.number("zero", p.zero, standard.zero);
  f.kind("schedule", p.schedule, standard.schedule, std::string("mp::schedule_kind::") + mp::needs_of(p.schedule).name);
  f.number("virtual_stages", p.virtual_stages, standard.virtual_stages);
  if (!mp::equal_stages(p)) f.put("stage_layers", spelled_layers(p));
  f.kind("context_exchange", p.context_exchange, standard.context_exchange, "mp::exchange_kind::heads");
  if (!(p.precision == standard.precision)) f.put("precision", spelled(p.precision));
  return "{" + f.s + "}";
}

}  // namespace rules_test
