// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Trains for ever on 4 or 8 processes of mpirun, so that a test can end one of them.
//   endless_run [--time-out SECONDS] [--steps N] [--leave HOW --leaver RANK --leave-at STEP]
// HOW a rank leaves in the middle of a step: _exit, exit, status (exit(3)), throw, return. Each rank says "at work" on
// stderr after its first step.
#include <meshpar/meshpar.hpp>
#include <meshpar/mpi.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>

namespace mp = meshpar;

namespace {

inline constexpr mp::model tiny{.layers = 2, .hidden = 32, .heads = 4, .ffn = 64, .vocab = 61, .seq = 16};
inline constexpr mp::job batch8{.global_batch = 8, .micro_batch = 2};
inline constexpr mp::plan four{.dp = 2, .tp = 2, .sequence_parallel = true};
inline constexpr mp::plan eight{.dp = 2, .tp = 4};

struct early_end {
  std::string how;
  int rank = -1;
  long step = 0;
};
struct returned {};  // unwinds to the body of the rank, which then returns

void leave(const std::string& how) {
  if (how == "_exit") ::_exit(0);
  if (how == "exit") std::exit(0);
  if (how == "status") std::exit(3);
  if (how == "return") throw returned{};
  throw std::runtime_error("no more data");
}

// It leaves at the first token of the second micro-batch: half of the step's calls are behind it.
void train(auto& rank, long steps, const early_end& early) {
  for (long number = 1; number <= steps; ++number) {
    const auto token = [&](std::int64_t sample, std::int64_t position) {
      return static_cast<std::int32_t>((sample * 31 + position * position * 7 + number) % 61);
    };
    const auto id = [&](std::int64_t sample, std::int64_t position) {
      if (rank.number() == early.rank && number == early.step && sample >= 4) leave(early.how);
      return token(sample, position);
    };
    rank.step(static_cast<std::uint64_t>(number), id, token, {.adam = {.learning_rate = 1e-3}});
    if (number == 1) std::fprintf(stderr, "at work\n");
  }
}

template <class Net>
void run(long steps, const early_end& early, const mp::launch_options& o) {
  mp::launch<Net, mp::mpi>(
      [&](auto& rank) {
        try {
          train(rank, steps, early);
        } catch (const returned&) {
        }
      },
      o);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const mp::launch_options o = mp::take_launch_options(argc, argv);
    std::map<std::string, std::string> said;
    for (int i = 1; i + 1 < argc; i += 2) said[argv[i]] = argv[i + 1];
    const auto number = [&](const char* name, long otherwise) {
      return said.contains(name) ? std::stol(said[name]) : otherwise;
    };
    const long steps = number("--steps", std::numeric_limits<long>::max());
    const early_end early{said["--leave"], static_cast<int>(number("--leaver", -1)), number("--leave-at", 3)};
    if (o.where.size == 4) run<mp::decoder<tiny, batch8, four>>(steps, early, o);
    else run<mp::decoder<tiny, batch8, eight>>(steps, early, o);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "endless_run: %s\n", e.what());
    return 1;
  }
}
