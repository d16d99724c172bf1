// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/kernels/block.hpp>

#include <barrier>
#include <thread>
#include <vector>

namespace meshpar_test {

// A block of real threads: what ThreadSanitizer sees of a kernel is what a GPU would race on.
class thread_block {
 public:
  static constexpr int lanes = 1;
  int thread() const { return index_; }
  int threads() const { return static_cast<int>(shared_->exchange.size()); }
  void sync() const { shared_->all.arrive_and_wait(); }
  template <class A>
  A sum(A v) const {
    return fold(v, [](A x, A y) { return x + y; });
  }
  template <class A>
  A max(A v) const {
    return fold(v, [](A x, A y) { return x > y ? x : y; });
  }
  template <class A>
  void multiply(A* c, long c_stride, const A* a, long a_row, long a_column, const A* b, long b_stride, long m, long n,
                long k) const {
    meshpar::kernels::tile_product_by_elements(*this, c, c_stride, a, a_row, a_column, b, b_stride, m, n, k);
  }

  template <class Body>
  static void run(int threads, Body body) {
    shared_state shared(threads);
    std::vector<std::thread> team;
    for (int t = 0; t < threads; ++t) team.emplace_back([&shared, &body, t] { body(thread_block(shared, t)); });
    for (std::thread& t : team) t.join();
  }

 private:
  struct shared_state {
    std::vector<double> exchange;
    std::barrier<> all;
    explicit shared_state(int n) : exchange(static_cast<std::size_t>(n)), all(n) {}
  };
  thread_block(shared_state& shared, int index) : shared_(&shared), index_(index) {}

  template <class A, class Fold>
  A fold(A v, Fold f) const {
    shared_->exchange[static_cast<std::size_t>(index_)] = static_cast<double>(v);
    sync();
    A all = static_cast<A>(shared_->exchange[0]);
    for (std::size_t t = 1; t < shared_->exchange.size(); ++t) all = f(all, static_cast<A>(shared_->exchange[t]));
    sync();
    return all;
  }

  shared_state* shared_;
  int index_;
};

}  // namespace meshpar_test
