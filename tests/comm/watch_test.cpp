// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/comm/store/store.hpp>
#include <meshpar/comm/watch/watch.hpp>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace mp = meshpar;

namespace {

constexpr int ranks = 4;
constexpr double guard = 60;  // seconds; no passing test waits for so long

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

void nap(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }
void forever() {
  for (;;) nap(1);
}

// What a rank of the test has at hand. Rank 0 tells the port through a pipe that all inherit.
struct seat {
  int rank;
  mp::store_options where;
  mp::activity_board board;
  std::unique_ptr<mp::store_server> server;
  std::unique_ptr<mp::watch> watch;

  void start_watch(double time_out, double patience) {
    watch = std::make_unique<mp::watch>(
        where, board, mp::watch_options{.heartbeat = 0.05, .time_out = time_out, .patience = patience}, server.get());
  }
  void meet() { mp::store(where).barrier("all are here"); }
};

struct ended {
  int status;
  std::string said;
};
struct process {
  pid_t pid;
  int out;
};

class run {
 public:
  using body = std::function<void(seat&)>;

  // Each rank is a process with its watch open, and past a barrier; time_out: of silence.
  explicit run(body work, double time_out = guard, double patience = guard) {
    int port[2];
    REQUIRE(pipe(port) == 0);
    for (int rank = 0; rank < ranks; ++rank) {
      int ends[2];
      REQUIRE(pipe(ends) == 0);
      const pid_t pid = fork();
      if (pid == 0) {
        close(ends[0]);
        dup2(ends[1], 2);
        signal(SIGTERM, SIG_DFL);  // doctest has its own
        alarm(static_cast<unsigned>(2 * guard));
        be(rank, port, work, time_out, patience);
      }
      close(ends[1]);
      all.push_back({pid, ends[0]});
    }
    close(port[0]);
    close(port[1]);
  }
  // Nobody stays behind, stopped or not.
  ~run() {
    for (const process& p : all)
      if (p.pid > 0) {
        kill(p.pid, SIGKILL);
        waitpid(p.pid, nullptr, 0);
      }
  }

  void send(int rank, int signal) { kill(all[static_cast<std::size_t>(rank)].pid, signal); }
  // Waits until a rank says this.
  void wait_for(int rank, const std::string& words) {
    std::string& s = heard[static_cast<std::size_t>(rank)];
    for (char c; !contains(s, words);) {
      REQUIRE(read(all[static_cast<std::size_t>(rank)].out, &c, 1) == 1);
      s += c;
    }
  }
  ended end_of(int rank) {
    process& p = all[static_cast<std::size_t>(rank)];
    ended e{0, heard[static_cast<std::size_t>(rank)]};
    char buffer[512];
    for (ssize_t got; (got = read(p.out, buffer, sizeof buffer)) > 0;)
      e.said.append(buffer, static_cast<std::size_t>(got));
    close(p.out);
    waitpid(p.pid, &e.status, 0);
    p.pid = 0;
    return e;
  }

 private:
  [[noreturn]] static void be(int rank, const int* port, const body& work, double time_out, double patience) {
    seat s{rank, {.rank = rank, .size = ranks, .token = "t", .time_out = guard}, {}, {}, {}};
    try {
      if (rank == 0) {
        s.server = std::make_unique<mp::store_server>(
            mp::store_server_options{.size = ranks, .token = "t", .heartbeat = 0.05, .time_out = time_out});
        s.where.port = s.server->port();
        for (int i = 1; i < ranks; ++i) [[maybe_unused]]
          const ssize_t n = write(port[1], &s.where.port, sizeof(int));
      } else if (read(port[0], &s.where.port, sizeof(int)) != sizeof(int)) {
        _exit(9);
      }
      s.board.step(10 + rank);
      s.board.start(mp::call_kind::all_reduce, "gradients"), s.board.become(mp::doing::waiting);
      s.start_watch(time_out, patience);
      s.meet();
      nap(0.15);  // a beat or two with what the board says
      work(s);
    } catch (const std::exception& e) {
      dprintf(2, "thrown: %s\n", e.what());
    }
    s.watch.reset();
    s.server.reset();
    _exit(0);
  }

