// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/mpi.hpp>

#include "comm/rank_tests.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace {

// The processes that mpirun has started.
struct ranks {
  using comm = meshpar::mpi;

  static meshpar::mpi_world& world() {
    static meshpar::mpi_world w{{.time_out = 60}};
    return w;
  }
  static std::vector<int> sizes() {
    std::vector<int> some;
    for (const int n : {1, 2, 3, 4, 8})
      if (has(n)) some.push_back(n);
    return some;
  }
  static bool has(int n) { return n <= world().size(); }

  // In memory that the children of one mpirun share.
  static std::atomic<int>& entered() {
    static std::atomic<int>* const count = [] {
      const std::string name = "/meshpar_mpi_test_" + std::to_string(getppid());
      const int file = shm_open(name.c_str(), O_CREAT | O_RDWR, 0600);
      void* base = MAP_FAILED;
      if (file >= 0 && ftruncate(file, 64) == 0) base = mmap(nullptr, 64, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
      if (base == MAP_FAILED) throw std::runtime_error("no shared memory " + name);
      std::atexit([] { shm_unlink(("/meshpar_mpi_test_" + std::to_string(getppid())).c_str()); });
      return static_cast<std::atomic<int>*>(base);  // new pages hold zeros
    }();
    return *count;
  }

  template <class F>
  static int wrong(int n, F body) {
    tally t;
    world().run([&](comm& c) {
      if (c.rank() < n) body(c, c.group(first(n)), t);
    });
    return t.wrong;
  }
};

}  // namespace
