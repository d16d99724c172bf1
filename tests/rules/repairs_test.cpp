// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whoever does what refusals say comes to a legal configuration, from any that a generator makes.
#include "rules/setup.hpp"

#include <doctest/doctest.h>

#include <cstring>

namespace {

namespace mp = meshpar;
using mp::rule;
using rules_test::broken_in;
using rules_test::followed;
using rules_test::setup;

doctest::String said(const mp::verdict& v) { return v.why.c_str(); }

struct generator {
  unsigned long long state;
  int below(int n) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<int>((state >> 33) % static_cast<unsigned>(n));
  }
  int one_of(int a, int b, int c, int d) { return below(4) == 0 ? a : below(3) == 0 ? b : below(2) == 0 ? c : d; }
};

setup random_setup(generator& g) {
  setup s;
  s.m.layers = 1 + g.below(12);
  s.m.heads = 1 + g.below(16);
  s.m.hidden = s.m.heads * (1 + g.below(8)) + (g.below(4) == 0);
  s.m.kv_heads = g.below(2) ? 0 : 1 + g.below(s.m.heads);
  s.m.ffn = 1 + g.below(64);
  s.m.seq = 1 + g.below(96);
  s.m.positions = g.below(2) ? mp::position_kind::rotary : mp::position_kind::learned;
  if (g.below(2)) s.m.experts = 1 + g.below(12), s.m.top_k = g.below(5);
  s.j = {.global_batch = 1 + g.below(48), .micro_batch = 1 + g.below(4)};
  s.p = {
      .pp = g.one_of(1, 2, 3, 1 + g.below(9)), .dp = 1 + g.below(4), .cp = g.one_of(1, 1, 2, 3), .tp = 1 + g.below(6)};
  s.p.sequence_parallel = g.below(2) != 0;
  s.p.ep = g.one_of(1, 1, 2, 3);
  s.p.etp = g.one_of(1, 1, 2, 3);
  s.p.edp = g.one_of(0, 0, 1, 2);
  s.p.virtual_stages = g.one_of(1, 1, 2, 3);
  s.p.zero = g.below(4);
  s.p.schedule = static_cast<mp::schedule_kind>(g.below(7));
  s.p.zigzag = g.below(2) != 0;
  if (g.below(2)) s.p.context_exchange = mp::exchange_kind::heads;
  if (g.below(8) == 0) s.m.kv_heads = 5000 + g.below(100);
  if (g.below(16) == 0) s.m.dropout = 1 + g.below(2);
  if (g.below(16) == 0) s.m.norm_eps = 0;
  if (g.below(16) == 0) s.p.zero = 7;
  if (g.below(16) == 0) s.m.ffn = s.p.dp = -g.below(3);
  if (g.below(16) == 0) s.m.head_dim = -1;
  const mp::dtype types[] = {mp::dtype::f32, mp::dtype::f64, mp::dtype::bf16, mp::dtype::i32};
  if (g.below(8) == 0)
    s.p.precision = {.param = types[g.below(4)], .grad = types[g.below(4)], .moments = types[g.below(4)]};
  if (g.below(8) == 0) s.p.stage_layers[0] = 1 + g.below(4), s.p.stage_layers[1] = g.below(4);
  return s;
}

// How many repairs a rule may take: one, but where it is about several fields.
int most_repairs(rule id) {
  switch (id) {
    case rule::positive_sizes: return 20;          // one for each size
    case rule::values_in_range: return 7;          // one for each value
    case rule::feature_not_built_yet: return 9;    // one for each feature
    case rule::experts_divisible_by_ep: return 2;  // ep, etp
    case rule::layers_divisible_by_pp: return 2;   // pp, virtual_stages
    case rule::stage_layers_add_up: return 3;      // these and stage_layers
    case rule::folding_products_agree: return 3;   // ep, etp, edp
    default: return 1;
  }
}
// These say of all fields at once what to do; the others name each repair.
bool names_no_repairs(rule id) {
  return id == rule::positive_sizes || id == rule::values_in_range || id == rule::feature_not_built_yet;
}
bool is_named(const mp::verdict& next, const mp::verdict& first) {
  mp::text t;
  return std::strstr(first.why.c_str(), (t << mp::remedy{next.remedy, next.repair}).c_str()) != nullptr;
}

}  // namespace

// A rule holds once all that its sentence names is done, and following the repairs of all rules, the first broken rule
// first, ends in a legal configuration.
TEST_CASE("repairs repair") {
  generator g{2024};
  std::uint64_t seen = 0;
  int legal = 0;
  for (int n = 0; n < 20000; ++n) {
    setup s = random_setup(g);
    const std::uint64_t broken = mp::broken_entries(s.m, s.j, s.p);
    seen |= broken;
    legal += broken_in(s) == 0;
    for (const mp::catalogue_entry& e : mp::catalogue) {
      const mp::verdict first = e.check(s.m, s.j, s.p);
      setup once = s;
      mp::verdict v = first;
      for (int i = 0; i < most_repairs(e.id) && !v.holds(); ++i) {
        CAPTURE(n);
        if (!names_no_repairs(e.id)) CHECK_MESSAGE(is_named(v, first), said(first) << " leads to " << said(v));
        once = followed(v, once);
        v = e.check(once.m, once.j, once.p);
      }
      if (!v.holds()) FAIL_CHECK(n << ": " << said(first) << " leads to " << said(v));
    }
    int rounds = 0;
    while (rounds < 40) {
      const auto all = mp::check_all(s.m, s.j, s.p);
      if (all.empty()) break;
      s = followed(all[0], s);
      ++rounds;
    }
    if (rounds == 40) FAIL_CHECK("no end of repairs in case " << n << ": " << said(mp::check_all(s.m, s.j, s.p)[0]));
  }
  MESSAGE("seed 2024, 20000 configurations, legal at once: " << legal);
  for (int i = 0; i < mp::catalogue_size; ++i) {
    CAPTURE(mp::catalogue[i].name);
    CHECK((seen >> i & 1) == 1);
  }
}
