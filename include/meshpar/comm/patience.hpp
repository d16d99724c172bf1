// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <algorithm>
#include <chrono>
#include <thread>

namespace meshpar::inline v0 {

// Tells the core that this is a wait; the only instruction here that differs between processors.
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// How a rank waits: it polls for some microseconds if every rank has a core, then gives its core away between polls,
// and after two milliseconds sleeps for 1/32 of the time waited so far. A pure spin would cost whole scheduler slices
// as soon as anything else runs; a sleep that somebody must end would cost every call a check for sleepers.
class patience {
 public:
  explicit patience(bool crowded) : spins_(crowded ? 0 : 40) {}

  bool spinning() const { return turns_ < spins_; }
  double waited() const { return seconds_; }  // as of the last look at the clock, in seconds

  void pause() {
    if (turns_++ < spins_) return relax();
    if (napping() || turns_ % 16 == 1) look();
    napping() ? std::this_thread::sleep_for(nap()) : std::this_thread::yield();
  }

 private:
  using clock = std::chrono::steady_clock;

  bool napping() const { return seconds_ > 0.002; }
  std::chrono::duration<double> nap() const { return std::chrono::duration<double>(std::min(seconds_ / 32, 0.001)); }
  void look() {
    if (begin_ == clock::time_point{}) begin_ = clock::now();
    seconds_ = std::chrono::duration<double>(clock::now() - begin_).count();
  }

  int spins_;
  long turns_ = 0;
  double seconds_ = 0;
  clock::time_point begin_{};
};

}  // namespace meshpar::inline v0
