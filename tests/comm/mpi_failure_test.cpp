// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/mpi.hpp>

#include "comm/rank_tests.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace mp = meshpar;
using mp::dtype;

namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// What the body of every rank throws as comm_error, "" where it does not: all of it, on every rank. The world is used
// on after the failure of a group, and is closed.
template <class F>
std::vector<std::string> messages(double time_out, F body) {
  mp::mpi_world world{{.time_out = time_out}};
  const int n = world.size();
  std::vector<char> all(static_cast<std::size_t>(n) * 1000);
  world.run([&](mp::mpi& comm) {
    std::string said;
    try {
      body(comm, comm.group(first(n)));
    } catch (const mp::comm_error& e) {
      said = e.what();
    }
    said.resize(1000);
    std::copy(said.begin(), said.end(), all.begin() + comm.rank() * 1000);
  });
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.data(), 1000, MPI_CHAR, MPI_COMM_WORLD);
  std::vector<std::string> said;
  for (int r = 0; r < n; ++r) said.emplace_back(all.data() + r * 1000);
  return said;
}

void rest(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

}  // namespace

TEST_CASE("different operations are named on both sides, at once") {
  for (const long scale : {1L, 10000L}) {  // in packets, and not
    const auto said = messages(100, [=](mp::mpi& comm, const mp::group& g) {
      std::vector<float> x(static_cast<std::size_t>(24 * scale)), y(static_cast<std::size_t>(24 * scale * g.size()));
      if (comm.rank() == 0) {
        comm.label("gradients");
        comm.all_reduce(g, x.data(), x.data(), 24 * scale, dtype::f32, dtype::f32);
      } else {
        comm.label("embedding");
        comm.all_gather(g, x.data(), y.data(), 2, 48 * scale);
      }
    });
    const std::string a = "all_reduce 'gradients' [1 x " + std::to_string(24 * scale) + " f32, sum in f32]",
                      b = "all_gather 'embedding' [2 x " + std::to_string(48 * scale) + " bytes]";
    for (const std::string& one : said) {
      CHECK(contains(one, a));
      CHECK(contains(one, b));
    }
    if (said.size() == 2) CHECK(said[0] == "rank 0: " + a + " does not match rank 1's " + b);
    CHECK(contains(said[1], "rank 1: " + b));
  }
}

TEST_CASE("counts, element types and reductions that differ are named on every rank of the group") {
  const auto with_odd_rank = [](long count, dtype element, mp::reduction how) {
    return messages(100, [=](mp::mpi& comm, const mp::group& g) {
      std::vector<double> x(10000);
      const bool odd = comm.rank() == 1;
      comm.all_reduce(g, x.data(), x.data(), odd ? count : 10000, odd ? element : dtype::f32,
                      mp::accumulator_of(odd ? element : dtype::f32), odd ? how : mp::reduction::sum);
    });
  };
  const std::string usual = "all_reduce [1 x 10000 f32, sum in f32]";
  for (const std::string& said : with_odd_rank(9999, dtype::f32, mp::reduction::sum)) {
    CHECK(contains(said, usual));
    CHECK(contains(said, "all_reduce [1 x 9999 f32, sum in f32]"));
  }
  for (const std::string& said : with_odd_rank(10000, dtype::f64, mp::reduction::sum))
    CHECK(contains(said, "all_reduce [1 x 10000 f64, sum in f64]"));
  for (const std::string& said : with_odd_rank(10000, dtype::f32, mp::reduction::max))
    CHECK(contains(said, "all_reduce [1 x 10000 f32, max in f32]"));
}

TEST_CASE("roots of a broadcast must agree, or the next call says so") {
  for (const std::string& said : messages(100, [](mp::mpi& comm, const mp::group& g) {
         int x = 0;
         comm.broadcast(g, &x, 4, comm.rank() == 1);
         comm.barrier(g);
       })) {
    CHECK(contains(said, "broadcast [1 x 4 bytes, root 0]"));
    CHECK(contains(said, "broadcast [1 x 4 bytes, root 1]"));
  }
}

TEST_CASE("a count that one pair disagrees on is refused") {
  for (const std::string& said : messages(100, [](mp::mpi& comm, const mp::group& g) {
         const long n = g.size();
         std::vector<char> in(static_cast<std::size_t>(8000 * n)), out(in.size());
         std::vector<long> bytes(static_cast<std::size_t>(n), 8000), offsets;
         for (long q = 0; q < n; ++q) offsets.push_back(8000 * q);
         std::vector<long> expected = bytes;
         if (comm.rank() == 1) expected[0] = 7999;
         comm.label("dispatch");
         comm.all_to_all_v(g, in.data(), bytes, offsets, out.data(), expected, offsets);
         comm.barrier(g);
       }))
    CHECK(contains(said, "all_to_all_v 'dispatch': rank 0 sends 8000 bytes to rank 1, which expects 7999"));
}

