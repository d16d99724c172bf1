// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/threads/world.hpp>
#include <meshpar/device/host_gemm.hpp>
#include <meshpar/train/rank.hpp>

#include <memory>

namespace meshpar::inline v0 {

// fn(rank&) for the rank that a communicator speaks for.
template <class Types, class Gemm, class Comm, class F>
void run_rank(const program& p, Comm& comm, F& fn) {
  const auto r = std::make_unique<rank<Types, Gemm, Comm>>(p, comm);
  fn(*r);
}

// Runs fn(rank&) on every rank of a plan, each a thread of this process. The first rank that throws ends the run, and
// its message is thrown from here.
template <class Types, class Gemm = plain_gemm, class F>
void run_ranks(const program& p, F fn, threads_options options = {}) {
  threads_world world(p.where.ranks.size(), options);
  world.run([&](threads& comm) { run_rank<Types, Gemm>(p, comm, fn); });
}

}  // namespace meshpar::inline v0
