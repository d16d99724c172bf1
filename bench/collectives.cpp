// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Thread collectives beside Open MPI and MPICH and beside the time in which the ranks copy as many bytes, as ratios
// with their targets. Rounds are interleaved: only ratios taken close to each other mean anything on a shared machine.
// Usage: collectives [--quick] [--rounds N] [--seconds PER_CELL] [--source REPOSITORY]
// Build: g++ -std=c++20 -O3 -march=native -I include bench/collectives.cpp -pthread
#include <meshpar/comm/threads.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <new>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

namespace mp = meshpar;

namespace {

constexpr long kib = 1024, mib = 1024 * kib;
const std::vector<std::string> operations{"all_reduce", "all_gather", "reduce_scatter", "all_to_all"};

struct options {
  bool quick = false;
  int rounds = 5;
  double seconds = 0.1;
  std::string source = ".";
  std::vector<int> ranks{2, 4, 8};
  std::vector<long> sizes{kib, 64 * kib, mib, 16 * mib, 64 * mib};
};

// (who, operation, ranks, bytes) -> microseconds per call, one per round
using key = std::tuple<std::string, std::string, int, long>;
using times = std::map<key, std::vector<double>>;

double median(std::vector<double> v) {
  std::ranges::sort(v);
  return v.empty() ? 0 : (v[v.size() / 2] + v[(v.size() - 1) / 2]) / 2;
}

// ---- ours -----------------------------------------------------------------------------------------------------------

struct buffers {
  explicit buffers(long bytes, float value) : in(make(bytes, value)), out(make(bytes, 0)) {}
  ~buffers() {
    std::free(in);
    std::free(out);
  }
  buffers(const buffers&) = delete;
  static float* make(long bytes, float value) {
    auto* p = static_cast<float*>(std::aligned_alloc(4096, static_cast<std::size_t>((bytes + 4095) / 4096 * 4096)));
    if (!p) throw std::bad_alloc();
    std::fill_n(p, bytes / 4, value);
    return p;
  }
  float *in, *out;
};

using calls = void (*)(mp::threads&, const mp::group&, const buffers&, long bytes);
long piece(const mp::group& g, long bytes) { return bytes / 4 / g.size(); }

const std::map<std::string, calls> table{
    {"barrier", [](mp::threads& comm, const mp::group& g, const buffers&, long) { comm.barrier(g); }},
    {"copy",
     [](mp::threads& comm, const mp::group& g, const buffers& b, long bytes) {
       std::memcpy(b.out, b.in, static_cast<std::size_t>(bytes));
       comm.barrier(g);
     }},
    {"all_reduce", [](mp::threads& comm, const mp::group& g, const buffers& b,
                      long bytes) { comm.all_reduce(g, b.in, b.out, bytes / 4, mp::dtype::f32, mp::dtype::f32); }},
    {"all_gather", [](mp::threads& comm, const mp::group& g, const buffers& b,
                      long bytes) { comm.all_gather(g, b.in, b.out, 1, piece(g, bytes) * 4); }},
    {"reduce_scatter",
     [](mp::threads& comm, const mp::group& g, const buffers& b, long bytes) {
       comm.reduce_scatter(g, b.in, b.out, 1, piece(g, bytes), mp::dtype::f32, mp::dtype::f32);
     }},
    {"all_to_all", [](mp::threads& comm, const mp::group& g, const buffers& b, long bytes) {
       comm.all_to_all(g, b.in, b.out, piece(g, bytes) * 4);
     }}};

// Seconds per call of the slowest rank.
double batch(const std::string& operation, mp::threads& comm, const mp::group& g, const buffers& b, long bytes,
             int repeats) {
  using clock = std::chrono::steady_clock;
  const auto call = table.at(operation);
  comm.barrier(g);
  const auto begin = clock::now();
  for (int i = 0; i < repeats; ++i) call(comm, g, b, bytes);
  double seconds = std::chrono::duration<double>(clock::now() - begin).count() / repeats;
  comm.all_reduce(g, &seconds, &seconds, 1, mp::dtype::f64, mp::dtype::f64, mp::reduction::max);
  return seconds;
}

double median_of_five(const std::string& operation, mp::threads& comm, const mp::group& g, const buffers& b, long bytes,
                      double budget) {
  batch(operation, comm, g, b, bytes, 1);
  const double wanted = budget / 5 / batch(operation, comm, g, b, bytes, 1);
  const int repeats = static_cast<int>(std::clamp(wanted, 1.0, 20000.0));
  std::vector<double> each;
  for (int i = 0; i < 5; ++i) each.push_back(batch(operation, comm, g, b, bytes, repeats));
  return median(each);
}

void measure_threads(const options& o, int n, times& t) {
  mp::threads_world world{n};
  world.run([&](mp::threads& comm) {
    std::vector<int> all;
    for (int r = 0; r < n; ++r) all.push_back(r);
    const mp::group g = comm.group(all);
    const buffers b(o.sizes.back(), static_cast<float>(comm.rank() + 1));
    const auto add = [&](const std::string& operation, long bytes) {
      const double seconds = median_of_five(operation, comm, g, b, bytes, o.seconds);
      if (comm.rank() == 0) t[{"threads", operation, n, bytes}].push_back(seconds * 1e6);
    };
    add("barrier", 0);
    for (const long bytes : o.sizes) {
      add("copy", bytes);
      for (const auto& operation : operations) add(operation, bytes);
    }
  });
}

// ---- peers ----------------------------------------------------------------------------------------------------------

struct peer {
  std::string name, compile, launch;
  std::string program = "", missing = "";
};

void build(peer& p, const options& o) {
  const auto program = std::filesystem::temp_directory_path() / ("meshpar_collectives_" + p.name);
  const std::string command = p.compile + " -O3 -march=native " + o.source + "/bench/peers/mpi_collectives.c -o " +
                              program.string() + " >/dev/null 2>&1";
  if (std::system(command.c_str()) == 0) p.program = program.string();
  else p.missing = p.name + " is missing: `" + p.compile + "` does not build bench/peers/mpi_collectives.c";
}

void measure_peer(const options& o, peer& p, int n, times& t) {
  std::ostringstream command;
  command << p.launch << " -np " << n << ' ' << p.program << ' ' << o.seconds;
  for (const long bytes : o.sizes) command << ' ' << bytes;
  command << " 2>/dev/null";
  std::FILE* answer = popen(command.str().c_str(), "r");
  char operation[32];
  long bytes;
  double microseconds;
  int cells = 0;
  while (answer && std::fscanf(answer, "%31s %ld %lf", operation, &bytes, &microseconds) == 3 && ++cells)
    t[{p.name, operation, n, bytes}].push_back(microseconds);
  if (!answer || pclose(answer) != 0 || cells == 0)
    p.missing = p.name + " failed with " + std::to_string(n) + " ranks: `" + command.str() + "`";
}

// ---- targets --------------------------------------------------------------------------------------------------------

bool sums(const std::string& operation) { return operation == "all_reduce" || operation == "reduce_scatter"; }

// At least this many times as fast as the better of the two peers; at 1 KiB, as Open MPI.
double peer_target(const std::string& operation, int n, long bytes) {
  if (bytes < 64 * kib) return sums(operation) ? 1.4 : 1;
  if (sums(operation)) return 3;
  if (operation == "all_gather") return 1.4;
  return n == 2 && bytes >= mib && bytes <= 16 * mib ? 1.15 : 1.2;
}

// At most this many times the time of copying as many bytes.
double bound_target(const std::string& operation, int n, long bytes) {
  if (bytes >= 16 * mib) return 1.35;
  if (bytes >= mib) return n == 8 ? 1.8 : 1.35;
  if (bytes >= 64 * kib) return operation == "all_gather" ? 2.3 : 1.7;
  return 0;
}

// Bytes read and written over those of "every rank copies its vector".
double bound_share(const std::string& operation, int n) {
  return operation == "all_reduce" || operation == "all_to_all" ? 1 : (n + 1) / (2.0 * n);
}

// Medians over rounds of the ratios taken within one round.
template <class Ratio>
double median_ratio(const times& t, const key& ours, Ratio ratio) {
  std::vector<double> each;
  const auto found = t.find(ours);
  if (found == t.end()) return 0;
  for (std::size_t round = 0; round < found->second.size(); ++round) each.push_back(ratio(round, found->second[round]));
  return median(each);
}

double at(const times& t, const key& k, std::size_t round) {
  const auto found = t.find(k);
  return found == t.end() || round >= found->second.size() ? 0 : found->second[round];
}

// 1 where eight ranks move each byte as fast as two.
double eight_over_two(const times& t, const std::string& operation) {
  const double scale = operation == "copy" ? 4 : 4 * bound_share(operation, 8) / bound_share(operation, 2);
  return median_ratio(t, {"threads", operation, 8, 16 * mib}, [&](std::size_t round, double ours) {
    return ours / (at(t, {"threads", operation, 2, 16 * mib}, round) * scale);
  });
}

std::string size_name(long bytes) {
  return bytes >= mib ? std::to_string(bytes / mib) + " MiB" : std::to_string(bytes / kib) + " KiB";
}

struct score {
  int met = 0, of = 0;
  const char* mark(bool good) {
    ++of;
    met += good;
    return good ? "met" : "MISSED";
  }
};

void print_cell(const times& t, const std::string& operation, int n, long bytes, score& s) {
  const auto who = [&](const char* name) { return key{name, operation, n, bytes}; };
  const auto of = [&](const key& k) { return t.contains(k) ? median(t.at(k)) : 0; };
  const double rival = median_ratio(t, who("threads"), [&](std::size_t round, double ours) {
    const double open = at(t, who("openmpi"), round), mpich = at(t, who("mpich"), round);
    if (bytes < 64 * kib || mpich == 0) return open / ours;
    return (open == 0 ? mpich : std::min(open, mpich)) / ours;
  });
  const double bound = median_ratio(t, who("threads"), [&](std::size_t round, double ours) {
    return ours / (at(t, {"threads", "copy", n, bytes}, round) * bound_share(operation, n));
  });
  const double least = peer_target(operation, n, bytes), most = bound_target(operation, n, bytes);
  std::printf("%-14s %5d %7s %10.2f %10.2f %10.2f", operation.c_str(), n, size_name(bytes).c_str(), of(who("threads")),
              of(who("openmpi")), of(who("mpich")));
  if (rival > 0) std::printf("  %6.2f >= %.2f %-6s", rival, least, s.mark(rival >= least));
  else std::printf("  %22s", "no peer");
  if (most > 0) std::printf("  %5.2f <= %.2f %s", bound, most, s.mark(bound <= most));
  std::printf("\n");
}

void print(const options& o, const times& t, const std::vector<peer>& peers) {
  score s;
  std::printf(
      "Thread collectives, f32 sum, microseconds per call; medians of %d rounds; 0 = not measured.\n"
      "`size` = the larger vector of a rank. vs peers = better peer / threads (1 KiB: Open MPI / threads).\n"
      "vs copy = threads / the time in which all ranks copy as many bytes.\n\n",
      o.rounds);
  std::printf("%-14s %5s %7s %10s %10s %10s  %-22s  %s\n", "operation", "ranks", "size", "threads", "openmpi", "mpich",
              "vs peers", "vs copy");
  for (const auto& operation : operations)
    for (const int n : o.ranks)
      for (const long bytes : o.sizes) print_cell(t, operation, n, bytes, s);
  const double barrier = median(t.at({"threads", "barrier", 2, 0}));
  std::printf("\nbarrier, 2 ranks: %.2f us <= 0.40 %s\n", barrier, s.mark(barrier <= 0.4));
  if (std::ranges::count(o.ranks, 8) && std::ranges::count(o.sizes, 16 * mib)) {
    for (const auto& operation : operations) {
      const double ratio = eight_over_two(t, operation);
      std::printf("%s, 16 MiB, 8 ranks / 2 ranks scaled by bytes: %.2f <= 1.60 %s\n", operation.c_str(), ratio,
                  s.mark(ratio <= 1.6));
    }
    std::printf("the copy itself, 8 ranks / 2 ranks scaled by bytes: %.2f\n", eight_over_two(t, "copy"));
  }
  for (const peer& p : peers)
    if (!p.missing.empty()) std::printf("%s\n", p.missing.c_str());
  if (o.quick) std::printf("quick: MPICH, which spins, was run with 2 ranks only.\n");
  std::printf("%d of %d targets met\n", s.met, s.of);
}

int usage(const char* wrong) {
  std::fprintf(stderr,
               "collectives: unknown argument '%s'; usage: [--quick] [--rounds N] [--seconds S] [--source DIR]\n",
               wrong);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  options o;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--quick") {
      o.quick = true;
      o.rounds = 2;
      o.seconds = 0.01;
      o.sizes = {kib, 64 * kib, mib, 16 * mib};
    } else if (arg == "--rounds" && i + 1 < argc) o.rounds = std::max(1, std::atoi(argv[++i]));
    else if (arg == "--seconds" && i + 1 < argc) o.seconds = std::atof(argv[++i]);
    else if (arg == "--source" && i + 1 < argc) o.source = argv[++i];
    else return usage(argv[i]);
  }
  std::vector<peer> peers{{"openmpi", "mpicc.openmpi", "mpirun.openmpi --allow-run-as-root --oversubscribe"},
                          {"mpich", "mpicc.mpich", "mpirun.mpich"}};
  for (peer& p : peers) build(p, o);
  times t;
  for (int round = 0; round < o.rounds; ++round)
    for (const int n : o.ranks) {
      measure_threads(o, n, t);
      for (peer& p : peers)
        if (p.missing.empty() && !(o.quick && p.name == "mpich" && n > 2)) measure_peer(o, p, n, t);
    }
  print(o, t, peers);
}
