// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/threads/world.hpp>
#include <meshpar/nn/program.hpp>
#include <meshpar/train/rank.hpp>

#include "counted_allocation.hpp"

#include <barrier>
#include <cstdint>

// Gemm, which says when it is inside a product.
template <class Gemm>
struct marked {
  static inline std::atomic<long> products{0};

  template <class T, class C>
  static void multiply(const meshpar::gemm_shape& s, meshpar::accumulator_t<T> alpha, const T* a, const T* b,
                       meshpar::accumulator_t<T> beta, C* c) {
    counted::inside_product = true;
    Gemm::multiply(s, alpha, a, b, beta, c);
    counted::inside_product = false;
    ++products;
  }
};

// Of the whole process, over all ranks and every thread of a library, from the start of training step 3 to the end of
// step 5.
struct allocations {
  long all = 0, inside_products = 0, products = 0;
  long elsewhere() const { return all - inside_products; }
};

template <class Types, class Gemm>
allocations allocations_of_steps_3_to_5(const meshpar::model& m, const meshpar::job& j, const meshpar::plan& p,
                                        int threads_each = 1) {
  using namespace meshpar;
  const program what(m, j, p, stack<>(m, j));
  if (what.refused()) throw comm_error(what.refusal().why.c_str());
  const int ranks = static_cast<int>(world_size(p));
  allocations before, after;
  std::barrier together(ranks);
  threads_world world(ranks);
  world.run([&](threads& comm) {
    counted::inside_product = false;
    Gemm::set_threads(threads_each);
    rank<Types, marked<Gemm>, threads> r(what, comm);
    const auto id = [&](std::int64_t sample, std::int64_t position) {
      return static_cast<std::int32_t>((sample * 7919 + position * 104729 + sample * position * 13) % m.vocab);
    };
    const auto label = [&](std::int64_t sample, std::int64_t position) { return id(sample, position + 1); };
    const auto note = [&](allocations& now) {  // while every rank stands still
      together.arrive_and_wait();
      if (r.number() == 0) now = {counted::all, counted::inside_products, marked<Gemm>::products};
      together.arrive_and_wait();
    };
    for (int step = 1; step <= 5; ++step) {
      if (step == 3) note(before);
      r.step(static_cast<std::uint64_t>(step), id, label, {});
      if (step == 5) note(after);
    }
  });
  return {after.all - before.all, after.inside_products - before.inside_products, after.products - before.products};
}
