// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/patience.hpp>
#include <meshpar/comm/threads/pending.hpp>
#include <meshpar/comm/threads/run.hpp>

namespace meshpar::inline v0::threading {

// How one rank says that a call cannot complete. What it throws starts with its own number and names the call.
class rank_refusal {
 public:
  rank_refusal(run_state& run, int rank) : run_(run), rank_(rank) {}

  int rank() const { return rank_; }
  run_state& run() { return run_; }

  [[noreturn]] void refuse(const call& what, const std::string& why) const {
    throw comm_error(me_text() + describe(what) + " " + why);
  }

 protected:
  static std::string describe(const call& what) { return v0::describe(what); }
  std::string me_text() const { return "rank " + std::to_string(rank_) + ": "; }

  void compare(const pending& p, int q) const {
    const call& other = p.g->slot_of(q, p.sequence).what;
    if (!matches(p.what, other)) leave(p, mismatch(p, q, other));
  }

  // Every member looks at all pairs, so that all of them refuse.
  void compare_counts(const pending& p) const {
    const int n = p.g->size();
    for (int from = 0; from < n; ++from)
      for (int to = 0; to < n; ++to) {
        const long sent = p.g->counts_of(from, p.sequence)[to];
        const long expected = p.g->counts_of(to, p.sequence)[2 * n + from];
        if (sent != expected)
          leave(p, ": rank " + std::to_string(p.g->rank(from)) + " sends " + std::to_string(sent) + " bytes to rank " +
                       std::to_string(p.g->rank(to)) + ", which expects " + std::to_string(expected));
      }
  }

  // Somebody left this group: say how this rank disagrees with a peer, or else pass the reason on. A cancelled call
  // means that an exception is unwinding on its rank; give it a second to become the failure of the run.
  [[noreturn]] void leave_broken(const pending& p) {
    if (p.serial && !p.is_message())
      for (int q = 0; q < p.g->size(); ++q)
        if (p.has_posted(q)) compare(p, q);
    for (patience patience(true); p.g->cancelled() && patience.waited() < 1; patience.pause())
      if (run_.failed()) throw run_aborted(run_.failure());
    refuse(p.what, "cannot complete: " + p.g->reason());
  }

  [[noreturn]] void leave(const pending& p, const std::string& why) const {
    const std::string text = me_text() + describe(p.what) + why;
    p.g->break_with(text, false);
    throw comm_error(text);
  }

  std::string mismatch(const pending& p, int q, const call& other) const {
    return " does not match rank " + std::to_string(p.g->rank(q)) + "'s " + describe(other);
  }

  std::string missing(const pending& p) {
    std::string text;
    for (int q = 0; q < p.g->size(); ++q)
      if (q != p.me && p.misses(q)) text += (text.empty() ? "" : ", ") + run_.where(p.g->rank(q));
    return text;
  }

  run_state& run_;
  int rank_;
};

}  // namespace meshpar::inline v0::threading
