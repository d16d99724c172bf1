// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/comm/threads.hpp>

#include "support/counted_new.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <vector>

namespace mp = meshpar;

TEST_CASE("after the first round, calls allocate nothing") {
  constexpr int n = 4;
  mp::threads_world world{n};
  std::atomic<long> during{0};
  world.run([&](mp::threads& comm) {
    const mp::group g = comm.group(std::vector{0, 1, 2, 3});
    std::vector<float> x(40000), y(40000);
    std::vector<long> bytes(n, 100), offsets(n, 0);
    const auto round = [&](long count) {
      auto call = comm.start_all_reduce(g, x.data(), y.data(), count, mp::dtype::f32, mp::dtype::f32);
      auto sent = comm.start_send(g, (g.index() + 1) % n, x.data(), count * 4);
      comm.receive(g, (g.index() + n - 1) % n, y.data(), count * 4);
      sent.wait();
      call.wait();
      comm.reduce_scatter(g, x.data(), y.data(), 1, count / n, mp::dtype::f32, mp::dtype::f32);
      comm.all_gather(g, x.data(), y.data(), 1, count);
      comm.all_to_all(g, x.data(), y.data(), count);
      comm.all_to_all_v(g, x.data(), bytes, offsets, y.data(), bytes, offsets);
      comm.broadcast(g, x.data(), count, 1);
      comm.barrier(g);
    };
    round(100);
    comm.barrier(g);
    const long before = allocations;
    for (int i = 0; i < 50; ++i) round(i % 2 ? 100 : 40000);
    comm.barrier(g);
    during += allocations - before;
  });
  CHECK(during == 0);
}
