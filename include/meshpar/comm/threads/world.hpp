// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/threads/communicator.hpp>

namespace meshpar::inline v0 {

// The ranks of one process. Outlives its communicators.
class threads_world {
 public:
  using options = threads_options;
  explicit threads_world(int size, threads_options chosen = {}) : state_(checked(size), chosen) {
    for (int r = 0; r < size; ++r) ranks_.emplace_back(new threading::rank_engine(state_, r));
  }

  int size() const { return state_.size(); }
  threads rank(int r) { return threads(*ranks_[static_cast<std::size_t>(r)]); }

  // Runs fn(threads&) on one thread per rank and joins them. The first exception ends the waits of all other ranks
  // (they throw run_aborted) and is thrown from here as "rank r failed: <message>"; the world is of no use after it.
  template <class F>
  void run(F fn) {
    {
      std::vector<std::jthread> ranks;
      for (int r = 0; r < size(); ++r) state_.of(r).ended = false;
      try {
        for (int r = 0; r < size(); ++r) ranks.emplace_back([this, r, &fn] { run_rank(r, fn); });
      } catch (const std::exception& e) {
        state_.fail(static_cast<int>(ranks.size()), e.what());
      }
    }
    if (state_.failed()) throw comm_error(state_.failure());
  }

  // The same for a rank whose thread the caller has made.
  template <class F>
  void run_rank(int r, F& fn) {
    try {
      threads comm = rank(r);
      fn(comm);
    } catch (const run_aborted&) {
    } catch (const std::exception& e) {
      state_.fail(r, e.what());
    } catch (...) {
      state_.fail(r, "an exception of unknown type");
    }
    state_.of(r).ended.store(true, std::memory_order_release);
  }

 private:
  static int checked(int size) {
    if (size < 1) throw comm_error("a world of " + std::to_string(size) + " ranks");
    return size;
  }

  threading::run_state state_;
  std::vector<std::unique_ptr<threading::rank_engine>> ranks_;
};

}  // namespace meshpar::inline v0
