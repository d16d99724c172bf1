// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
// Random configurations: sound ones, which break no rule by construction, and spoiled ones, which break any.
#include "rules/setup.hpp"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <initializer_list>

namespace meshpar_test {
namespace mp = meshpar;
using rules_test::setup;

class dice {
 public:
  explicit dice(std::uint64_t seed) : state_(seed) {}
  int below(int n) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int>((state_ >> 33) % static_cast<unsigned>(n));
  }
  int upto(int n) { return 1 + below(n); }
  bool chance(int percent) { return below(100) < percent; }
  int of(std::initializer_list<int> values) { return values.begin()[below(static_cast<int>(values.size()))]; }
  int divisor_of(int n) {
    int d = upto(n);
    while (n % d != 0) d = upto(n);
    return d;
  }
  template <class Enum>
  Enum kind(int count) {
    return static_cast<Enum>(below(count));
  }

 private:
  std::uint64_t state_;
};

// ---- sound: each size is made of the factors that the plan asks for ----

struct limits {
  long ranks;
  bool built;  // only what this version runs
};

inline void draw_mesh(dice& d, setup& s, limits most) {
  mp::plan& p = s.p;
  do {
    p.dp = d.of({1, 1, 2, 2, 3, 4, 5, 8});
    p.tp = d.of({1, 1, 2, 2, 3, 4, 6, 8});
    if (most.built) continue;
    p.pp = d.of({1, 1, 2, 3, 4});
    p.cp = d.of({1, 1, 1, 2, 3, 4});
  } while (mp::world_size(p) > most.ranks);
  p.zigzag = d.chance(70);
  p.context_exchange = d.kind<mp::exchange_kind>(3);
  p.precision = d.of({0, 1}) ? mp::all_f32 : d.of({0, 1}) ? mp::all_f64 : mp::mixed_bf16_grads;
  if (most.built) return;
  p.zero = d.below(4);
  p.recompute = d.kind<mp::recompute_kind>(3);
}

inline void draw_stage_layers(dice& d, setup& s) {
  const int chunks = static_cast<int>(mp::chunk_count(s.p));
  s.m.layers = chunks * d.upto(3);
  if (!d.chance(25)) return;
  s.m.layers = chunks + d.below(4);
  rules_test::spread_layers(s);
  std::swap(s.p.stage_layers[0], s.p.stage_layers[d.below(chunks)]);
}

inline void draw_pipeline(dice& d, setup& s) {
  mp::plan& p = s.p;
  mp::schedule_needs needs;
  do {
    p.schedule = d.kind<mp::schedule_kind>(7);
    needs = mp::needs_of(p.schedule);
  } while (p.pp % 2 != 0 && p.pp > 1 && needs.both_ends);
  if (p.pp > 1) p.virtual_stages = std::min(needs.fewest_chunks + d.below(3), needs.most_chunks);
  draw_stage_layers(d, s);
  const int least = p.pp > 1 ? needs.micro_batches_per_rank * p.pp : 0;
  int count = std::max(least, 1) + d.below(4);
  if (needs.both_ends && count % 2 != 0) ++count;
  s.j.micro_batch = d.upto(3);
  s.j.global_batch = p.dp * s.j.micro_batch * count;
}

inline void draw_experts(dice& d, setup& s) {
  const int stage = static_cast<int>(mp::stage_size(s.p));
  s.p.ep = d.divisor_of(stage);
  s.p.etp = d.divisor_of(stage / s.p.ep);
  s.p.edp = d.chance(50) ? 0 : stage / (s.p.ep * s.p.etp);
  s.m.experts = s.p.ep * d.upto(4);
  s.m.top_k = d.upto(s.m.experts);
}

inline void draw_heads(dice& d, setup& s) {
  mp::model& m = s.m;
  const int exchanged = s.p.context_exchange == mp::exchange_kind::heads && s.p.cp > 1 ? s.p.cp * s.p.tp : 1;
  m.heads = std::max(s.p.tp, exchanged) * d.upto(3);
  m.kv_heads = d.chance(50) ? 0 : d.divisor_of(m.heads);
  if (!mp::kv_heads_fit(m.kv_heads, s.p.tp) || m.kv_heads % exchanged != 0) m.kv_heads = 0;
  const int even = m.positions == mp::position_kind::rotary ? 2 : 1;
  if (d.chance(30)) {
    m.head_dim = even * d.upto(6);
    m.hidden = 8 + d.below(60);
  } else {
    m.hidden = m.heads * even * d.upto(4);
  }
}

inline setup sound(dice& d, limits most) {
  setup s{.m = {}, .j = {}, .p = {}};
  draw_mesh(d, s, most);
  draw_pipeline(d, s);
  if (!most.built && d.chance(40)) draw_experts(d, s);
  mp::model& m = s.m;
  m = d.chance(50) ? mp::gpt2_like(m) : mp::llama_like(m);
  if (d.chance(40)) m.norm = d.kind<mp::norm_kind>(2), m.activation = d.kind<mp::activation_kind>(3);
  if (d.chance(40)) m.bias = d.chance(50), m.tied_embeddings = d.chance(50);
  m.qk_norm = d.chance(30);
  draw_heads(d, s);
  s.p.sequence_parallel = s.p.tp > 1 && (m.experts > 0 || d.chance(50));
  m.ffn = (m.experts > 0 ? s.p.etp : s.p.tp) * d.upto(12);
  m.seq = (s.p.zigzag && s.p.cp > 1 ? 2 : 1) * s.p.cp * (s.p.sequence_parallel ? s.p.tp : 1) * (2 + d.below(6));
  m.vocab = 2 + d.below(90);
  m.dropout = d.chance(50) ? 0 : 0.1;
  m.norm_eps = d.chance(50) ? 1e-5 : 1e-6;
  m.rope_theta = d.chance(50) ? 10000 : 500000;
  s.j.seed = static_cast<unsigned>(d.upto(1000));
  s.j.label_smoothing = d.chance(70) ? 0 : 0.1;
  return s;
}

