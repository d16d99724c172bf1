// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/trace/logged.hpp>
#include <meshpar/train/run_rank.hpp>

#include <vector>

namespace meshpar::inline v0 {

// run_ranks with a log of every call: returns the logs by rank, with one zero of time, for a timeline or for counting.
// Each has room for `calls`.
template <class Types, class Gemm = plain_gemm, class F>
std::vector<call_log> run_logged_ranks(const program& p, F fn, std::size_t calls = std::size_t{1} << 14,
                                       threads_options options = {}) {
  const auto start = call_log::clock::now();
  std::vector<call_log> logs;
  for (int r = 0; r < p.where.ranks.size(); ++r) logs.emplace_back(r, calls, start);
  threads_world world(p.where.ranks.size(), options);
  world.run([&](threads& plain) {
    logged<threads> comm(plain, logs[static_cast<std::size_t>(plain.rank())]);
    run_rank<Types, Gemm>(p, comm, fn);
  });
  return logs;
}

}  // namespace meshpar::inline v0
