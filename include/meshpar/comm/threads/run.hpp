// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/doing.hpp>
#include <meshpar/comm/error.hpp>
#include <meshpar/comm/threads/group.hpp>

#include <algorithm>
#include <thread>

namespace meshpar::inline v0 {

struct threads_options {
  double time_out = 300;                                              // seconds that one wait may last
  int cores = static_cast<int>(std::thread::hardware_concurrency());  // that the ranks share
};

}  // namespace meshpar::inline v0

namespace meshpar::inline v0::threading {

// What a rank is in, for the messages of others. Labels are literals, or outlive the run.
struct alignas(64) status {
  std::atomic<bool> busy{false};  // is reading or writing its peers' memory
  std::atomic<const char*> label{""};
  std::atomic<call_kind> kind{call_kind::none};
  std::atomic<long> step{0};  // 0: none yet
  std::atomic<bool> waiting{false};
  std::atomic<bool> ended{false};
};

// What all ranks of a world share: its groups, who is in what, and the first failure.
class run_state {
 public:
  run_state(int size, threads_options options)
      : size_(size),
        crowded_(size > options.cores),
        options_(options),
        status_(new status[static_cast<std::size_t>(size)]) {}

  int size() const { return size_; }
  bool crowded() const { return crowded_; }  // more ranks than cores
  double time_out() const { return options_.time_out; }
  status& of(int rank) { return status_.get()[rank]; }

  // The same list gives the same group.
  group_state& find_group(std::span<const int> ranks) {
    const std::lock_guard lock(mutex_);
    for (auto& g : groups_)
      if (std::ranges::equal(g->ranks(), ranks)) return *g;
    return *groups_.emplace_back(new group_state(ranks));
  }

  bool failed() const { return failed_.load(std::memory_order_seq_cst); }
  const std::string& failure() const { return failure_; }  // once failed
  void fail(int rank, std::string message) {
    const std::lock_guard lock(mutex_);
    if (failed()) return;
    const std::string prefix = "rank " + std::to_string(rank);
    if (message.starts_with(prefix + ": ")) message.erase(0, prefix.size() + 2);
    failure_ = prefix + " failed: " + message;
    failed_.store(true, std::memory_order_seq_cst);
  }

  // rank 3 (step 12, waiting in receive 'activation')
  std::string where(int rank) {
    const status& s = of(rank);
    call what;
    what.kind = s.kind.load(std::memory_order_relaxed);
    what.label = s.label.load(std::memory_order_relaxed);
    const doing now = s.ended ? doing::ended : s.waiting ? doing::waiting : doing::computing;
    return "rank " + std::to_string(rank) + " (" +
           doing_words(s.step.load(std::memory_order_relaxed), now, what.kind == call_kind::none ? "" : named(what)) +
           ")";
  }

 private:
  int size_;
  bool crowded_;
  threads_options options_;
  std::unique_ptr<status[]> status_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<group_state>> groups_;
  std::atomic<bool> failed_{false};
  std::string failure_;
};

}  // namespace meshpar::inline v0::threading
