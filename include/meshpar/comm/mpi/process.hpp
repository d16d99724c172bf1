// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/mpi/engine.hpp>

#include <cstdio>

namespace meshpar::inline v0::processes {

// The rank of this process: its engine, the thread that makes progress while the rank computes, and the runs.
class process : public rank_engine {
 public:
  process(MPI_Comm wire, int rank, int size, bool crowded, mpi_options options)
      : rank_engine(wire, rank, size, crowded, options), comm_(wire), thread_([this] { make_progress(); }) {}
  ~process() { stop(); }

  void begin_run() {
    const std::lock_guard lock(mutex_);
    if (failed_) throw run_aborted(failure_);
    running_ = true;
    now_.clear();
  }

  // Tells all ranks, which end their waits.
  void fail(std::string message) {
    const std::lock_guard lock(mutex_);
    if (failed_) return;
    if (message.starts_with(me_text())) message.erase(0, me_text().size());
    mark_failed("rank " + std::to_string(rank_) + " failed: " + message);
    mine_ = true;
    process_end::speaks();
    for (int r = 0; r < size_; ++r)
      if (r != rank_) tell(r, packet_kind::failed, failure_);
    flush(1);
  }

  // Returns when all ranks have come here; throws what failed.
  void end_run() {
    const std::lock_guard lock(mutex_);
    if (!failed_) {
      now_.become(doing::ended);
      for (int r = 0; r < size_; ++r)
        if (r != rank_) tell(r, packet_kind::ended, v0::describe(now_.read()), nullptr, run_);
      const auto misses = [&](int r) { return r != rank_ && runs_ended_[static_cast<std::size_t>(r)] <= run_; };
      const auto done = [&] {
        for (int r = 0; r < size_; ++r)
          if (misses(r)) return false;
        return true;
      };
      try {
        wait_until(nullptr, {}, -1, done, misses);
        flush(1);
      } catch (const run_aborted&) {
      } catch (const comm_error& e) {
        mark_failed(e.what());
        mine_ = true;
        process_end::speaks();
      }
      ++run_;
    }
    running_ = false;
    if (failed_ && mine_) throw comm_error(failure_);
    if (failed_) throw run_aborted(failure_);
  }

  bool failed() {
    const std::lock_guard lock(mutex_);
    return failed_;
  }

  // What remains of MPI's when all ranks have come here: of a call that was broken off, messages that nobody receives,
  // and which another communicator in the place of this one would; of a run that failed, writes to memory of ours.
  enum class rest { nothing, messages, writes };
  rest close() {
    stop();
    if (failed_) return rest::writes;
    try {
      meet_all();
    } catch (const comm_error& e) {  // nobody is there to throw it to
      mark_failed(e.what());
      std::fprintf(stderr, "meshpar: %s\n", e.what());
      return rest::writes;
    }
    wire_.close();
    const bool broken = std::ranges::any_of(groups_, [](const auto& g) { return g->broken; });
    return broken ? rest::messages : rest::nothing;
  }

  void stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }

 private:
  // Waits for all ranks to come to the end of the world.
  void meet_all() {
    flush(options_.time_out);
    MPI_Request all;
    int done = 0;
    check(MPI_Ibarrier(comm_, &all), "MPI_Ibarrier");
    patience patience(crowded_);
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(options_.time_out);
    while (!done && std::chrono::steady_clock::now() < end) {
      check(MPI_Test(&all, &done, MPI_STATUS_IGNORE), "MPI_Test");
      progress();
      if (!done) patience.pause();
    }
    if (!done)
      throw comm_error(me_text() + "not all ranks came to the end of the world within " +
                       seconds_words(options_.time_out) + ": end it on all of them");
  }

  void flush(double seconds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (wire_.sending_packets() && std::chrono::steady_clock::now() < end) progress();
  }

  // Naps for a millisecond, and less while something is under way; stands back while the rank's own thread waits.
  void make_progress() {
    using namespace std::chrono;
    constexpr microseconds longest{1000}, shortest{20};
    auto nap = longest;
    while (!stop_) {
      bool moved = false, under_way = false;
      if (std::unique_lock lock(mutex_, std::try_to_lock); lock && running_) {
        const auto begin = steady_clock::now();
        try {
          moved = progress();
        } catch (const comm_error& e) {
          if (fault_.empty()) fault_ = e.what();
        }
        moved |= wire_.moving() && steady_clock::now() - begin > microseconds(10);  // MPI was copying
        under_way = wire_.moving() || reducing();
      }
      nap = moved ? shortest : under_way ? std::min(longest, nap + nap / 8) : longest;
      if (moved) std::this_thread::yield();
      else std::this_thread::sleep_for(nap);
    }
  }

  MPI_Comm comm_;
  bool running_ = false;  // between runs MPI is the user's
  bool mine_ = false;     // the failure is this rank's
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace meshpar::inline v0::processes
