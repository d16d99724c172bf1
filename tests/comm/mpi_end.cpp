// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How processes end when something is wrong. Usage: mpirun -n N mpi_end
// throw|cancel|unequal|drop|single|finalize|behind The one that says it prints "said: <message>"; no scenario may hang.
#include <meshpar/mpi.hpp>

#include "comm/rank_tests.hpp"

#include <cstdio>
#include <cstring>
#include <string>
#include <thread>

namespace mp = meshpar;
using mp::dtype;

namespace {

void fail(mp::mpi& comm, const std::string& how) {
  const mp::group g = comm.group(first(comm.size()));
  std::vector<float> x(100000);
  comm.all_reduce(g, x.data(), x.data(), 100000, dtype::f32, dtype::f32);
  const bool last = comm.rank() == comm.size() - 1;
  if (how == "unequal") comm.all_reduce(g, x.data(), x.data(), last ? 9 : 10, dtype::f32, dtype::f32);
  if (how == "drop") {
    comm.label("gradients");
    auto call = comm.start_all_reduce(g, x.data(), x.data(), 10, dtype::f32, dtype::f32);
    if (!last) call.wait();
    else {
      auto dropped = std::move(call);
    }
  }
  if (how == "cancel") {
    auto call = comm.start_all_reduce(g, x.data(), x.data(), 100000, dtype::f32, dtype::f32);
    if (last) throw std::runtime_error("bad label");
    call.wait();
  }
  if (last) throw std::runtime_error("no more data");
  comm.all_reduce(g, x.data(), x.data(), 100000, dtype::f32, dtype::f32);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  int level = 0;
  if (how == "single") MPI_Init(&argc, &argv);
  if (how == "finalize") MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
  int status = 0;
  try {
    mp::mpi_world world{{.time_out = how == "behind" ? 1.0 : 20}};
    if (how == "behind") {
      world.run([](mp::mpi&) {});
      if (world.rank() == world.size() - 1) std::this_thread::sleep_for(std::chrono::seconds(50));
    } else {
      world.run([&](mp::mpi& comm) { fail(comm, how); });
    }
  } catch (const mp::run_aborted&) {
    status = 1;
  } catch (const std::exception& e) {
    std::printf("said: %s\n", e.what());
    std::fflush(stdout);
    status = 1;
  }
  if (how == "finalize") MPI_Finalize();  // does not return: some rank may never come to it
  return status;
}
