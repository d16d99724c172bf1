// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/call.hpp>
#include <meshpar/comm/group.hpp>
#include <meshpar/ops/bound.hpp>

#include <chrono>
#include <span>
#include <vector>

namespace meshpar::inline v0 {

// One call of a rank: a kernel, a collective of the program, or a collective of the end of a step (then `what` is
// null). Received bytes are the communicator's own count, taken before and after the call.
struct logged_call {
  const record* what = nullptr;
  int block = 0;
  void* in[8]{};
  void* out[8]{};
  call sent{};  // of a collective: its arguments; kind none otherwise
  group ranks{};
  long received = 0;                // bytes that reached this rank from others
  std::int64_t start = 0, end = 0;  // nanoseconds since the log was made

  const char* name() const { return what != nullptr ? what->op->name : name_of(sent.kind); }
};

// All calls of one rank in their order. Its memory is taken when it is made; calls beyond it are counted and lost.
class call_log {
 public:
  using clock = std::chrono::steady_clock;

  explicit call_log(int rank, std::size_t capacity = std::size_t{1} << 14, clock::time_point zero = clock::now())
      : rank_(rank), zero_(zero), calls_(capacity) {}

  int rank() const { return rank_; }
  std::span<const logged_call> calls() const { return {calls_.data(), used_}; }
  std::size_t lost() const { return lost_; }
  void clear() { used_ = lost_ = 0; }

  void begin(const bound& c) {
    logged_call& e = next();
    e.what = c.what;
    e.block = c.site;
    for (int i = 0; i < 8; ++i) e.in[i] = c.in[i], e.out[i] = c.out[i];
    open_ = &e;
    e.start = now();
  }
  void end() {
    open_->end = now();
    open_ = nullptr;
  }

  // A collective belongs to the call that is open, or is a call of its own.
  template <class F>
  void collective(const group& g, const call& sent, const void* in, void* out, F run) {
    logged_call& e = open_ != nullptr ? *open_ : next();
    e.sent = sent;
    e.ranks = g;
    if (open_ != nullptr) {
      e.received = run();
      return;
    }
    e.in[0] = const_cast<void*>(in);
    e.out[0] = out;
    e.start = now();
    e.received = run();
    e.end = now();
  }

 private:
  logged_call& next() {
    if (used_ == calls_.size()) return ++lost_, spare_ = {};
    return calls_[used_++] = {};
  }
  std::int64_t now() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(clock::now() - zero_).count();
  }

  int rank_;
  clock::time_point zero_;
  std::vector<logged_call> calls_;
  std::size_t used_ = 0, lost_ = 0;
  logged_call spare_{};
  logged_call* open_ = nullptr;
};

}  // namespace meshpar::inline v0
