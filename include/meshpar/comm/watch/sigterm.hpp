// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/store/wake.hpp>

#include <atomic>
#include <csignal>

namespace meshpar::inline v0::sockets {

inline std::atomic<int> sigterm_bell{-1};

// While it lives SIGTERM rings a bell instead of ending the process. A handler, not a mask: threads that an MPI library
// has started before would not have the mask. A program's own handler is left alone, and so is a second one of these.
class sigterm_ear {
 public:
  sigterm_ear() {
    struct sigaction now{};
    int none = -1;
    if (::sigaction(SIGTERM, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) || now.sa_handler != SIG_DFL) return;
    if (!sigterm_bell.compare_exchange_strong(none, rung_.bell())) return;
    struct sigaction ring{};
    ring.sa_flags = SA_RESTART;
    ring.sa_handler = [](int) {
      const int error = errno;
      const char byte = 0;
      [[maybe_unused]] const ssize_t n = ::write(sigterm_bell.load(), &byte, 1);
      errno = error;
    };
    hears_ = ::sigaction(SIGTERM, &ring, &before_) == 0;
  }
  sigterm_ear(const sigterm_ear&) = delete;
  sigterm_ear& operator=(const sigterm_ear&) = delete;
  ~sigterm_ear() {
    if (!hears_) return;
    ::sigaction(SIGTERM, &before_, nullptr);
    sigterm_bell = -1;
  }

  int fd() const { return rung_.fd(); }
  bool rang() const { return rung_.quiet(); }

 private:
  wake rung_;
  bool hears_ = false;
  struct sigaction before_{};
};

}  // namespace meshpar::inline v0::sockets
