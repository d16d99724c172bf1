// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/mpi.hpp>

#include "comm/rank_tests.hpp"
#include "support/counted_new.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <vector>

namespace mp = meshpar;

// What MPI takes of its own by malloc is not counted.
TEST_CASE("after the first rounds, calls allocate nothing") {
  mp::mpi_world world{{.time_out = 60}};
  const int n = world.size();
  long during = -1, staged = -1, staged_after = -2;
  world.run([&](mp::mpi& comm) {
    const mp::group g = comm.group(first(n));
    std::vector<float> x(40000), y(static_cast<std::size_t>(40000 * n));
    std::vector<long> bytes(static_cast<std::size_t>(n), 100), offsets(bytes.size(), 0);
    const auto round = [&](long count) {
      auto call = comm.start_all_reduce(g, x.data(), y.data(), count, mp::dtype::f32, mp::dtype::f32);
      auto sent = comm.start_send(g, (g.index() + 1) % n, x.data(), count * 4);
      comm.receive(g, (g.index() + n - 1) % n, y.data() + 40000, count * 4);
      sent.wait();
      call.wait();
      comm.reduce_scatter(g, x.data(), y.data(), 1, count / n, mp::dtype::f32, mp::dtype::f32);
      comm.all_gather(g, x.data(), y.data(), 4, count / 4);
      comm.all_to_all(g, x.data(), y.data(), count / n);
      comm.all_to_all_v(g, x.data(), bytes, offsets, y.data(), bytes, offsets);
      comm.broadcast(g, x.data(), count, 1);
      comm.barrier(g);
    };
    for (int i = 0; i < 20; ++i) round(i % 2 ? 100 : 40000);
    comm.barrier(g);
    const long before = allocations;
    staged = world.staging_bytes();
    for (int i = 0; i < 50; ++i) round(i % 2 ? 100 : 40000);
    during = allocations - before;
    staged_after = world.staging_bytes();
    comm.barrier(g);  // before it no rank can have ended, and told so
  });
  CHECK(during == 0);
  CHECK(staged == staged_after);
}
