// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/watch/siblings.hpp>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace meshpar::inline v0 {

// Ends this process with a line and status 1 when it lives for longer than `seconds`: around calls that know no
// time-out, where no watch is open. The line goes past stdio, whose lock a stuck thread may hold.
class watch_deadline {
 public:
  watch_deadline(double seconds, std::string line)
      : line_("meshpar: " + std::move(line) + "; ending\n"), thread_([this, seconds] { wait(seconds); }) {}
  watch_deadline(const watch_deadline&) = delete;
  watch_deadline& operator=(const watch_deadline&) = delete;
  ~watch_deadline() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

 private:
  void wait(double seconds) {
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return over_; })) return;
    [[maybe_unused]] const ssize_t n = ::write(2, line_.data(), line_.size());
    std::this_thread::sleep_for(std::chrono::milliseconds(500));  // for the lines of others: see watch::linger
    kill_stopped_siblings();
    ::_exit(1);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::string line_;
  std::thread thread_;
};

}  // namespace meshpar::inline v0
