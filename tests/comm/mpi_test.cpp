// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/mpi_ranks.hpp"
// The checks that all communicators share, on the processes of mpirun.
#include "comm/collective_checks.hpp"
// And what is of MPI alone.
#include <meshpar/comm/threads.hpp>

#include "comm/random_calls.hpp"

#include <chrono>
#include <cstdio>

namespace {

// Computes, and never enters MPI, until `done` or for a minute.
template <class F>
bool computes_until(F done) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  volatile double x = 1;
  while (!done() && std::chrono::steady_clock::now() < end)
    for (int i = 0; i < 10000; ++i) x = x * 1.0000001;
  return done();
}

constexpr long mib = 1 << 20;

}  // namespace

TEST_CASE("random collectives give the bits of thread ranks") {
  constexpr int calls = 120;
  const int n = ranks::world().size();
  std::vector<std::uint64_t> processes(static_cast<std::size_t>(n)), threads(processes.size());
  int me = 0;
  ranks::world().run([&](mp::mpi& comm) {
    me = comm.rank();
    std::uint64_t mine = meshpar_tests::random_calls(comm, calls, 7);
    comm.all_gather(comm.group(first(n)), &mine, processes.data(), 1, sizeof mine);
  });
  if (me != 0) return;
  mp::threads_world world{n, {.time_out = 60}};
  world.run([&](mp::threads& comm) {
    threads[static_cast<std::size_t>(comm.rank())] = meshpar_tests::random_calls(comm, calls, 7);
  });
  CHECK(processes == threads);
}

TEST_CASE("64 MiB are received while the rank computes") {
  CHECK(ranks::wrong(2, [&](mp::mpi& comm, const mp::group& g, tally& t) {
          std::vector<char> x(64 * mib, static_cast<char>(1 + comm.rank()));
          const long before = comm.received(g);
          auto call = comm.rank() == 0 ? comm.start_send(g, 1, x.data(), 64 * mib)
                                       : comm.start_receive(g, 0, x.data(), 64 * mib);
          if (comm.rank() == 1) {
            t.expect(computes_until([&] { return comm.received(g) - before == 64 * mib; }));
            t.expect(x.front() == 1 && x.back() == 1);
          } else {
            const char* const end = x.data();
            computes_until([&, i = 0]() mutable { return ++i > 1000 || !end; });
          }
          call.wait();
        }) == 0);
}

TEST_CASE("the data of a 64 MiB all_reduce move while the rank computes") {
  CHECK(ranks::wrong(2, [&](mp::mpi& comm, const mp::group& g, tally& t) {
          const long count = 16 * mib;
          std::vector<float> x(static_cast<std::size_t>(count), static_cast<float>(1 + comm.rank()));
          const long before = comm.received(g);
          auto call = comm.start_all_reduce(g, x.data(), x.data(), count, dtype::f32, dtype::f32);
          t.expect(computes_until([&] { return comm.received(g) - before == 64 * mib; }));
          call.wait();
          t.expect(x.front() == 3 && x.back() == 3);
        }) == 0);
  CHECK((ranks::world().rank() > 1 || ranks::world().staging_bytes() >= 32 * mib));
}

TEST_CASE("many broadcasts of one root run ahead of nobody by more than there is room for") {
  const int n = ranks::world().size();
  CHECK(ranks::wrong(n, [&](mp::mpi& comm, const mp::group& g, tally& t) {
          for (int i = 0; i < 200; ++i) {
            int x = comm.rank() == 0 ? i : -1;
            comm.broadcast(g, &x, sizeof x, 0);
            t.expect(x == i);
          }
          comm.barrier(g);
        }) == 0);
  CHECK(ranks::world().packet_bytes() < 4 * mib);
}

TEST_CASE("a window of sixteen calls slides") {
  const int n = ranks::world().size();
  CHECK(ranks::wrong(n, [&](mp::mpi& comm, const mp::group& g, tally& t) {
          std::vector<mp::mpi::in_flight> window(16);
          std::vector<double> x(16);
          for (std::size_t i = 0; i < 200; ++i) {
            window[i % 16].wait();
            if (i >= 16) t.expect(x[i % 16] == static_cast<double>(n) * static_cast<double>(i - 16));
            x[i % 16] = static_cast<double>(i);
            window[i % 16] = comm.start_all_reduce(g, &x[i % 16], &x[i % 16], 1, dtype::f64, dtype::f64);
          }
          for (auto& call : window) call.wait();
        }) == 0);
}

TEST_CASE("a second world on part of the processes, made from the user's communicator") {
  const int me = ranks::world().rank(), n = ranks::world().size();
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &half);
  {
    mp::mpi_world world(half, {.time_out = 60});
    CHECK(world.size() == (n + 1 - me % 2) / 2);
    world.run([&](mp::mpi& comm) {
      double x = me;
      comm.all_reduce(comm.group(first(comm.size())), &x, &x, 1, dtype::f64, dtype::f64);
      double expected = 0;
      for (int r = me % 2; r < n; r += 2) expected += r;
      if (x != expected) throw std::runtime_error("a wrong sum");
    });
  }
  MPI_Comm_free(&half);
}
