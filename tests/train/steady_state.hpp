// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/threads_world.hpp>
#include <meshpar/nn/program.hpp>
#include <meshpar/train/rank.hpp>

#include "counted_allocation.hpp"

#include <barrier>
#include <cstdint>

// Another matrix product, which tells how often it allocates and leaves that out of the count.
template <class Gemm>
struct apart {
  static inline std::atomic<long> calls{0}, allocations{0};

  template <class T, class C>
  static void multiply(const meshpar::gemm_shape& s, meshpar::accumulator_t<T> alpha, const T* a, const T* b,
                       meshpar::accumulator_t<T> beta, C* c) {
    const long before = counted::by_this_thread;
    Gemm::multiply(s, alpha, a, b, beta, c);
    const long taken = counted::by_this_thread - before;
    counted::allocations -= taken;
    allocations += taken;
    ++calls;
  }
};

// Allocations of the whole process, over all ranks and every thread of a library, from the start of training step 3 to
// the end of step 5.
template <class Types, class Gemm>
long allocations_of_steps_3_to_5(const meshpar::model& m, const meshpar::job& j, const meshpar::plan& p) {
  using namespace meshpar;
  const program what(m, j, p, stack<>(m, j));
  if (what.refused()) return -1;
  const int ranks = static_cast<int>(world_size(p));
  const std::int64_t labels = std::int64_t{j.global_batch} * m.seq;
  long before = 0, after = 0;
  std::barrier together(ranks);
  threads_world world(ranks);
  world.run([&](threads& comm) {
    rank<Types, Gemm, threads> r(what, comm);
    const auto id = [&](std::int64_t sample, std::int64_t position) {
      return static_cast<std::int32_t>((sample * 7919 + position * 104729 + sample * position * 13) % m.vocab);
    };
    const auto label = [&](std::int64_t sample, std::int64_t position) { return id(sample, position + 1); };
    const auto note = [&](long& count) {  // while every rank stands still
      together.arrive_and_wait();
      if (r.number() == 0) count = counted::allocations.load();
      together.arrive_and_wait();
    };
    for (int step = 1; step <= 5; ++step) {
      if (step == 3) note(before);
      r.accumulate(static_cast<std::uint64_t>(step), labels, id, label);
      r.update(labels, step, {});
      if (step == 5) note(after);
    }
  });
  return after - before;
}
