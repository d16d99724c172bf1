// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/error.hpp>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX  // MPI's old C++ interface is not used
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX
#endif
#include <mpi.h>

namespace meshpar::inline v0::processes {

inline void check(int code, const char* function) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw comm_error(std::string(function) + ": " + std::string(text, static_cast<std::size_t>(length)));
}

// Who enters MPI holds it: MPI_THREAD_SERIALIZED asks for one thread at a time, of all worlds together.
inline std::mutex& entrance() {
  static std::mutex m;
  return m;
}

// How this process ends: it finalizes MPI if meshpar started it. After a failure peers may never come to MPI_Finalize,
// so whoever reaches it, or exit, ends all ranks by MPI_Abort instead.
class process_end {
 public:
  static void failed() { state().failed = true; }
  static void speaks() { state().speaks = true; }  // the failure is this process's to print: the others wait a second
  static void finalize_at_exit() { state().finalize = true; }

  static void watch() {
    if (state().watched.exchange(true)) return;
    std::atexit(at_exit);
    int key = MPI_KEYVAL_INVALID;
    check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_finalize, &key, nullptr), "MPI_Comm_create_keyval");
    check(MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr), "MPI_Comm_set_attr");
  }

 private:
  struct flags {
    std::atomic<bool> failed{false}, speaks{false}, finalize{false}, watched{false};
  };
  static flags& state() {
    static flags s;
    return s;
  }
  static void at_exit() {
    int over = 0;
    if (MPI_Finalized(&over); over) return;
    if (state().failed) abort_all();
    if (state().finalize) MPI_Finalize();
  }
  static int at_finalize(MPI_Comm, int, void*, void*) {
    if (state().failed) abort_all();
    return MPI_SUCCESS;
  }
  static void abort_all() {
    if (!state().speaks) std::this_thread::sleep_for(std::chrono::seconds(1));
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
};

inline const char* thread_level_name(int level) {
  return level == MPI_THREAD_SINGLE     ? "MPI_THREAD_SINGLE"
         : level == MPI_THREAD_FUNNELED ? "MPI_THREAD_FUNNELED"
                                        : "MPI_THREAD_SERIALIZED";
}

// Starts MPI if nobody has.
inline void require_mpi() {
  int begun = 0, over = 0, level = 0;
  check(MPI_Initialized(&begun), "MPI_Initialized");
  check(MPI_Finalized(&over), "MPI_Finalized");
  if (over) throw comm_error("MPI has been finalized in this process; make the mpi_world before");
  if (begun) check(MPI_Query_thread(&level), "MPI_Query_thread");
  else check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level), "MPI_Init_thread");
  if (!begun) process_end::finalize_at_exit();
  if (level < MPI_THREAD_SERIALIZED)
    throw comm_error(std::string("mpi_world needs MPI_THREAD_SERIALIZED and MPI gives ") + thread_level_name(level) +
                     (begun ? "; start MPI with MPI_Init_thread, or leave it to mpi_world" : ""));
  process_end::watch();
}

}  // namespace meshpar::inline v0::processes
