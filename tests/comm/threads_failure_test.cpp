// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/comm/threads.hpp>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <string>
#include <vector>

namespace mp = meshpar;
using mp::dtype;

namespace {

std::vector<int> first(int n) {
  std::vector<int> ranks;
  for (int r = 0; r < n; ++r) ranks.push_back(r);
  return ranks;
}

// What each rank's body throws as comm_error, "" where it does not.
template <class F>
std::vector<std::string> messages(int n, double time_out, F body) {
  mp::threads_world world{n, {.time_out = time_out}};
  std::vector<std::string> said(static_cast<std::size_t>(n));
  world.run([&](mp::threads& comm) {
    const mp::group g = comm.group(first(n));
    try {
      body(comm, g);
    } catch (const mp::comm_error& e) {
      said[static_cast<std::size_t>(comm.rank())] = e.what();
    }
  });
  return said;
}

template <class F>
std::string failure(mp::threads_world& world, F body) {
  try {
    world.run(body);
  } catch (const mp::comm_error& e) {
    return e.what();
  }
  return "no failure";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Runs body in a child process; its stderr, and whether SIGABRT ended it.
template <class F>
std::pair<std::string, bool> in_child(F body) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGABRT, SIG_DFL);
    dup2(ends[1], 2);
    body();
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[512];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return {text, WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT};
}

}  // namespace

TEST_CASE("different operations are named on both sides, at once") {
  for (int i = 0; i < 20; ++i) {
    const auto said = messages(2, 100, [](mp::threads& comm, const mp::group& g) {
      std::vector<float> x(24), y(48);
      if (comm.rank() == 0) {
        comm.label("gradients");
        comm.all_reduce(g, x.data(), x.data(), 24, dtype::f32, dtype::f32);
      } else {
        comm.label("embedding");
        comm.all_gather(g, x.data(), y.data(), 2, 48);
      }
    });
    const std::string a = "all_reduce 'gradients' [1 x 24 f32, sum in f32]",
                      b = "all_gather 'embedding' [2 x 48 bytes]";
    CHECK(said[0] == "rank 0: " + a + " does not match rank 1's " + b);
    CHECK(contains(said[1], "rank 1: " + b));
    CHECK(contains(said[1], a));
  }
}

TEST_CASE("counts, element types and reductions that differ are named on every rank of the group") {
  const auto with_odd_rank = [](long count, dtype element, mp::reduction how) {
    return messages(4, 100, [=](mp::threads& comm, const mp::group& g) {
      std::vector<double> x(10000);
      const bool odd = comm.rank() == 2;
      comm.all_reduce(g, x.data(), x.data(), odd ? count : 10000, odd ? element : dtype::f32,
                      mp::accumulator_of(odd ? element : dtype::f32), odd ? how : mp::reduction::sum);
    });
  };
  const std::string usual = "all_reduce [1 x 10000 f32, sum in f32]";
  for (const std::string& said : with_odd_rank(9999, dtype::f32, mp::reduction::sum)) {
    CHECK(contains(said, usual));
    CHECK(contains(said, "all_reduce [1 x 9999 f32, sum in f32]"));
  }
  for (const std::string& said : with_odd_rank(10000, dtype::f64, mp::reduction::sum)) {
    CHECK(contains(said, usual));
    CHECK(contains(said, "all_reduce [1 x 10000 f64, sum in f64]"));
  }
  for (const std::string& said : with_odd_rank(10000, dtype::f32, mp::reduction::max)) {
    CHECK(contains(said, usual));
    CHECK(contains(said, "all_reduce [1 x 10000 f32, max in f32]"));
  }
}

TEST_CASE("roots of a broadcast must agree") {
  for (const std::string& said : messages(2, 100, [](mp::threads& comm, const mp::group& g) {
         int x = 0;
         comm.broadcast(g, &x, 4, comm.rank());
       })) {
    CHECK(contains(said, "broadcast [1 x 4 bytes, root 0]"));
    CHECK(contains(said, "broadcast [1 x 4 bytes, root 1]"));
  }
}

TEST_CASE("a count that one pair disagrees on is refused by all members") {
  for (const std::string& said : messages(3, 100, [](mp::threads& comm, const mp::group& g) {
         std::vector<char> in(30000), out(30000);
         const std::vector<long> bytes(3, 8000), offsets{0, 8000, 16000};
         std::vector<long> expected = bytes;
         if (comm.rank() == 2) expected[1] = 7999;
         comm.label("dispatch");
         comm.all_to_all_v(g, in.data(), bytes, offsets, out.data(), expected, offsets);
       }))
    CHECK(contains(said, "all_to_all_v 'dispatch': rank 1 sends 8000 bytes to rank 2, which expects 7999"));
}

