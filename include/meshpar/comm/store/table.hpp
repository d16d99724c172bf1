// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/store/frame.hpp>
#include <meshpar/comm/store/socket.hpp>
#include <meshpar/comm/words.hpp>

#include <map>
#include <set>

namespace meshpar::inline v0::sockets {

struct reply {
  int rank;
  std::uint32_t tag;
  frame_kind kind;
  std::string body;
};

// What the store knows and who waits for it; no sockets. A request is answered now or when what it waits for has come,
// cannot come any more, or took too long.
class store_table {
 public:
  explicit store_table(int size) : size_(size) {}

  std::vector<reply> take_replies() { return std::exchange(replies_, {}); }
  bool somebody_waits() const { return !waits_.empty(); }

  void joined(int rank) {
    joined_.insert(rank);
    lost_.erase(rank);
  }
  // A rank without a goodbye is lost: whoever waits may be waiting for it.
  void left(int rank, bool well) {
    std::erase_if(waits_, [&](const wait& w) { return w.rank == rank; });
    if (well) return;
    lost_.insert(rank);
    for (const wait& w : std::exchange(waits_, {})) fail(w.rank, w.tag, lost_words());
  }
  void refused(const std::string& why) {
    ++refusals_;
    refusal_ = why;
  }

  // Once only: the ranks that read a key must read the same.
  void set(int rank, std::uint32_t tag, std::string_view key, std::string_view value) {
    const auto at = values_.find(std::string(key));
    if (at == values_.end()) {
      const std::size_t more = key.size() + value.size() + 64;
      if (more > room - bytes_)
        return fail(rank, tag, "the store is full: it takes small values, " + std::to_string(room) + " bytes in all");
      bytes_ += more;
      values_[std::string(key)] = {rank, std::string(value)};
    } else if (at->second.value != value) {
      return fail(
          rank, tag,
          "rank " + std::to_string(at->second.rank) + " has already set '" + std::string(key) + "' to another value");
    }
    answer(rank, tag, "");
    std::erase_if(waits_, [&](const wait& w) {
      if (w.barrier || w.name != key) return false;
      answer(w.rank, w.tag, value);
      return true;
    });
  }

  void get(int rank, std::uint32_t tag, std::string_view key, double seconds) {
    const auto at = values_.find(std::string(key));
    if (at != values_.end()) return answer(rank, tag, at->second.value);
    enter({rank, tag, false, std::string(key), seconds, after(seconds)});
  }

  // Ends when all ranks are in it; its name may then be used again.
  void barrier(int rank, std::uint32_t tag, std::string_view name, double seconds) {
    const std::set<int> there = in_barrier(name);
    if (there.contains(rank)) return fail(rank, tag, "is already in barrier '" + std::string(name) + "'");
    if (static_cast<int>(there.size()) + 1 < size_)
      return enter({rank, tag, true, std::string(name), seconds, after(seconds)});
    answer(rank, tag, "");
    std::erase_if(waits_, [&](const wait& w) {
      if (!w.barrier || w.name != name) return false;
      answer(w.rank, w.tag, "");
      return true;
    });
  }

  // All whose time is over are told of the same ranks.
  void expire(instant now) {
    std::vector<wait> over;
    for (const wait& w : waits_)
      if (w.due <= now) over.push_back(w);
    for (const wait& w : over) fail(w.rank, w.tag, w.barrier ? missing_words(w) : unset_words(w));
    std::erase_if(waits_, [&](const wait& w) { return w.due <= now; });
  }

 private:
  static constexpr std::size_t room = 64 << 20;
  struct entry {
    int rank;
    std::string value;
  };
  struct wait {
    int rank;
    std::uint32_t tag;
    bool barrier;
    std::string name;
    double seconds;
    instant due;
  };

  void answer(int rank, std::uint32_t tag, std::string_view value) {
    replies_.push_back({rank, tag, frame_kind::answer, std::string(value)});
  }
  void fail(int rank, std::uint32_t tag, const std::string& why) {
    replies_.push_back({rank, tag, frame_kind::failure, why});
  }
  void enter(const wait& w) { lost_.empty() ? waits_.push_back(w) : fail(w.rank, w.tag, lost_words()); }

  std::set<int> in_barrier(std::string_view name) const {
    std::set<int> there;
    for (const wait& w : waits_)
      if (w.barrier && w.name == name) there.insert(w.rank);
    return there;
  }
  std::vector<int> all_but(const std::set<int>& some) const {
    std::vector<int> ranks;
    for (int r = 0; r < size_; ++r)
      if (!some.contains(r)) ranks.push_back(r);
    return ranks;
  }

  // ranks 2 and 5 of 8 did not come to barrier 'start' within 30.0 s
  std::string missing_words(const wait& w) const {
    return rank_words(all_but(in_barrier(w.name))) + " of " + std::to_string(size_) + " did not come to barrier '" +
           w.name + "' within " + seconds_words(w.seconds) + absent_words();
  }
  std::string unset_words(const wait& w) const {
    return "no rank set '" + w.name + "' within " + seconds_words(w.seconds) + absent_words();
  }
  std::string lost_words() const {
    const std::vector<int> lost(lost_.begin(), lost_.end());
    return rank_words(lost) + (lost.size() == 1 ? " was" : " were") + " killed or exited";
  }
  std::string absent_words() const {
    const std::vector<int> absent = all_but(joined_);
    std::string s;
    if (!absent.empty()) s += "; " + rank_words(absent) + " never reached rank 0's store";
    if (refusals_ > 0) s += "; refused there: " + std::to_string(refusals_) + ", the last because " + refusal_;
    return s;
  }

  int size_;
  std::map<std::string, entry> values_;
  std::size_t bytes_ = 0;
  std::vector<wait> waits_;
  std::set<int> joined_, lost_;
  std::vector<reply> replies_;
  long refusals_ = 0;
  std::string refusal_;
};

}  // namespace meshpar::inline v0::sockets
