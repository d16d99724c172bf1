// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The communicator over MPI beside the calls of the same MPI that move the same bytes, in the same processes and in
// turns; as ratios with their target. Started alone it starts mpirun, with 2 and with 4 ranks.
// Usage: mpi_openmpi|mpi_mpich [--quick] [--rounds N] [--seconds PER_BATCH] [--only OPERATION]
#include <meshpar/mpi.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace mp = meshpar;

namespace {

constexpr long kib = 1024, mib = 1024 * kib;
constexpr double target = 0.95;  // of the speed of MPI

struct options {
  int rounds = 9;
  double seconds = 0.05;
};

struct buffers {
  std::vector<char> in, out;
};

struct operation {
  const char* name;
  void (*ours)(mp::mpi&, const mp::group&, buffers&, long bytes);
  void (*direct)(buffers&, long bytes, int rank, int n);
};

// bytes: the larger vector of a rank; the message of a pair.
const operation operations[] = {
    {"all_gather",
     [](mp::mpi& comm, const mp::group& g, buffers& b, long bytes) {
       comm.all_gather(g, b.in.data(), b.out.data(), 1, bytes / g.size());
     },
     [](buffers& b, long bytes, int, int n) {
       const int each = static_cast<int>(bytes / n);
       MPI_Allgather(b.in.data(), each, MPI_BYTE, b.out.data(), each, MPI_BYTE, MPI_COMM_WORLD);
     }},
    {"all_to_all",
     [](mp::mpi& comm, const mp::group& g, buffers& b, long bytes) {
       comm.all_to_all(g, b.in.data(), b.out.data(), bytes / g.size());
     },
     [](buffers& b, long bytes, int, int n) {
       const int each = static_cast<int>(bytes / n);
       MPI_Alltoall(b.in.data(), each, MPI_BYTE, b.out.data(), each, MPI_BYTE, MPI_COMM_WORLD);
     }},
    {"exchange",  // of neighbours 2 i and 2 i + 1
     [](mp::mpi& comm, const mp::group& g, buffers& b, long bytes) {
       const int peer = comm.rank() ^ 1;
       auto received = comm.start_receive(g, peer, b.out.data(), bytes);
       auto sent = comm.start_send(g, peer, b.in.data(), bytes);
       received.wait();
       sent.wait();
     },
     [](buffers& b, long bytes, int rank, int) {
       MPI_Request both[2];
       MPI_Irecv(b.out.data(), static_cast<int>(bytes), MPI_BYTE, rank ^ 1, 0, MPI_COMM_WORLD, &both[0]);
       MPI_Isend(b.in.data(), static_cast<int>(bytes), MPI_BYTE, rank ^ 1, 0, MPI_COMM_WORLD, &both[1]);
       MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
     }},
    {"ping_pong",  // there and back
     [](mp::mpi& comm, const mp::group& g, buffers& b, long bytes) {
       const int peer = comm.rank() ^ 1;
       if (peer > comm.rank()) comm.send(g, peer, b.in.data(), bytes);
       comm.receive(g, peer, b.out.data(), bytes);
       if (peer < comm.rank()) comm.send(g, peer, b.in.data(), bytes);
     },
     [](buffers& b, long bytes, int rank, int) {
       const int peer = rank ^ 1, count = static_cast<int>(bytes);
       if (peer > rank) MPI_Send(b.in.data(), count, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
       MPI_Recv(b.out.data(), count, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
       if (peer < rank) MPI_Send(b.in.data(), count, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
     }},
    {"broadcast",
     [](mp::mpi& comm, const mp::group& g, buffers& b, long bytes) { comm.broadcast(g, b.out.data(), bytes, 0); },
     [](buffers& b, long bytes, int, int) {
       MPI_Bcast(b.out.data(), static_cast<int>(bytes), MPI_BYTE, 0, MPI_COMM_WORLD);
     }}};

double median(std::vector<double> v) {
  std::ranges::sort(v);
  return (v[v.size() / 2] + v[(v.size() - 1) / 2]) / 2;
}

// Seconds of a call on the slowest rank; the same on all ranks.
template <class F>
double timed(int repeats, F call) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < repeats; ++i) call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / repeats;
}
double slowest(double seconds) {
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

double ours(mp::mpi_world& world, const operation& o, buffers& b, long bytes, int repeats) {
  double seconds = 0;
  world.run([&](mp::mpi& comm) {
    std::vector<int> all;
    for (int r = 0; r < comm.size(); ++r) all.push_back(r);
    const mp::group g = comm.group(all);
    comm.barrier(g);
    seconds = timed(repeats, [&] { o.ours(comm, g, b, bytes); });
  });
  return slowest(seconds);
}
double direct(const operation& o, buffers& b, long bytes, int repeats, int rank, int n) {
  MPI_Barrier(MPI_COMM_WORLD);
  return slowest(timed(repeats, [&] { o.direct(b, bytes, rank, n); }));
}

int measure(const options& chosen, const char* only) {
  mp::mpi_world world;
  const int rank = world.rank(), n = world.size();
  buffers b{std::vector<char>(16 * mib, 1), std::vector<char>(16 * mib, 2)};
  int met = 0, of = 0;
  for (const operation& o : operations)
    for (const long bytes : {kib, 64 * kib, mib, 16 * mib}) {
      if (only && std::strcmp(only, o.name) != 0) continue;
      ours(world, o, b, bytes, 2), direct(o, b, bytes, 2, rank, n);  // the first calls take longer
      const double one = std::min(ours(world, o, b, bytes, 4), direct(o, b, bytes, 4, rank, n));
      const int repeats = static_cast<int>(std::clamp(chosen.seconds / one, 1.0, 20000.0));
      std::vector<double> mine, theirs, ratios;
      for (int i = 0; i < chosen.rounds; ++i) {
        mine.push_back(ours(world, o, b, bytes, repeats));
        theirs.push_back(direct(o, b, bytes, repeats, rank, n));
        ratios.push_back(theirs.back() / mine.back());
      }
      const double ratio = median(ratios);
      ++of;
      met += ratio >= target;
      if (rank == 0)
        std::printf("%-11s %5d %7ld KiB %11.2f %11.2f  %6.2f >= %.2f %s\n", o.name, n, bytes / kib, median(mine) * 1e6,
                    median(theirs) * 1e6, ratio, target, ratio >= target ? "met" : "MISSED");
      std::fflush(stdout);
    }
  if (rank == 0) std::printf("%d of %d targets met with %d ranks\n", met, of, n);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  options chosen;
  std::string arguments;
  const char* only = nullptr;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--quick") {
      chosen.rounds = 5;
      chosen.seconds = 0.01;
    } else if (arg == "--rounds" && i + 1 < argc) chosen.rounds = std::max(1, std::atoi(argv[++i]));
    else if (arg == "--seconds" && i + 1 < argc) chosen.seconds = std::atof(argv[++i]);
    else if (arg == "--only" && i + 1 < argc) only = argv[++i];
    else {
      std::fprintf(stderr,
                   "mpi: unknown argument '%s'; usage: [--quick] [--rounds N] [--seconds S] [--only OPERATION]\n",
                   argv[i]);
      return 2;
    }
  }
  for (int i = 1; i < argc; ++i) arguments += std::string(" ") + argv[i];
  if (std::getenv("OMPI_COMM_WORLD_SIZE") || std::getenv("PMI_SIZE")) return measure(chosen, only);
  std::printf("%s, microseconds per call, medians of %d rounds in turns; ratio = MPI / ours\n\n", MPI_NAME,
              chosen.rounds);
  std::printf("%-11s %5s %11s %11s %11s\n", "operation", "ranks", "bytes", "ours", "MPI");
  std::fflush(stdout);
  for (const char* n : {"2", "4"})
    if (std::system((std::string(MPI_LAUNCH) + " -n " + n + " " + argv[0] + arguments).c_str()) != 0) return 1;
}
