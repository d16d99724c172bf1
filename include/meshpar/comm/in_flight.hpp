// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdio>
#include <exception>
#include <string>
#include <utility>

namespace meshpar::inline v0 {

// A started call. Its buffers belong to the call until wait() returns. Dropping one unawaited ends the program and
// names the call, for its peers would hang or read freed memory; while an exception unwinds, it cancels instead.
// Owner has finish(serial), cancel(serial) noexcept and describe(serial).
template <class Owner>
class [[nodiscard("a started call must be waited for")]] basic_in_flight {
 public:
  basic_in_flight() = default;
  basic_in_flight(Owner& owner, long serial)
      : owner_(&owner), serial_(serial), unwinding_(std::uncaught_exceptions()) {}
  basic_in_flight(basic_in_flight&& other) noexcept
      : owner_(std::exchange(other.owner_, nullptr)), serial_(other.serial_), unwinding_(other.unwinding_) {}
  basic_in_flight& operator=(basic_in_flight&& other) noexcept {
    basic_in_flight taken(std::move(other));
    std::swap(owner_, taken.owner_);
    std::swap(serial_, taken.serial_);
    std::swap(unwinding_, taken.unwinding_);
    return *this;
  }
  ~basic_in_flight() {
    if (owner_) drop();
  }

  // Returns when the result stands and the input may be written again. Throws comm_error. A second wait does nothing.
  void wait() {
    if (Owner* owner = std::exchange(owner_, nullptr)) owner->finish(serial_);
  }

 private:
  void drop() noexcept {
    if (std::uncaught_exceptions() > unwinding_) return owner_->cancel(serial_);
    std::fprintf(stderr, "meshpar: %s was started and dropped without wait()\n", owner_->describe(serial_).c_str());
    std::terminate();
  }

  Owner* owner_ = nullptr;
  long serial_ = 0;
  int unwinding_ = 0;
};

}  // namespace meshpar::inline v0
