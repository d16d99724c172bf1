// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whatever is accepted runs: random plans that break no rule, with sizes of no pattern (heads of 5 features, three
// ranks of tp, a vocabulary of 7), against one rank that takes the same global batch one sequence at a time.
// MESHPAR_SEED=N draws others.
#include "harness.hpp"
#include "support/drawn.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>

namespace {
using namespace meshpar_test;

constexpr int sample = 60, steps = 2;

unsigned long long seed() {
  const char* given = std::getenv("MESHPAR_SEED");
  return given == nullptr ? 3 : std::strtoull(given, nullptr, 10);
}

// Products of a forward pass.
double work(const setup& s) {
  const double features = 1.0 * s.m.heads * head_dim_of(s.m);
  return 1.0 * s.j.global_batch * s.m.seq * s.m.layers * s.m.hidden * (4 * features + 3 * s.m.ffn);
}

// Small, on several ranks, and with a label in each step.
bool fit(const setup& s) {
  const token_data data{s.m.vocab, s.m.seq};
  for (int k = 0; k <= steps; ++k)
    if (data.labels(k, s.j.global_batch) < 4) return false;
  return world_size(s.p) > 1 && work(s) < 2e7;
}

setup drawn(dice& d) {
  for (;;) {
    setup s = sound(d, {.ranks = 8, .built = true});
    s.p.precision = all_f64;
    if (fit(s)) return s;
  }
}

std::string spelled(const setup& s) {
  const model& m = s.m;
  std::string all;
  const auto put = [&](const char* name, int n) { all += std::string(name) + ' ' + std::to_string(n) + ' '; };
  put("dp", s.p.dp), put("tp", s.p.tp), put("sp", s.p.sequence_parallel), put("layers", m.layers);
  put("hidden", m.hidden), put("heads", m.heads), put("kv", m.kv_heads), put("head_dim", head_dim_of(m));
  put("ffn", m.ffn), put("vocab", m.vocab), put("seq", m.seq), put("batch", s.j.global_batch);
  put("micro", s.j.micro_batch), put("rotary", m.positions == position_kind::rotary);
  put("tied", m.tied_embeddings), put("drop%", static_cast<int>(m.dropout * 100));
  return all;
}

}  // namespace

TEST_CASE("every random plan that is accepted gives the result of one rank") {
  dice d(seed());
  std::printf("seed %llu\n", seed());
  int families[2]{}, grouped = 0, padded = 0, dropped = 0, several = 0, tied = 0;
  for (int i = 0; i < sample; ++i) {
    const setup s = drawn(d);
    REQUIRE(check_all(s.m, s.j, s.p).empty());
    job one_at_a_time = s.j;
    one_at_a_time.micro_batch = 1;
    const trained one = train(s.m, one_at_a_time, {.precision = all_f64}, steps);
    const trained many = train(s.m, s.j, s.p, steps);
    const difference g = compare(one.gradients, many.gradients), w = compare(one.weights, many.weights);
    const double loss = worst_relative(one.losses, many.losses), norms = worst_relative(one.norms, many.norms);
    std::printf("%-135s loss %7.1e norm %7.1e gradients %7.1e weights %7.1e\n", spelled(s).c_str(), loss, norms,
                g.value, w.value);
    std::fflush(stdout);
    CAPTURE(spelled(s));
    INFO("gradients differ most at ", g.where, ", weights at ", w.where);
    REQUIRE(one.fault == "");
    CHECK(many.fault == "");
    CHECK(many.traffic == "");
    CHECK(loss <= 1e-12);
    CHECK(norms <= 1e-10);
    CHECK(g.value <= 1e-10);
    CHECK(w.value <= 1e-9);
    ++families[s.m.positions == position_kind::rotary];
    grouped += kv_heads_of(s.m) < s.m.heads;
    padded += padded_vocab(s.m, s.p) > s.m.vocab;
    dropped += s.m.dropout > 0;
    several += micro_batches(s.j, s.p) > 1;
    tied += s.m.tied_embeddings;
  }
  std::printf("%d learned, %d rotary; GQA %d, tied %d, dropout %d, padded vocabulary %d, several micro-batches %d\n",
              families[0], families[1], grouped, tied, dropped, padded, several);
  for (const int n : {families[0], families[1], grouped, tied, dropped, padded, several}) CHECK(n > 0);
}