  std::vector<process> all;
  std::vector<std::string> heard = std::vector<std::string>(ranks);
};

void say(const char* words) { dprintf(2, "%s\n", words); }
void work_on(seat&) {
  say("at work");
  forever();
}
void all_at_work(run& r) {
  for (int rank = 0; rank < ranks; ++rank) r.wait_for(rank, "at work");
}

// All but one end with status 1 and, after "at work", one line that says this; rank 0 also says what each was last
// doing.
void check_others(run& r, int lost, const std::string& words) {
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank == lost) continue;
    const ended e = r.end_of(rank);
    CHECK_MESSAGE((WIFEXITED(e.status) && WEXITSTATUS(e.status) == 1), "rank ", rank, ", status ", e.status, ": ",
                  e.said);
    const std::string line = "meshpar: rank " + std::to_string(rank) + ": " + words;
    CHECK_MESSAGE(contains(e.said, line), e.said);
    CHECK_MESSAGE(std::count(e.said.begin(), e.said.end(), '\n') == (rank == 0 ? 3 + ranks : 2), e.said);
    if (rank == 0)
      CHECK_MESSAGE(contains(e.said, "meshpar:   rank 3: step 13, waiting in all_reduce 'gradients'\n"), e.said);
  }
}

}  // namespace

TEST_CASE("a run in which all say goodbye ends well, in whatever order they do") {
  for (const int last : {0, 3}) {
    run r([last](seat& s) {
      if (s.rank == last) nap(0.2);
      s.watch->goodbye();
    });
    for (int rank = 0; rank < ranks; ++rank) {
      const ended e = r.end_of(rank);
      CHECK(e.status == 0);
      CHECK(e.said == "");
    }
  }
}

TEST_CASE("a rank that is killed is named by all others") {
  run r(work_on);
  all_at_work(r);
  r.send(2, SIGKILL);
  check_others(r, 2, "rank 2 was killed or exited (its last: step 12, waiting in all_reduce 'gradients'); ending\n");
}

TEST_CASE("a rank that ends early without a goodbye is named, whatever its status") {
  for (const int status : {0, 1}) {
    run r([status](seat& s) {
      say("at work");
      s.rank == 1 ? _exit(status) : forever();
    });
    check_others(r, 1, "rank 1 was killed or exited (its last: step 11, waiting in all_reduce 'gradients'); ending\n");
  }
}

TEST_CASE("exit(), and the end of the watch's scope, are no way to leave a run") {
  run exits([](seat& s) {
    say("at work");
    if (s.rank == 1) std::exit(0);
    forever();
  });
  check_others(exits, -1, "rank 1 failed: called exit() without a goodbye; ending\n");
  run leaves([](seat& s) {
    say("at work");
    if (s.rank != 1) forever();
  });
  check_others(leaves, -1, "rank 1 failed: left its work without a goodbye; ending\n");
}

TEST_CASE("an exception that unwinds past the watch keeps its message") {
  run r([](seat& s) {
    say("at work");
    if (s.rank != 1) forever();
    try {
      const std::unique_ptr<mp::watch> scope = std::move(s.watch);
      throw std::runtime_error("no more data");
    } catch (const std::exception& e) {
      say(e.what());
    }
    _exit(3);
  });
  r.wait_for(1, "no more data");
  check_others(r, 1, "rank 1 was killed or exited (its last: step 11, waiting in all_reduce 'gradients'); ending\n");
}

TEST_CASE("a rank that ends early is named to one that has said its goodbye") {
  run r([](seat& s) {
    say("at work");
    if (s.rank == 1) {
      nap(0.2);
      _exit(0);
    }
    s.watch->goodbye();
  });
  check_others(r, 1, "rank 1 was killed or exited (its last: ");
}

TEST_CASE("a rank that is stopped is named by all others") {
  run r(work_on, 1);
  all_at_work(r);
  r.send(2, SIGSTOP);
  check_others(r, 2,
               "rank 2 was silent for 1.0 s: stopped, or the host is gone (its last: step 12, waiting in all_reduce "
               "'gradients'); ending\n");
}

TEST_CASE("rank 0 killed or stopped is named by all others") {
  run killed(work_on);
  all_at_work(killed);
  killed.send(0, SIGKILL);
  check_others(killed, 0,
               "rank 0 was killed or exited (its last: step 10, waiting in all_reduce 'gradients'); ending\n");

  run stopped(work_on, 1);
  all_at_work(stopped);
  stopped.send(0, SIGSTOP);
  check_others(stopped, 0,
               "rank 0 was silent for 1.0 s: stopped, or the host is gone (its last: step 10, waiting in all_reduce "
               "'gradients'); ending\n");
  stopped.send(0, SIGCONT);
  const ended e = stopped.end_of(0);
  CHECK_MESSAGE(contains(e.said, "meshpar: rank 0: rank 0 was stopped for "), e.said);
  CHECK_MESSAGE(contains(e.said, " s, and the others gave it up; ending\n"), e.said);
}

