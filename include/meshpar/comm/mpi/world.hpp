// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/mpi/communicator.hpp>
#include <meshpar/comm/mpi/process.hpp>

namespace meshpar::inline v0 {

// The processes of a communicator of MPI, this one as one rank of them. All of them make it, run together and end it.
//
// Starts MPI if nobody has, and then finalizes it when the process exits. Messages go over a duplicate of the user's
// communicator. Under MPI_THREAD_SERIALIZED nobody else may call MPI while a run lasts; between runs MPI is the user's.
class mpi_world {
 public:
  using options = mpi_options;
  static constexpr const char* name = "MPI";
  explicit mpi_world(mpi_options chosen = {}) : mpi_world(MPI_COMM_WORLD, chosen) {}
  explicit mpi_world(MPI_Comm users, mpi_options chosen = {}) {
    using processes::check;
    processes::require_mpi();
    check(MPI_Comm_dup(users, &wire_), "MPI_Comm_dup");
    check(MPI_Comm_set_errhandler(wire_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    int rank = 0, size = 0, near = 0;
    check(MPI_Comm_rank(wire_, &rank), "MPI_Comm_rank");
    check(MPI_Comm_size(wire_, &size), "MPI_Comm_size");
    MPI_Comm machine = MPI_COMM_NULL;
    check(MPI_Comm_split_type(wire_, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &machine), "MPI_Comm_split_type");
    check(MPI_Comm_size(machine, &near), "MPI_Comm_size");
    check(MPI_Comm_free(&machine), "MPI_Comm_free");
    process_.reset(new processes::process(wire_, rank, size, near > chosen.cores, chosen));
  }
  ~mpi_world() {
    using processes::process;
    const process::rest remains = process_->close();
    if (remains == process::rest::nothing) MPI_Comm_free(&wire_);
    if (remains == process::rest::writes) static_cast<void>(process_.release());  // until MPI_Abort
  }
  mpi_world(const mpi_world&) = delete;
  mpi_world& operator=(const mpi_world&) = delete;

  int rank() const { return process_->rank(); }
  int size() const { return process_->size(); }
  const activity_board& activity() const { return process_->activity(); }  // what this rank is doing

  // Rank 0's bytes become those of all ranks, which come here outside a run. No group counts them.
  void share(void* data, int bytes) { processes::check(MPI_Bcast(data, bytes, MPI_BYTE, 0, wire_), "MPI_Bcast"); }

  // Bytes that calls keep for pieces on their way to a sum, or packed; grows to the largest that was in flight.
  long staging_bytes() const { return process_->staging_bytes(); }
  long packet_bytes() const { return process_->packet_bytes(); }

  // Runs fn(mpi&) in every process and returns when all have ended. An exception of fn ends the waits of all other
  // ranks (they throw run_aborted). Then run throws "rank r failed: <message>": as comm_error where it began, as
  // run_aborted elsewhere, so that one rank can say it. The world is of no use after it, and when the process exits or
  // calls MPI_Finalize all of MPI's processes are ended by MPI_Abort: print first.
  template <class F>
  void run(F fn) {
    process_->begin_run();
    try {
      mpi comm(*process_);
      fn(comm);
    } catch (const run_aborted&) {
    } catch (const std::exception& e) {
      process_->fail(e.what());
    } catch (...) {
      process_->fail("an exception of unknown type");
    }
    process_->end_run();
  }

 private:
  MPI_Comm wire_ = MPI_COMM_NULL;
  std::unique_ptr<processes::process> process_;
};

}  // namespace meshpar::inline v0