// ---- spoiled ----

// Any whole number of a configuration gets any value, with room for the additions of the other changes.
inline void spoil_number(dice& d, setup& s) {
  int* fields[] = {&s.m.layers,       &s.m.hidden,      &s.m.heads, &s.m.kv_heads, &s.m.head_dim,
                   &s.m.ffn,          &s.m.vocab,       &s.m.seq,   &s.m.experts,  &s.m.top_k,
                   &s.j.global_batch, &s.j.micro_batch, &s.p.pp,    &s.p.dp,       &s.p.cp,
                   &s.p.tp,           &s.p.edp,         &s.p.ep,    &s.p.etp,      &s.p.virtual_stages,
                   &s.p.zero,         s.p.stage_layers};
  int& n = *fields[d.below(sizeof fields / sizeof *fields)];
  const int most = n < INT_MAX / 2 ? n : 1;
  n = d.of({0, 1, most + 1, std::max(most - 1, 0), 2 * most, d.below(100), d.below(100), INT_MAX - 9 - d.below(9)});
}

inline void spoil_type(dice& d, mp::precisions& p) {
  mp::dtype* const kept[] = {&p.param, &p.grad, &p.reduce, &p.master, &p.moments};
  *kept[d.below(5)] = d.kind<mp::dtype>(3);
}

// Changes after each of which a certain rule is often broken.
using change = void (*)(dice&, setup&);
inline constexpr change changes[] = {
    [](dice&, setup& s) { s.m.ffn = 0; },
    [](dice& d, setup& s) { s.m.dropout = d.of({1, 2}); },
    [](dice&, setup& s) { s.j.label_smoothing = -0.5; },
    [](dice& d, setup& s) { (d.chance(50) ? s.m.norm_eps : s.m.rope_theta) = 0; },
    [](dice& d, setup& s) { s.p.zero = 3 + d.below(3); },
    [](dice&, setup& s) { s.m.head_dim = 0, s.m.hidden += 1; },
    [](dice& d, setup& s) { s.m.kv_heads = d.upto(s.m.heads + 1); },
    [](dice& d, setup& s) { s.m.positions = mp::position_kind::rotary, s.m.head_dim = 2 * d.below(8) + 1; },
    [](dice&, setup& s) { s.p.tp += 1; },
    [](dice&, setup& s) { s.m.heads = 12, s.m.kv_heads = 6, s.p.tp = 4; },
    [](dice&, setup& s) { s.m.ffn += 1; },
    [](dice&, setup& s) { s.m.seq += 1; },
    [](dice&, setup& s) { s.p.sequence_parallel = !s.p.sequence_parallel; },
    [](dice& d, setup& s) { s.j.global_batch += d.upto(3); },
    [](dice& d, setup& s) { spoil_type(d, s.p.precision); },
    [](dice& d, setup& s) { s.p.pp = d.upto(5); },
    [](dice& d, setup& s) { s.p.stage_layers[d.below(4)] += 1; },
    [](dice& d, setup& s) { s.p.virtual_stages = d.upto(3); },
    [](dice& d, setup& s) { s.p.schedule = d.kind<mp::schedule_kind>(7), s.j = {.global_batch = s.p.dp}; },
    [](dice&, setup& s) { s.p.pp = 3, s.p.schedule = mp::schedule_kind::dualpipe; },
    [](dice&, setup& s) { s.p.cp = 2, s.p.context_exchange = mp::exchange_kind::heads; },
    [](dice&, setup& s) { s.p.ep += 1; },
    [](dice& d, setup& s) { s.m.experts = d.below(9), s.m.top_k = d.below(9); },
    [](dice& d, setup& s) { s.p.edp = d.upto(8); },
};
inline void spoil_rule(dice& d, setup& s) { changes[d.below(sizeof changes / sizeof *changes)](d, s); }

// What the command reads; the rest it refuses before it asks a rule.
inline bool readable(const setup& s) {
  const auto product = [](auto... n) { return (1.0 * ... * std::max(n, 1)); };
  const mp::plan& p = s.p;
  constexpr double most = 1 << 30;
  return product(p.pp, p.virtual_stages) <= most && product(p.pp, p.dp, p.cp, p.tp) <= most &&
         product(p.edp, p.ep, p.etp) <= most && (mp::chunk_count(p) > 0 || mp::equal_stages(p));
}

inline setup spoiled(dice& d, const setup& from) {
  setup s;
  do {
    s = from;
    for (int times = d.upto(3); times > 0; --times) d.chance(30) ? spoil_number(d, s) : spoil_rule(d, s);
  } while (!readable(s));
  return s;
}

}  // namespace meshpar_test
