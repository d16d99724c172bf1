// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/store/socket.hpp>
#include <meshpar/comm/watch/activity.hpp>
#include <meshpar/comm/words.hpp>

#include <vector>

namespace meshpar::inline v0 {

enum class end_reason : std::uint8_t { died, silent, failed, terminated, absent };

// Why a run cannot go on.
struct end_of_run {
  int rank = -1;  // the first at fault
  end_reason reason = end_reason::died;
  std::string line;            // rank 5 was killed or exited (its last: step 12, in all_reduce 'gradients')
  std::vector<activity> last;  // of each rank; empty when rank 0 is not there to tell
};

}  // namespace meshpar::inline v0

namespace meshpar::inline v0::sockets {

// Who of a run is alive, from what rank 0 hears; no sockets. The first that judge() finds ends the run. A death counts
// at once; a failure and a signal to end wait a moment, for they may be what a death has caused.
class watch_roll {
 public:
  static constexpr double moment = 0.3;

  watch_roll(int size, double join_time_out, double time_out)
      : join_time_out_(join_time_out), time_out_(time_out), ranks_(static_cast<std::size_t>(size)) {}

  void joined(int rank, instant now) {
    if (begin_ == instant{}) begin_ = now;
    at(rank).state = state::here;
    at(rank).heard = now;
  }
  void beat(int rank, const activity& a, instant now) {
    at(rank).last = a;
    at(rank).heard = now;
  }
  void goodbye(int rank) { at(rank).state = state::done; }
  void closed(int rank) {
    if (at(rank).state == state::here) at(rank).state = at(rank).told_to_end ? state::ended : state::dead;
  }
  void failed(int rank, std::string_view line, instant now) {
    suspect(rank, end_reason::failed, "rank " + std::to_string(rank) + " failed: " + std::string(line), now);
  }
  void terminated(int rank, instant now) {
    at(rank).told_to_end = true;
    suspect(rank, end_reason::terminated, "", now);
  }
  // Rank 0, which judges, has not run for so long: what was said meanwhile may not have been heard yet.
  void slept(double seconds, instant now) {
    slept_ = seconds;
    if (seconds > time_out_ / 2)
      for (entry& e : ranks_) e.heard = now;
  }

  bool all_done() const { return count(state::done) == ranks_.size(); }
  const activity& last(int rank) const { return ranks_[static_cast<std::size_t>(rank)].last; }
  bool suspects() const { return end_.rank >= 0; }
  bool ended() const { return ended_; }
  const end_of_run& end() const { return end_; }

  // Has the run come to its end just now?
  bool judge(instant now) {
    if (ended_) return false;
    if (slept_ > time_out_ / 2 && count(state::dead) > 0) return blame_rank_0();
    if (find(end_reason::died, " killed or exited", [](const entry& e) { return e.state == state::dead; })) return true;
    if (suspects() && now >= suspected_ + seconds(moment)) return finish();
    const auto silent = [&](const entry& e) { return e.state == state::here && now > e.heard + seconds(time_out_); };
    if (find(end_reason::silent, " silent for " + seconds_words(time_out_) + ": stopped, or the host is gone", silent))
      return true;
    if (begin_ == instant{} || now < begin_ + seconds(join_time_out_)) return false;
    return find(end_reason::absent, " absent: did not come within " + seconds_words(join_time_out_),
                [](const entry& e) { return e.state == state::absent; });
  }

 private:
  enum class state { absent, here, done, dead, ended };
  struct entry {
    enum state state = state::absent;
    bool told_to_end = false;
    instant heard{};
    activity last{};
  };

  entry& at(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  std::size_t count(state s) const {
    std::size_t n = 0;
    for (const entry& e : ranks_) n += e.state == s;
    return n;
  }

  void suspect(int rank, end_reason reason, const std::string& line, instant now) {
    if (suspects()) return;
    end_.rank = rank;
    end_.reason = reason;
    end_.line = line;
    suspected_ = now;
  }

  template <class Is>
  bool find(end_reason reason, const std::string& words, Is is) {
    std::vector<int> found;
    for (int r = 0; r < static_cast<int>(ranks_.size()); ++r)
      if (is(at(r))) found.push_back(r);
    if (found.empty()) return false;
    end_.rank = found[0];
    end_.reason = reason;
    end_.line = rank_words(found) + (found.size() == 1 ? " was" : " were") + words;
    if (reason != end_reason::absent)
      end_.line += (found.size() == 1 ? " (its last: " : " (the first's last: ") + describe(at(found[0]).last) + ")";
    return finish();
  }
  bool blame_rank_0() {
    end_ = {
        0, end_reason::silent, "rank 0 was stopped for " + seconds_words(slept_) + ", and the others gave it up", {}};
    return finish();
  }
  bool finish() {
    if (end_.reason == end_reason::terminated) {
      std::vector<int> told;
      for (int r = 0; r < static_cast<int>(ranks_.size()); ++r)
        if (at(r).told_to_end) told.push_back(r);
      end_.line = rank_words(told) + (told.size() == 1 ? " was" : " were") + " ended from outside (SIGTERM); rank " +
                  std::to_string(end_.rank) + "'s last: " + describe(at(end_.rank).last);
    }
    for (const entry& e : ranks_) end_.last.push_back(e.last);
    return ended_ = true;
  }

  double join_time_out_, time_out_;
  std::vector<entry> ranks_;
  double slept_ = 0;
  instant begin_{}, suspected_{};
  bool ended_ = false;
  end_of_run end_;
};

inline std::string encode(const end_of_run& e) {
  writer w;
  w.number(e.rank).number(static_cast<std::uint8_t>(e.reason)).words(e.line);
  const std::size_t told = std::min<std::size_t>(e.last.size(), 8192);  // what fits a frame
  w.number(static_cast<std::uint32_t>(told));
  for (std::size_t r = 0; r < told; ++r) write(w, e.last[r]);
  return w.take();
}
inline end_of_run read_end_of_run(std::string_view body, int size) {
  reader r(body);
  end_of_run e;
  e.rank = r.number<int>();
  e.reason = static_cast<end_reason>(std::min<int>(r.number<std::uint8_t>(), static_cast<int>(end_reason::absent)));
  e.line = r.words(body_limit);
  for (int n = std::min(r.number<int>(), size); n > 0 && r.whole(); --n) e.last.push_back(read_activity(r));
  return e;
}

}  // namespace meshpar::inline v0::sockets