TEST_CASE("a receive of another size than its send is refused on both sides") {
  const auto said = messages(2, 100, [](mp::threads& comm, const mp::group& g) {
    std::vector<char> x(9000);
    comm.label("activation");
    if (comm.rank() == 0) comm.send(g, 1, x.data(), 9000, 7);
    else comm.receive(g, 0, x.data(), 8000, 7);
  });
  for (const std::string& one : said) {
    CHECK(contains(one, "send 'activation' [tag 7, 9000 bytes]"));
    CHECK(contains(one, "receive 'activation' [tag 7, 8000 bytes]"));
  }
}

TEST_CASE("a time-out names who has not come and what they are in") {
  std::atomic<int> out{0};  // of ranks 0 and 1: the others stay until both have said it
  const auto said = messages(4, 1, [&](mp::threads& comm, const mp::group& g) {
    const mp::group rest = comm.group(first(4)), pair = comm.rank() < 2 ? rest : comm.group(std::vector{2, 3});
    float x = 0;
    if (comm.rank() < 2) {
      comm.label("gradients");
      try {
        comm.all_reduce(g, &x, &x, 1, dtype::f32, dtype::f32);
      } catch (...) {
        ++out;
        throw;
      }
    } else if (comm.rank() == 2) {
      comm.label("activation");
      try {
        comm.receive(pair, 1, &x, 4);
      } catch (const mp::comm_error&) {  // its own time-out
      }
      while (out < 2) std::this_thread::yield();
    } else {
      comm.label("loss");
      comm.barrier(comm.group(std::vector{3}));
      while (out < 2) std::this_thread::yield();
    }
  });
  for (const std::size_t r : {0u, 1u}) {
    CHECK(contains(said[r], "all_reduce 'gradients' [1 x 1 f32, sum in f32] waited "));
    CHECK(contains(said[r], " s for rank 2 ("));
    CHECK(contains(said[r], "receive 'activation'), rank 3 (computing after barrier 'loss')"));
  }
}

TEST_CASE("a receive that nobody answers times out and says for whom") {
  std::atomic<bool> out{false};
  const auto said = messages(2, 0.2, [&](mp::threads& comm, const mp::group& g) {
    float x = 0;
    if (comm.rank() == 0) {
      comm.label("activation");
      try {
        comm.receive(g, 1, &x, 4);
      } catch (...) {
        out = true;
        throw;
      }
    } else {
      comm.label("loss");
      comm.barrier(comm.group(std::vector{1}));
      while (!out) std::this_thread::yield();
    }
  });
  CHECK(contains(said[0], "rank 0: receive 'activation' [tag 0, 4 bytes] waited "));
  CHECK(contains(said[0], " s for rank 1 ("));
}

TEST_CASE("a blocking exchange of long messages times out and says so") {
  const auto said = messages(2, 0.2, [](mp::threads& comm, const mp::group& g) {
    std::vector<char> x(10000);
    comm.send(g, 1 - comm.rank(), x.data(), 10000);
  });
  CHECK((contains(said[0], "for rank 1 (waiting in send)") || contains(said[1], "for rank 0 (waiting in send)")));
}

TEST_CASE("a peer that has ended is not waited for") {
  const auto said = messages(2, 100, [](mp::threads& comm, const mp::group& g) {
    float x = 0;
    if (comm.rank() == 0) comm.all_reduce(g, &x, &x, 1, dtype::f32, dtype::f32);
  });
  CHECK(said[0] == "rank 0: all_reduce [1 x 1 f32, sum in f32] waits in vain for rank 1 (ended after no call yet)");
}

TEST_CASE("a rank that throws ends the run with its message, and all waits") {
  mp::threads_world world{4, {.time_out = 100}};
  std::atomic<int> aborted{0};
  const auto said = failure(world, [&](mp::threads& comm) {
    const mp::group g = comm.group(first(4));
    std::vector<float> x(100000);
    comm.all_reduce(g, x.data(), x.data(), 100000, dtype::f32, dtype::f32);
    if (comm.rank() == 2) throw std::runtime_error("no more data");
    try {
      comm.all_reduce(g, x.data(), x.data(), 100000, dtype::f32, dtype::f32);
    } catch (const mp::run_aborted& e) {
      aborted += std::string(e.what()) == "rank 2 failed: no more data";
      throw;
    }
  });
  CHECK(said == "rank 2 failed: no more data");
  CHECK(aborted == 3);
  CHECK(failure(world, [](mp::threads&) {}) == said);
}

