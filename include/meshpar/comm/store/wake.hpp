// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/store/socket.hpp>

namespace meshpar::inline v0::sockets {

// Ends the poll() of another thread, or of any thread from a signal handler.
class wake {
 public:
  wake() {
    int ends[2];
    if (::pipe2(ends, O_NONBLOCK | O_CLOEXEC) != 0)
      throw comm_error(std::string("cannot make a pipe: ") + std::strerror(errno));
    read_ = descriptor(ends[0]);
    write_ = descriptor(ends[1]);
  }
  int fd() const { return read_.get(); }
  int bell() const { return write_.get(); }  // one byte written here rings
  void ring() const {
    const char byte = 0;
    [[maybe_unused]] const ssize_t n = ::write(write_.get(), &byte, 1);
  }
  // Has it rung since the last call?
  bool quiet() const {
    char bytes[64];
    bool rang = false;
    while (::read(read_.get(), bytes, sizeof bytes) > 0) rang = true;
    return rang;
  }

 private:
  descriptor read_, write_;
};

}  // namespace meshpar::inline v0::sockets
