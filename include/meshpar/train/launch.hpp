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

// Once in a process.
inline void announce(const std::string& line) {
  static bool said = false;
  if (!std::exchange(said, true)) std::fprintf(stderr, "meshpar: %s\n", line.c_str());
}

}  // namespace launching

// The program of a decoder, for ranks that are `ranks` in number. Throws one line.
template <class Net>
std::unique_ptr<program> program_for(int ranks) {
  if (const verdict v = world_size_matches_plan(Net::how, ranks); !v.holds())
    throw std::invalid_argument(v.why.c_str());
  auto p = std::make_unique<program>(Net::what, Net::task, Net::how, Net::make_layers());
  if (p->memory.height != cost_of<Net>.height)
    throw std::logic_error(
        "a layer traces differently at run time than as a constant: in its forward, give each call "
        "that uses a parameter a statement of its own, so that their order is fixed");
  return p;
}

// Runs fn(rank&) for every rank of a decoder over a world that the caller has made: a threads_world, or an mpi_world of
// an MPI_Comm of his own. Throws one line.
template <class Net, class... Parts, class World, class F>
void run_on(World& world, F fn) {
  const auto p = program_for<Net>(world.size());
  world.run([&](auto& comm) { run_rank<types_of<Net>, typename parts<Parts...>::gemm>(*p, comm, fn); });
}

// The same over a world of its own: the processes of a launcher (mpirun, srun, ...) if one started this program and a
// communicator of processes is among its parts (launch<net, mpi>), else threads of this process.
template <class Net, class... Parts, class F>
void launch(F fn, const launch_options& o = {}) {
  using chosen = parts<Parts...>;
  if constexpr (!__is_same(typename chosen::comm, threads)) {
    if (by_a_launcher(o.where)) {
      const auto p = program_for<Net>(o.where.size);
      if (o.where.rank == 0)
        launching::announce(std::to_string(o.where.size) + " processes; this is " + describe(o.where));
      return run_processes<types_of<Net>, typename chosen::gemm, typename chosen::comm>(*p, fn, o);
    }
  } else if (o.where.size > 1) {
    throw std::invalid_argument("this process is " + describe(o.where) +
                                ", but this program runs its ranks as threads: start it alone, or give launch a "
                                "communicator of processes (launch<net, mp::mpi>)");
  }
  threads_world world(static_cast<int>(world_size(Net::how)), {.time_out = o.time_out});
  launching::announce(std::to_string(world.size()) + (world.size() == 1 ? " rank" : " ranks") +
                      " as threads of one process" + (o.where.ignored.empty() ? "" : "; " + o.where.ignored));
  run_on<Net, Parts...>(world, fn);
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
