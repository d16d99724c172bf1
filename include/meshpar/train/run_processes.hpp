// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/watch/deadline.hpp>
#include <meshpar/comm/watch/watch.hpp>
#include <meshpar/train/launch_options.hpp>
#include <meshpar/train/run_rank.hpp>

#include <sys/random.h>

#include <algorithm>
#include <cstdio>
#include <optional>

namespace meshpar::inline v0 {

namespace launching {

// Where rank 0's store of the watch is: found by rank 0, told to all over the communicator.
struct meeting_point {
  char address[256]{};
  int port = 0;
  char token[33]{};
};

inline void draw_token(char (&hex)[33]) {
  unsigned char bytes[16];
  if (::getrandom(bytes, sizeof bytes, 0) != sizeof bytes) throw comm_error("rank 0: getrandom gave no token");
  for (int i = 0; i < 16; ++i) std::snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
}

inline bool one_node(const rendezvous& where) { return where.local_size == where.size; }

inline std::string address_of_0(const rendezvous& where) {
  if (one_node(where)) return "127.0.0.1";
  if (!where.master_address.empty()) return where.master_address;
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  return host;
}

// The server on rank 0 and this rank's watch, for the time of a run.
template <class World>
class watched_world {
 public:
  watched_world(World& world, const launch_options& o) : rank_(world.rank()), silence_(std::min(o.time_out, 10.0)) {
    meeting_point at;
    if (world.rank() == 0) {
      draw_token(at.token);
      server_.emplace(store_server_options{.address = one_node(o.where) ? "127.0.0.1" : "",
                                           .size = world.size(),
                                           .token = at.token,
                                           .heartbeat = silence_ / 20,
                                           .time_out = silence_});
      at.port = server_->port();
      std::snprintf(at.address, sizeof at.address, "%s", address_of_0(o.where).c_str());
    }
    world.share(&at, sizeof at);
    watch_.emplace(store_options{at.address, at.port, world.rank(), world.size(), at.token}, world.activity(),
                   watch_options{.heartbeat = silence_ / 20, .time_out = silence_, .at_end = end},
                   server_ ? &*server_ : nullptr);
  }

  void goodbye() { watch_->goodbye(); }
  // What this rank says of its own failure; the watch adds whose it is.
  [[noreturn]] void fail(std::string line) {
    const std::string mine = "rank " + std::to_string(rank_) + " failed: ";
    if (line.starts_with(mine)) line.erase(0, mine.size());
    std::fflush(nullptr);
    watch_->fail(line);
  }
  // Another rank has failed and tells the watch so, or is dead by then.
  [[noreturn]] void follow(const std::string& line) {
    std::fflush(nullptr);
    std::this_thread::sleep_for(std::chrono::duration<double>(silence_));
    watch_->fail(line);
  }

 private:
  // A launcher may end all processes as soon as it sees one die: all have time to say why before that.
  static void end(const end_of_run& e, int me) {
    print_end(e, me);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    kill_stopped_siblings();
  }

  int rank_;
  double silence_;
  std::optional<store_server> server_;
  std::optional<watch> watch_;
};

// MPI's transport may abort a process whose peer has died: first the watch has a second to say who. A program's own
// handler is left alone.
inline void linger_at_abort() {
  struct sigaction now{};
  if (::sigaction(SIGABRT, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) || now.sa_handler != SIG_DFL) return;
  now.sa_handler = [](int) {
    const timespec second{1, 0};
    ::nanosleep(&second, nullptr);
  };
  ::sigaction(SIGABRT, &now, nullptr);
}

// What finalizes MPI at exit waits for all ranks without a time-out, and runs after this.
inline void bound_the_exit(const std::string& who, double seconds) {
  struct bound {
    std::string who;
    double seconds;
  };
  static bound b;
  b = {who, seconds};
  [[maybe_unused]] static const int registered = std::atexit([] {
    [[maybe_unused]] static watch_deadline* const until =
        new watch_deadline(b.seconds, b.who + "waited at exit for " + seconds_words(b.seconds) +
                                          ": another rank was killed, or is stopped, after the end of its work");
  });
}

}  // namespace launching

// Runs fn(rank&) for the one rank that this process is. When a rank throws, dies, stops or leaves early, every process
// ends with a line that names it and a non-zero status, and rank 0 says what each was last doing.
template <class Types, class Gemm, class Comm, class F>
void run_processes(const program& p, F& fn, const launch_options& o) {
  const std::string who = "rank " + std::to_string(o.where.rank) + ": ";
  std::optional<watch_deadline> start;
  const double to_start = std::max(o.time_out, 30.0);
  start.emplace(to_start, who + "the " + std::to_string(o.where.size) + " ranks were not all there within " +
                              seconds_words(to_start) + ": one was killed, is stopped or did not start");
  typename Comm::world world({.time_out = o.time_out});
  launching::bound_the_exit(who, o.time_out);
  if (world.rank() != o.where.rank || world.size() != o.where.size)
    throw comm_error("this process is rank " + std::to_string(o.where.rank) + " of " + std::to_string(o.where.size) +
                     " by " + o.where.source + ", but rank " + std::to_string(world.rank()) + " of " +
                     std::to_string(world.size()) + " by " + Comm::world::name +
                     ": start it with the mpirun of the library that it is linked with");
  launching::watched_world watched(world, o);
  start.reset();
  launching::linger_at_abort();
  try {
    world.run([&](Comm& comm) { run_rank<Types, Gemm>(p, comm, fn); });
  } catch (const run_aborted& e) {
    watched.follow(e.what());
  } catch (const std::exception& e) {
    watched.fail(e.what());
  }
  watched.goodbye();
}

}  // namespace meshpar::inline v0
