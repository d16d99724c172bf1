// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "one_step.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace meshpar;

namespace {

std::int64_t records_to_play(const tracer& t) {
  std::int64_t n = 0;
  for (const record& r : t.records) n += r.op != &to_op::info || r.n[0] != 0;
  return n;
}

// Calls of a collective in the two blocks of layer 1, in one micro-batch.
struct in_layer {
  std::ptrdiff_t forward = 0, backward = 0;
};
in_layer count(const program& p, const call_log& log, call_kind kind) {
  const auto among = [&](bool forward) {
    return std::ranges::count_if(log.calls(), [&](const logged_call& c) {
      return c.what != nullptr && c.sent.kind == kind && p.layer_of(c.block) == 1 &&
             p.kind_of(c.block) != block_kind::last && (c.what->when == phase::forward) == forward;
    });
  };
  const int times = micro_batches(p.task, p.how);
  return {among(true) / times, among(false) / times};
}

}  // namespace

TEST_CASE("every call of a step is logged, in order, with its times") {
  const auto p = one_step::trace(one_step::four);
  std::int64_t expected = p->reductions.size() + 2;  // and the totals, before the first block and at the end
  for (int b = 0; b < p->block_count(); ++b) expected += 2 * records_to_play(p->traced_block(p->kind_of(b)));
  for (const call_log& log : one_step::logs_of(*p, 4000)) {
    CHECK(log.lost() == 0);
    CHECK(static_cast<std::int64_t>(log.calls().size()) == expected);
    std::int64_t now = 0;
    for (const logged_call& c : log.calls()) {
      CHECK(now <= c.start);
      CHECK(c.start <= c.end);
      now = c.end;
    }
    const logged_call& last = log.calls().back();
    CHECK(last.what == nullptr);  // the totals of the step
    CHECK(last.sent.kind == call_kind::all_reduce);
    CHECK(last.ranks.size() == 4);
    CHECK(last.sent.inner == 2);
  }
}

TEST_CASE("TPA-01: a layer makes four all-reduces, two forward and two backward") {
  const auto p = one_step::trace({.tp = 2});
  for (const call_log& log : one_step::logs_of(*p, 4000)) {
    const in_layer n = count(*p, log, call_kind::all_reduce);
    CHECK(n.forward == 2);
    CHECK(n.backward == 2);
    CHECK(count(*p, log, call_kind::all_gather).backward == 0);
  }
}

TEST_CASE("SPX-04: a gather and a reduce-scatter stand for each, and what was gathered is gathered again") {
  const auto p = one_step::trace({.tp = 2, .sequence_parallel = true});
  for (const call_log& log : one_step::logs_of(*p, 4000)) {
    CHECK(count(*p, log, call_kind::all_reduce).forward == 0);
    CHECK(count(*p, log, call_kind::all_reduce).backward == 0);
    CHECK(count(*p, log, call_kind::all_gather).forward == 2);
    CHECK(count(*p, log, call_kind::reduce_scatter).forward == 2);
    CHECK(count(*p, log, call_kind::all_gather).backward == 2 + 2);
    CHECK(count(*p, log, call_kind::reduce_scatter).backward == 2);
  }
}

TEST_CASE("a log that is full takes no more, and says how many it lost") {
  const auto p = one_step::trace(one_step::four);
  const std::vector<call_log> whole = one_step::logs_of(*p, 4000), cut = one_step::logs_of(*p, 10);
  for (std::size_t r = 0; r < cut.size(); ++r) {
    CHECK(cut[r].calls().size() == 10);
    CHECK(cut[r].lost() == whole[r].calls().size() - 10);
    for (std::size_t i = 0; i < 10; ++i) CHECK(cut[r].calls()[i].what == whole[r].calls()[i].what);
  }
}