// Receivers have sent nothing and wait for nobody, and yet the root may not free what they read.
TEST_CASE("a root that throws frees its memory only when nobody reads it") {
  for (int i = 0; i < 20; ++i) {
    mp::threads_world world{4, {.time_out = 100, .cores = i % 2 ? 1 : 4}};
    const auto said = failure(world, [&](mp::threads& comm) {
      const mp::group g = comm.group(first(4));
      std::vector<float> x(500000, 1.f), y(500000);
      const bool root = comm.rank() == 1;
      const std::vector<long> none(4, 0), all(4, 500000), from_root{0, 500000, 0, 0};
      auto call = i % 4 < 2 ? comm.start_broadcast(g, x.data(), 2000000, 1)
                            : comm.start_all_to_all_v(g, x.data(), root ? all : none, none, y.data(), from_root, none);
      if (root) throw std::runtime_error("bad label");
      call.wait();
    });
    CHECK(said == "rank 1 failed: bad label");
  }
}

TEST_CASE("unwinding past a started call cancels it, and its buffers may be freed") {
  for (int i = 0; i < 20; ++i) {
    mp::threads_world world{3, {.time_out = 100}};
    const auto said = failure(world, [&](mp::threads& comm) {
      const mp::group g = comm.group(first(3));
      std::vector<float> x(200000, 1.f);
      auto call = comm.start_all_reduce(g, x.data(), x.data(), 200000, dtype::f32, dtype::f32);
      if (comm.rank() == 1) throw std::runtime_error("bad label");
      call.wait();
    });
    CHECK(said == "rank 1 failed: bad label");
  }
}

TEST_CASE("the error of a communicator is not numbered twice") {
  mp::threads_world world{1};
  CHECK(failure(world, [](mp::threads& comm) {
          float x = 0;
          comm.all_reduce(comm.group(first(1)), &x, &x, 1, dtype::bf16, dtype::bf16);
        }) == "rank 0 failed: all_reduce [1 x 1 bf16, sum in bf16] has no such accumulation");
}

TEST_CASE("a started call that is dropped ends the program and is named") {
  const auto [text, aborted] = in_child([] {
    mp::threads_world world{1};
    world.run([](mp::threads& comm) {
      float x = 0;
      comm.label("gradients");
      auto call = comm.start_all_reduce(comm.group(first(1)), &x, &x, 1, dtype::f32, dtype::f32);
    });
  });
  CHECK(aborted);
  CHECK(contains(
      text,
      "meshpar: rank 0: all_reduce 'gradients' [1 x 1 f32, sum in f32] was started and dropped without wait()\n"));
}

TEST_CASE("bad arguments are refused where they are given") {
  mp::threads_world world{2};
  const auto refusal = [&](auto body) {
    mp::threads comm = world.rank(0);
    try {
      body(comm, comm.group(std::vector{0}));
    } catch (const mp::comm_error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  std::vector<float> x(64);
  using comm_t = mp::threads&;
  using group_t = const mp::group&;
  CHECK(contains(refusal([](comm_t c, group_t) { c.group(std::vector{1}); }), "rank 0: is not in the group"));
  CHECK(contains(refusal([](comm_t c, group_t) { c.group(std::vector{1, 0}); }), "in increasing order"));
  CHECK(contains(refusal([](comm_t c, group_t) { c.group(std::vector{0, 2}); }), "of the world"));
  CHECK(contains(refusal([&](comm_t c, group_t g) { c.broadcast(g, x.data(), 4, 1); }), "member 1 of a group of 1"));
  CHECK(contains(refusal([&](comm_t c, group_t g) { c.all_to_all(g, x.data(), x.data(), 4); }), "overlap"));
  CHECK(contains(
      refusal([&](comm_t c, group_t g) { c.all_reduce(g, x.data(), x.data() + 1, 4, dtype::f32, dtype::f32); }),
      "overlap"));
  CHECK(contains(refusal([&](comm_t c, group_t g) { c.all_gather(g, x.data(), x.data(), 1, -4); }), "negative size"));
  CHECK(contains(refusal([&](comm_t c, group_t) {
                   std::vector<mp::threads::in_flight> calls;  // cancelled by the refusal that unwinds past them
                   const mp::group both = c.group(std::vector{0, 1});
                   for (int i = 0; i < 17; ++i) calls.push_back(c.start_barrier(both));
                 }),
                 "is number 17 in flight"));
}
