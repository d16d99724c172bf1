// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/threads/slots.hpp>

#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace meshpar::inline v0::threading {

// What the ranks of one group share. A group in which a call failed stays broken: nobody touches a peer's memory on
// its behalf again, so a rank that leaves may free its buffers.
class group_state {
 public:
  explicit group_state(std::span<const int> ranks)
      : ranks_(ranks.begin(), ranks.end()),
        members_(new member[ranks.size()]),
        channels_(new std::atomic<channel*>[ranks.size() * ranks.size()]) {
    for (int q = 0; q < size(); ++q) allocate(at(q));
    for (std::size_t c = 0; c < ranks.size() * ranks.size(); ++c) channels_[c] = nullptr;
  }
  ~group_state() {
    for (int c = 0; c < size() * size(); ++c) delete channels_.get()[c].load();
  }
  group_state(const group_state&) = delete;
  group_state& operator=(const group_state&) = delete;

  int size() const { return static_cast<int>(ranks_.size()); }
  std::span<const int> ranks() const { return ranks_; }
  int rank(int index) const { return ranks_[static_cast<std::size_t>(index)]; }
  member& at(int index) { return members_.get()[index]; }
  slot& slot_of(int index, long sequence) { return at(index).ring[sequence % depth]; }
  std::byte* stage_of(int index, long sequence) { return at(index).stage.get() + sequence % depth * eager_bytes; }
  long* counts_of(int index, long sequence) { return at(index).counts.get() + sequence % depth * 4 * size(); }

  // By the rank that moves them: no two ranks write to one counter.
  void count(int by, int to, long bytes) {
    std::atomic<long>& moved = at(by).moved[static_cast<std::size_t>(to)];
    moved.store(moved.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
  }
  long received(int index) {
    long sum = 0;
    for (int by = 0; by < size(); ++by)
      sum += at(by).moved[static_cast<std::size_t>(index)].load(std::memory_order_relaxed);
    return sum;
  }

  // Null until the sender has used it.
  channel* channel_between(int from, int to) { return pair(from, to).load(std::memory_order_acquire); }
  // Called by the sender only.
  channel& open_channel(int from, int to) {
    if (!channel_between(from, to)) pair(from, to).store(new channel, std::memory_order_release);
    return *channel_between(from, to);
  }

  bool broken() const { return broken_.load(std::memory_order_seq_cst); }
  // The first reason stays. `cancelled`: the reason itself is an exception that is still on its way.
  void break_with(const std::string& reason, bool cancelled) {
    const std::lock_guard lock(mutex_);
    if (broken()) return;
    reason_ = reason;
    cancelled_ = cancelled;
    broken_.store(true, std::memory_order_seq_cst);
  }
  bool cancelled() const { return cancelled_; }          // once broken
  const std::string& reason() const { return reason_; }  // once broken

 private:
  void allocate(member& m) {
    m.moved.reset(new std::atomic<long>[ranks_.size()]());
    m.stage.reset(new std::byte[depth * eager_bytes]);
    m.counts.reset(new long[static_cast<std::size_t>(depth * 4 * size())]);
  }
  std::atomic<channel*>& pair(int from, int to) { return channels_.get()[from * size() + to]; }

  std::vector<int> ranks_;
  std::unique_ptr<member[]> members_;
  std::unique_ptr<std::atomic<channel*>[]> channels_;
  std::atomic<bool> broken_{false};
  std::mutex mutex_;
  std::string reason_;
  bool cancelled_ = false;
};

}  // namespace meshpar::inline v0::threading
