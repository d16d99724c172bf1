// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What meta predicts of a step is what the arena, the communicator and the log of calls count, to the byte, on every
// rank of every plan.
#include "observe.hpp"
#include "plans.hpp"

#include <doctest/doctest.h>

#include <cstdio>

using namespace meshpar;
using counted::observed;

namespace {

std::vector<observed> observe(const program& p) {
  std::vector<observed> all;
  with_element_types(p.how.precision, [&](auto types) { all = counted::observe_ranks<decltype(types)>(p); });
  return all;
}

void check_all(const observed& o) {
  CHECK(o.lost == 0);
  CHECK(o.mapped == o.predicted.height);
  CHECK(o.guarded);
  CHECK(o.top == o.predicted.top);
  CHECK(o.wrong_sizes == "");
  CHECK(o.read_unwritten == 0);
  CHECK(o.live == o.predicted.peak_live);
  CHECK(o.flops == o.predicted.whole.flops);
  CHECK(o.logged == o.predicted.whole.bytes());
  for (const counted::bytes_along& row : o.bytes) CHECK(row.received == row.predicted);
  std::int64_t calls = 0;
  for (const counted::bytes_along& row : o.calls) {
    CHECK(row.received == row.predicted);
    calls += row.predicted;
  }
  CHECK(o.collectives == calls);  // and along no other axes
}

}  // namespace

TEST_CASE("predicted is counted, to the byte, on every rank of every plan") {
  std::printf("%-44s %2s %2s %2s %10s %10s %10s %12s\n", "plan", "dp", "tp", "sp", "height", "live", "bytes", "flops");
  for (const plans::configuration& c : plans::table) {
    CAPTURE(c.name);
    const auto p = std::make_unique<program>(c.what, c.task, c.how, stack<>(c.what, c.task));
    REQUIRE(!p->refused());
    const std::vector<observed> ranks = observe(*p);
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      CAPTURE(r);
      check_all(ranks[r]);
    }
    const step_cost& first = ranks[0].predicted;
    std::printf("%-44s %2d %2d %2d %10ld %10ld %10ld %12ld\n", c.name, c.how.dp, c.how.tp, c.how.sequence_parallel,
                first.height, first.peak_live, first.whole.bytes(), first.whole.flops);
  }
}
