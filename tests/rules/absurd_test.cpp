// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sizes that nobody means: every rule answers in numbers and names a repair that an int holds. What overflows is no
// constant expression, so that the first part is its own proof; the second is for UBSan.
#include "rules/setup.hpp"

#include <doctest/doctest.h>

#include <climits>
#include <utility>

namespace {

using namespace rules_test;

constexpr int* fields_of(setup& s, int i) {
  int* fields[] = {
      &s.m.layers, &s.m.hidden, &s.m.heads,        &s.m.kv_heads,    &s.m.head_dim, &s.m.ffn,     &s.m.vocab,
      &s.m.seq,    &s.m.top_k,  &s.j.global_batch, &s.j.micro_batch, &s.p.pp,       &s.p.dp,      &s.p.cp,
      &s.p.tp,     &s.p.edp,    &s.p.ep,           &s.p.etp,         &s.p.zero,     &s.m.experts, &s.p.virtual_stages};
  return i < static_cast<int>(sizeof fields / sizeof *fields) ? fields[i] : nullptr;
}

// Forms in which each rule has something to say: positions, exchanges, schedules, stages.
constexpr setup form(int kind) {
  setup s;
  if (kind & 1) s.m.positions = mp::position_kind::rotary;
  s.p.sequence_parallel = (kind & 2) != 0;
  s.p.zigzag = (kind & 4) == 0;
  if (kind & 4) s.p.context_exchange = mp::exchange_kind::heads;
  s.p.schedule = static_cast<mp::schedule_kind>(kind % 7);
  return s;
}

constexpr bool makes_sense(const mp::verdict& v) {
  return v.holds() || (v.why.size() > 10 && v.why.size() < 240 && v.repair >= 0 && v.repair <= INT_MAX);
}

// Everything at one value, but every `step`-th field.
constexpr setup all_at(int value, int kind, int step) {
  setup s = form(kind);
  for (int i = 0; int* field = fields_of(s, i); ++i)
    if (i % step != step - 1) *field = value;
  if (kind & 8)
    for (int& layers : s.p.stage_layers) layers = value;
  return s;
}

template <int Value, int Kind, int Step>
struct at {
  template <int Entry>
  static constexpr bool one = [] {
    constexpr setup s = all_at(Value, Kind, Step);
    return makes_sense(mp::catalogue[Entry].check(s.m, s.j, s.p));
  }();
  template <int... Entry>
  static constexpr bool each(std::integer_sequence<int, Entry...>) {
    return (one<Entry> && ...);
  }
  static constexpr bool ok = each(std::make_integer_sequence<int, mp::catalogue_size>{});
};
static_assert(at<INT_MAX, 15, 100>::ok && at<INT_MAX, 2, 3>::ok && at<INT_MAX, 5, 2>::ok && at<INT_MAX, 12, 5>::ok);
static_assert(at<INT_MAX - 1, 15, 100>::ok && at<INT_MAX - 1, 2, 3>::ok && at<1 << 30, 9, 4>::ok);
static_assert(at<INT_MIN, 15, 100>::ok && at<INT_MIN, 2, 3>::ok && at<INT_MIN, 5, 2>::ok && at<INT_MIN, 13, 5>::ok);
static_assert(at<0, 15, 100>::ok && at<0, 10, 2>::ok && at<-1, 7, 3>::ok);

// All rules at once are one constant expression within what clang allows.
constexpr setup largest = all_at(INT_MAX, 2, 100), large = all_at(INT_MAX - 1, 9, 3);
static_assert(mp::broken_entries(largest.m, largest.j, largest.p) != 0);
static_assert(mp::broken_entries(large.m, large.j, large.p) != 0);

constexpr mp::plan widest{.pp = INT_MAX, .dp = INT_MAX, .cp = INT_MAX, .tp = INT_MAX};
static_assert(mp::rank_count(widest) == LONG_MAX && mp::world_size_matches_plan(widest, 8).repair == LONG_MAX);
static_assert(mp::capped_product(LONG_MAX, 2) == LONG_MAX && mp::capped_product(1L << 31, 1L << 31) == 1L << 62);
static_assert(mp::capped_product(-3, 5) == 0 && mp::capped_product(3, 0) == 0);
static_assert(mp::near_multiple(INT_MAX, 2) == INT_MAX - 1 && mp::near_multiple(7, 2) == 8);
static_assert(mp::near_multiple(7, 1L << 32) == 0);

constexpr setup odd_heads = with([](setup& s) { s.m.head_dim = INT_MAX, s.m.positions = mp::position_kind::rotary; });
static_assert(ask(rule::head_dim_even_for_rotary, odd_heads).why ==
              "head_dim (2147483647) is odd but rotary turns pairs; set head_dim to 2147483646");
constexpr setup wide = with([](setup& s) { s.m.hidden = INT_MAX; });
static_assert(ask(rule::hidden_divisible_by_heads, wide).why ==
              "hidden (2147483647) not divisible by heads (8); set hidden to 2147483640");
constexpr setup cut_thin = with([](setup& s) { s.p.cp = INT_MAX; });
static_assert(ask(rule::sequence_divisible_by_cp, cut_thin).why ==
              "seq (64) not divisible by 2 * cp (4294967294); set cp to 1");
constexpr setup many_ranks = with([](setup& s) { s.p.dp = INT_MAX; });
static_assert(ask(rule::global_batch_divisible, many_ranks).why ==
              "global_batch (16) not divisible by dp * micro_batch (4294967294); set dp to 16");
constexpr setup deep = with([](setup& s) {
  s.p.pp = 2;
  s.p.stage_layers[0] = s.p.stage_layers[1] = INT_MAX;
});
static_assert(ask(rule::stage_layers_add_up, deep).why ==
              "stage_layers add up to 4294967294 but layers is 4; set stage_layers to at most 2");

}  // namespace

TEST_CASE("every rule answers to any numbers") {
  constexpr int values[] = {INT_MIN, INT_MIN + 1, -1, 0, 1, 2, 3, 64, 1 << 16, 1 << 30, INT_MAX - 1, INT_MAX};
  unsigned long long state = 7;
  const auto below = [&](unsigned n) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<int>((state >> 33) % n);
  };
  int refusals = 0;
  for (int n = 0; n < 20000; ++n) {
    setup s = form(below(16));
    for (int i = 0; int* field = fields_of(s, i); ++i)
      if (below(2)) *field = values[below(12)];
    for (int& layers : s.p.stage_layers)
      if (below(64) == 0) layers = values[below(12)];
    for (const mp::verdict& v : mp::check_all(s.m, s.j, s.p)) {
      ++refusals;
      if (makes_sense(v)) continue;
      CAPTURE(n);
      FAIL_CHECK(mp::name_of(v.broken) << ": " << v.why.c_str() << " (" << v.repair << ")");
    }
  }
  CHECK(refusals > 20000);
}
