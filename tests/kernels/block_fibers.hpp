// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/kernels/block.hpp>

#include <ucontext.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

namespace meshpar_test {

// A block of fibers that run one after the other, each up to its next barrier, in an order of our choosing: a missing
// barrier gives a wrong number in some order, every time; a barrier that not all reach is reported.
class fiber_block {
 public:
  static constexpr int lanes = 1;
  enum class order { forward, backward, shuffled };

  int thread() const { return index_; }
  int threads() const { return static_cast<int>(team_->fibers.size()); }
  void sync() const { team_->wait(index_); }
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
  static void run(int threads, order turn, Body body) {
    team t(threads, [&](team& all, int i) { body(fiber_block(all, i)); });
    t.run(turn);
  }

 private:
  struct fiber {
    ucontext_t context{};
    std::unique_ptr<char[]> stack;
    long barriers = 0;
    bool done = false;
  };

  struct team {
    std::vector<fiber> fibers;
    std::vector<double> exchange;
    std::function<void(team&, int)> body;
    ucontext_t home{};
    int current = 0;

    team(int n, std::function<void(team&, int)> f)
        : fibers(static_cast<std::size_t>(n)), exchange(static_cast<std::size_t>(n)), body(std::move(f)) {
      for (fiber& f1 : fibers) {
        constexpr std::size_t bytes = 256 * 1024;
        f1.stack.reset(new char[bytes]);
        getcontext(&f1.context);
        f1.context.uc_stack.ss_sp = f1.stack.get();
        f1.context.uc_stack.ss_size = bytes;
        f1.context.uc_link = &home;
        running() = this;
        makecontext(&f1.context, &team::enter, 0);
      }
    }
    static team*& running() {
      static team* t = nullptr;
      return t;
    }
    static void enter() {
      team& t = *running();
      const int me = t.current;
      t.body(t, me);
      t.at(me).done = true;
    }
    fiber& at(int i) { return fibers[static_cast<std::size_t>(i)]; }

    void wait(int i) {
      ++at(i).barriers;
      swapcontext(&at(i).context, &home);
    }

    // Every round takes each fiber to its next barrier, or all of them to the end.
    void run(order turn) {
      std::vector<int> who(fibers.size());
      for (std::size_t i = 0; i < who.size(); ++i) who[i] = static_cast<int>(i);
      std::mt19937 random(7);
      if (turn == order::backward) std::reverse(who.begin(), who.end());
      while (!fibers[0].done) {
        if (turn == order::shuffled) std::shuffle(who.begin(), who.end(), random);
        for (int i : who) {
          current = i;
          swapcontext(&home, &at(i).context);
        }
        for (const fiber& f : fibers)
          if (f.done != fibers[0].done || f.barriers != fibers[0].barriers)
            throw std::logic_error("a barrier was not reached by all threads of the block");
      }
    }
  };

  fiber_block(team& t, int index) : team_(&t), index_(index) {}

  template <class A, class Fold>
  A fold(A v, Fold f) const {
    team_->exchange[static_cast<std::size_t>(index_)] = static_cast<double>(v);
    sync();
    A all = static_cast<A>(team_->exchange[0]);
    for (std::size_t t = 1; t < team_->exchange.size(); ++t) all = f(all, static_cast<A>(team_->exchange[t]));
    sync();
    return all;
  }

  team* team_;
  int index_;
};

}  // namespace meshpar_test
