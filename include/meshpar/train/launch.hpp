// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/meta/fits.hpp>
#include <meshpar/rules/world.hpp>
#include <meshpar/train/launch_options.hpp>
#include <meshpar/train/parts.hpp>
#include <meshpar/train/run_rank.hpp>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <utility>

namespace meshpar::inline v0 {

// Defined where a communicator of processes is: train/run_processes.hpp, which mpi.hpp includes.
template <class Types, class Gemm, class Comm, class F>
void run_processes(const program& p, F& fn, const launch_options& o);

namespace launching {

// Once in a process, by rank 0.
inline void announce(const rendezvous& where, int ranks) {
  static bool said = false;
  if (std::exchange(said, true) || where.rank != 0) return;
  if (by_a_launcher(where)) std::fprintf(stderr, "meshpar: %d processes; this is %s\n", ranks, describe(where).c_str());
  else
    std::fprintf(stderr, "meshpar: %d rank%s as threads of one process%s%s\n", ranks, ranks == 1 ? "" : "s",
                 where.ignored.empty() ? "" : "; ", where.ignored.c_str());
}

}  // namespace launching

// Runs fn(rank&) for every rank of a decoder: as the processes of a launcher (mpirun, srun, ...) if one started this
// program and a communicator of processes is among its parts (launch<net, mpi>), else as threads of this process. The
// launched world must be the plan's. Throws one line.
template <class Net, class... Parts, class F>
void launch(F fn, const launch_options& o = {}) {
  using chosen = parts<Parts...>;
  const auto p = std::make_unique<program>(Net::what, Net::task, Net::how, Net::make_layers());
  if (p->memory.height != cost_of<Net>.height)
    throw std::logic_error(
        "a layer traces differently at run time than as a constant: in its forward, give each call "
        "that uses a parameter a statement of its own, so that their order is fixed");
  const int ranks = p->where.ranks.size();
  if (!by_a_launcher(o.where)) {
    launching::announce(o.where, ranks);
    return run_ranks<types_of<Net>, typename chosen::gemm>(*p, fn, {.time_out = o.time_out});
  }
  if constexpr (__is_same(typename chosen::comm, threads)) {
    throw std::invalid_argument("this process is " + describe(o.where) +
                                ", but this program runs its ranks as threads: start it alone, or give launch a "
                                "communicator of processes (launch<net, mp::mpi>)");
  } else {
    if (const verdict v = world_size_matches_plan(Net::how, o.where.size); !v.holds())
      throw std::invalid_argument(std::string(v.why.c_str()) + " (" + describe(o.where) + ")");
    launching::announce(o.where, ranks);
    run_processes<types_of<Net>, typename chosen::gemm, typename chosen::comm>(*p, fn, o);
  }
}

// The same as all of a main function, whose status it returns: reads the options of launching, refuses any other word,
// and prints what is thrown.
template <class Net, class... Parts, class F>
int launch(int argc, char** argv, F fn) {
  try {
    const launch_options o = take_launch_options(argc, argv);
    if (argc > 1) throw std::invalid_argument(std::string("unknown option '") + argv[1] + "': this program has none");
    launch<Net, Parts...>(fn, o);
    return 0;
  } catch (const std::exception& e) {
    std::fflush(stdout);
    std::fprintf(stderr, "%s: %s\n", argv[0], e.what());
    return 1;
  }
}

}  // namespace meshpar::inline v0
