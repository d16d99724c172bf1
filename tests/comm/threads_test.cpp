// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/comm/threads.hpp>

#include "comm/rank_tests.hpp"

namespace {

struct ranks {
  using comm = meshpar::threads;
  static std::vector<int> sizes() { return {1, 2, 3, 4, 8}; }
  static bool has(int) { return true; }
  static std::atomic<int>& entered() {
    static std::atomic<int> count{0};
    return count;
  }

  // On ranks that share a core, where whoever runs moves the data of the others, and on ranks with a core each.
  template <class F>
  static int wrong(int n, F body) {
    tally t;
    for (const int cores : {1, n}) {
      meshpar::threads_world world{n, {.time_out = 60, .cores = cores}};
      world.run([&](comm& c) { body(c, c.group(first(n)), t); });
    }
    return t.wrong;
  }
};

}  // namespace

#include "comm/collective_checks.hpp"

TEST_CASE("a world runs again, and its groups remain") {
  mp::threads_world world{2};
  for (int i = 0; i < 50; ++i)
    world.run([&](mp::threads& comm) {
      float x = 1;
      comm.all_reduce(comm.group(first(2)), &x, &x, 1, dtype::f32, dtype::f32);
      if (x != 2) throw 1;
    });
}
