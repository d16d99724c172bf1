// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every value that a block saves for its backward pass, taken away one at a time: what is predicted and what is counted
// change alike.
#include "observe.hpp"
#include "plans.hpp"

#include <doctest/doctest.h>

#include <cstdio>

using namespace meshpar;
using counted::observed;

namespace {

// Makes the backward pass read a parameter wherever it read the value, and write elsewhere where it wrote over it: as
// pullbacks would that do not need it.
void forget(tracer& t, int id) {
  for (int i = t.forward_records; i < t.records.size(); ++i) {
    for (std::int16_t& in : t.records[i].in)
      if (root_of(t, in) == id) in = t.parameters[0].id;
    for (const std::int16_t out : t.records[i].out)
      if (root_of(t, out) == id) t.values[out].same_as = no_value;
  }
}

struct forgetful : stack<> {
  block_kind where;
  int id;

  forgetful(const model& m, const job& j, block_kind kind, int value) : stack<>(m, j), where(kind), id(value) {}
  void trace(tracer& t, block_kind kind) const {
    stack<>::trace(t, kind);
    if (kind == where) forget(t, id);
  }
};

std::vector<observed> observe(const program& p) {
  return counted::observe_ranks<element_types<float, float, float, float>>(p);
}

const char* maker_of(const tracer& t, int id) { return t.records[t.values[id].made_by].op->name; }

struct change {
  std::int64_t top, live;
};

// The largest change over the ranks, which must be that of the prediction on each.
change compare(const std::vector<observed>& before, const std::vector<observed>& after) {
  change c{};
  for (std::size_t r = 0; r < before.size(); ++r) {
    CHECK(after[r].mapped == after[r].predicted.height);
    CHECK(after[r].top == after[r].predicted.top);
    CHECK(after[r].live == after[r].predicted.peak_live);
    CHECK(after[r].read_unwritten == 0);
    c = {after[r].top - before[r].top, after[r].live - before[r].live};
    CHECK(c.top == after[r].predicted.top - before[r].predicted.top);
    CHECK(c.live == after[r].predicted.peak_live - before[r].predicted.peak_live);
  }
  return c;
}

void forget_each(const char* name, const model& m, const plan& how) {
  const job& j = plans::one;
  const auto whole = std::make_unique<program>(m, j, how, stack<>(m, j));
  const std::vector<observed> before = observe(*whole);
  int saved = 0, less_alive = 0;
  for (int k = 0; k < block_kinds; ++k)
    for (int id = 0; id < whole->blocks[k].values.size(); ++id) {
      const value& v = whole->blocks[k].values[id];
      if (v.where != space::saved || v.same_as != no_value || v.made_by == no_value) continue;
      const auto kind = static_cast<block_kind>(k);
      const auto less = std::make_unique<program>(m, j, how, forgetful(m, j, kind, id));
      const char* made_by = maker_of(whole->blocks[k], id);
      CAPTURE(name);
      CAPTURE(k);
      CAPTURE(made_by);
      CHECK(whole->sizes[k].saved - less->sizes[k].saved == aligned(v.bytes));
      const change c = compare(before, observe(*less));
      CHECK(c.live <= 0);
      // What waits for its backward pass while others run is alive at the peak.
      if (kind == block_kind::attention || kind == block_kind::mlp) CHECK(c.live < 0);
      std::printf("%-16s block %d %-14s %8ld bytes: top %8ld, live %8ld\n", name, k, made_by, v.bytes, c.top, c.live);
      ++saved;
      less_alive += c.live < 0;
    }
  CHECK(saved > 10);
  CHECK(less_alive > 8);
}

}  // namespace

TEST_CASE("a saved value that is forgotten changes what is predicted and what is counted alike") {
  forget_each("gpt", plans::gpt, plans::make(1, 2, true));
  forget_each("llama", plans::with(plans::llama, 0.1, false, true), plans::make(1, 2, false));
}