TEST_CASE("a receive of another size than its send is refused on both sides") {
  const auto said = messages(100, [](mp::mpi& comm, const mp::group& g) {
    std::vector<char> x(9000);
    comm.label("activation");
    if (comm.rank() == 0) comm.send(g, 1, x.data(), 9000, 7);
    if (comm.rank() == 1) comm.receive(g, 0, x.data(), 8000, 7);
  });
  for (const std::size_t r : {0u, 1u}) {
    CHECK(contains(said[r], "send 'activation' [tag 7, 9000 bytes]"));
    CHECK(contains(said[r], "receive 'activation' [tag 7, 8000 bytes]"));
  }
}

TEST_CASE("a time-out names who has not come and what they are in") {
  const auto said = messages(0.5, [](mp::mpi& comm, const mp::group& g) {
    float x = 0;
    comm.label("loss");
    comm.barrier(g);
    if (comm.rank() == 1) return rest(4);
    comm.label("gradients");
    comm.all_reduce(g, &x, &x, 1, dtype::f32, dtype::f32);
  });
  CHECK(contains(said[0], "rank 0: all_reduce 'gradients' [1 x 1 f32, sum in f32]"));
  CHECK(contains(said[0], "waited "));
  CHECK(contains(said[0], " s for rank 1 (computing after barrier 'loss')"));
}

TEST_CASE("a receive that nobody answers, and an exchange of long messages, time out") {
  auto said = messages(0.5, [](mp::mpi& comm, const mp::group& g) {
    float x = 0;
    comm.label("activation");
    if (comm.rank() == 0) comm.receive(g, 1, &x, 4);
    if (comm.rank() == 1) rest(4);
  });
  CHECK(contains(said[0], "rank 0: receive 'activation' [tag 0, 4 bytes] waited "));
  CHECK(contains(said[0], " s for rank 1 (computing after no call yet)"));
  said = messages(0.5, [](mp::mpi& comm, const mp::group& g) {
    std::vector<char> x(10000);
    if (comm.rank() < 2) comm.send(g, 1 - comm.rank(), x.data(), 10000);
  });
  CHECK((contains(said[0], "for rank 1 (waiting in send)") || contains(said[1], "for rank 0 (waiting in send)")));
}

TEST_CASE("a peer that has ended is not waited for") {
  const auto said = messages(100, [](mp::mpi& comm, const mp::group& g) {
    float x = 0;
    if (comm.rank() == 0) comm.all_reduce(g, &x, &x, 1, dtype::f32, dtype::f32);
  });
  CHECK(contains(said[0],
                 "rank 0: all_reduce [1 x 1 f32, sum in f32] waits in vain for rank 1 (ended after no call yet)"));
}

TEST_CASE("bad arguments are refused where they are given") {
  messages(100, [](mp::mpi& comm, const mp::group&) {
    const auto refusal = [&](auto body) {
      try {
        body(comm, comm.group(std::vector{comm.rank()}));
      } catch (const mp::comm_error& e) {
        return std::string(e.what());
      }
      return std::string();
    };
    std::vector<float> x(64);
    using comm_t = mp::mpi&;
    using group_t = const mp::group&;
    CHECK(contains(refusal([](comm_t c, group_t) { c.group(std::vector{c.rank() ? 0 : 1}); }), "is not in the group"));
    CHECK(contains(refusal([](comm_t c, group_t) { c.group(std::vector{1, 0}); }), "in increasing order"));
    CHECK(contains(refusal([](comm_t c, group_t) { c.group(std::vector{0, c.size()}); }), "of the world"));
    CHECK(contains(refusal([&](comm_t c, group_t g) { c.broadcast(g, x.data(), 4, 1); }), "member 1 of a group of 1"));
    CHECK(contains(refusal([&](comm_t c, group_t g) { c.all_to_all(g, x.data(), x.data(), 4); }), "overlap"));
    CHECK(contains(refusal([&](comm_t c, group_t g) { c.all_gather(g, x.data(), x.data(), 1, -4); }), "negative size"));
    CHECK(contains(refusal([&](comm_t c, group_t g) {
                     std::vector<mp::mpi::in_flight> calls;  // cancelled by the refusal that unwinds past them
                     for (int i = 0; i < 17; ++i) calls.push_back(c.start_receive(g, 0, x.data(), 4, i));
                     c.broadcast(g, x.data(), 4, -1);
                   }),
                   "names member -1"));
  });
}
