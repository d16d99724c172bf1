// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/call.hpp>
#include <meshpar/comm/doing.hpp>
#include <meshpar/comm/store/frame.hpp>

#include <array>
#include <atomic>

namespace meshpar::inline v0 {

// What a rank is doing, as others are told.
struct activity {
  static constexpr std::size_t label_room = 48;

  std::int64_t step = 0;  // from 1; 0: before the first
  call_kind kind = call_kind::none;
  doing now = doing::computing;  // after the call or in it
  char label[label_room]{};      // of the call; what does not fit is cut
};

inline std::string describe(const activity& a) {
  call what;
  what.kind = a.kind;
  what.label = a.label;
  return doing_words(a.step, a.now, a.kind == call_kind::none ? "" : named(what));
}

// The rank's own thread writes here, without locks or allocation; any thread reads. A sequence lock: odd while it is
// being written.
class activity_board {
 public:
  void step(std::int64_t n) {
    mine_.step = n;
    publish();
  }
  void start(call_kind kind, const char* label) { write({.step = mine_.step, .kind = kind}, label); }
  void become(doing now) {
    mine_.now = now;
    publish();
  }
  void clear() { write({}, ""); }
  void write(const activity& now, const char* label) {
    mine_ = now;
    std::size_t n = 0;
    for (; n + 1 < activity::label_room && label[n] != 0; ++n) mine_.label[n] = label[n];
    for (; n < activity::label_room; ++n) mine_.label[n] = 0;
    publish();
  }

  activity read() const {
    for (;;) {
      const std::uint64_t before = sequence_.load(std::memory_order_acquire);
      std::array<std::uint64_t, words> copy;
      for (std::size_t i = 0; i < words; ++i) copy[i] = shown_[i].load(std::memory_order_acquire);
      if (before % 2 != 0 || sequence_.load(std::memory_order_relaxed) != before) continue;
      activity a;
      a.step = static_cast<std::int64_t>(copy[0]);
      a.kind = static_cast<call_kind>(copy[1] & 255);
      a.now = static_cast<doing>(copy[1] >> 8 & 3);
      __builtin_memcpy(a.label, &copy[2], activity::label_room);
      return a;
    }
  }

 private:
  static constexpr std::size_t words = 2 + activity::label_room / 8;

  // Each word is released after the odd number, so that who sees a new word also sees that number.
  void publish() {
    const std::uint64_t before = sequence_.load(std::memory_order_relaxed);
    std::array<std::uint64_t, words> copy{static_cast<std::uint64_t>(mine_.step),
                                          static_cast<std::uint64_t>(mine_.kind) | static_cast<std::uint64_t>(mine_.now)
                                                                                       << 8};
    __builtin_memcpy(&copy[2], mine_.label, activity::label_room);
    sequence_.store(before + 1, std::memory_order_relaxed);
    for (std::size_t i = 0; i < words; ++i) shown_[i].store(copy[i], std::memory_order_release);
    sequence_.store(before + 2, std::memory_order_release);
  }

  activity mine_;
  std::atomic<std::uint64_t> sequence_{0};
  std::array<std::atomic<std::uint64_t>, words> shown_{};
};

}  // namespace meshpar::inline v0

namespace meshpar::inline v0::sockets {

inline void write(writer& w, const activity& a) {
  w.number(a.step).number(static_cast<std::uint8_t>(a.kind)).number(static_cast<std::uint8_t>(a.now));
  w.words(a.label);
}
inline activity read_activity(reader& r) {
  activity a;
  a.step = r.number<std::int64_t>();
  const auto kind = r.number<std::uint8_t>();
  a.kind = kind < call_kinds ? static_cast<call_kind>(kind) : call_kind::none;
  const auto now = r.number<std::uint8_t>();
  a.now = now <= static_cast<std::uint8_t>(doing::ended) ? static_cast<doing>(now) : doing::computing;
  const std::string_view label = r.words(activity::label_room - 1);
  for (std::size_t i = 0; i < label.size(); ++i) a.label[i] = label[i] >= ' ' && label[i] <= '~' ? label[i] : '?';
  return a;
}

}  // namespace meshpar::inline v0::sockets