TEST_CASE("a rank that fails tells all others its line, and its own process") {
  run r([](seat& s) {
    say("at work");
    if (s.rank == 3) s.watch->fail("all_reduce 'gradients' waited 300.0 s for rank 1");
    forever();
  });
  check_others(r, -1, "rank 3 failed: all_reduce 'gradients' waited 300.0 s for rank 1; ending\n");
}

TEST_CASE("a failure that a death has caused is not named in its place") {
  run r([](seat& s) {
    say("at work");
    if (s.rank == 3) s.watch->fail("lost its connection to rank 2");
    if (s.rank == 2) {
      nap(0.1);
      kill(getpid(), SIGKILL);
    }
    forever();
  });
  check_others(r, 2, "rank 2 was killed or exited (its last: ");
}

TEST_CASE("a launcher's SIGTERM does not come before the name of the rank that died") {
  run r(work_on);
  all_at_work(r);
  for (const int rank : {0, 1, 3}) r.send(rank, SIGTERM);
  nap(0.05);
  r.send(2, SIGKILL);
  check_others(r, 2, "rank 2 was killed or exited (its last: step 12, waiting in all_reduce 'gradients'); ending\n");
}

TEST_CASE("a SIGTERM to one rank or to all is named") {
  run one(work_on);
  all_at_work(one);
  one.send(2, SIGTERM);
  const std::string words =
      " ended from outside (SIGTERM); rank 2's last: step 12, waiting in all_reduce 'gradients'; ending\n";
  check_others(one, -1, "rank 2 was" + words);

  run all(work_on);
  all_at_work(all);
  for (int rank = ranks; rank-- > 0;) all.send(rank, SIGTERM), nap(rank == 3 ? 0.05 : 0);
  check_others(all, -1, "ranks 0-3 were ended from outside (SIGTERM); rank 3's last: step 13, ");
}

namespace {

// A process that is rank 1 of 2 and works for ever, beside a server here that rank 0 never reaches.
process lonely(int (&port)[2], void (*at_end)(const mp::end_of_run&, int)) {
  int ends[2];
  REQUIRE(pipe(port) == 0);
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], 2);
    mp::store_options where{.rank = 1, .size = 2, .time_out = guard};
    if (read(port[0], &where.port, sizeof(int)) != sizeof(int)) _exit(9);
    const mp::activity_board board;
    mp::watch w(where, board, {.at_end = at_end});
    forever();
  }
  close(ends[1]);
  return {child, ends[0]};
}

int end_of_lonely(const process& child, const int* port) {
  mp::store_server server({.size = 2, .join_time_out = 0.2, .heartbeat = 0.05});
  const int number = server.port();
  CHECK(write(port[1], &number, sizeof number) == sizeof number);
  int status = 0;
  waitpid(child.pid, &status, 0);
  return status;
}

}  // namespace

TEST_CASE("a SIGTERM whose cause is not heard in time is named as such") {
  run r(work_on, guard, 0);
  all_at_work(r);
  r.send(2, SIGTERM);
  const std::string told = "this process was told to end (SIGTERM), perhaps by its launcher, in: step 12, ";
  CHECK(contains(r.end_of(2).said, "meshpar: rank 2: " + told));
  check_others(r, 2, "rank 2 was ended from outside (SIGTERM); rank 2's last: ");
}

TEST_CASE("a rank whose watch is never opened is named") {
  int port[2];
  const process child = lonely(port, mp::print_end);
  CHECK(WEXITSTATUS(end_of_lonely(child, port)) == 1);
  char text[200]{};
  CHECK(read(child.out, text, sizeof text - 1) > 0);
  CHECK(std::string(text) == "meshpar: rank 1: rank 0 was absent: did not come within 0.2 s; ending\n");
}

TEST_CASE("a handler that hangs does not keep the process") {
  int port[2];
  const process child = lonely(port, [](const mp::end_of_run&, int) { forever(); });
  const int status = end_of_lonely(child, port);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGALRM);
}
