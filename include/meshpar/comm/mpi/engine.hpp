// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/group.hpp>
#include <meshpar/comm/mpi/messages.hpp>
#include <meshpar/comm/patience.hpp>
#include <meshpar/comm/words.hpp>

namespace meshpar::inline v0::processes {

// Starts, finishes and cancels the calls of this process's rank. The lock keeps the rank's thread and the thread that
// makes progress while the rank computes from entering MPI together; a wait holds it from beginning to end. Allocates
// when more is in flight or larger than ever before, when a group is joined and when something fails, else never.
class rank_engine : public messages {
 public:
  using messages::messages;

  void label(const char* text) { label_ = text; }
  void step(long number) { now_.step(number); }
  const activity_board& activity() const { return now_; }

  group join(std::span<const int> ranks) {
    const int place = place_in(ranks, rank_, size_);
    const std::lock_guard lock(mutex_);
    group_state* g = find_group(group_key(ranks));
    if (!g) g = groups_.emplace_back(new group_state(ranks, place)).get();
    if (!std::ranges::equal(g->ranks(), ranks)) throw comm_error(me_text() + "two groups have the same key");
    for (std::size_t waiting = early_.size(); waiting-- > 0;) {
      packet* const p = early_.front();
      early_.erase(early_.begin());
      dispatch(*p);
    }
    const auto at = std::ranges::find(groups_, g, &std::unique_ptr<group_state>::get);
    return {g->ranks(), place, static_cast<int>(at - groups_.begin())};
  }
  long received(const group& g) const { return state(g).received.load(std::memory_order_relaxed); }
  const long* calls(const group& g) const { return state(g).calls; }
  long staging_bytes() {
    const std::lock_guard lock(mutex_);
    long sum = 0;
    for (const auto& s : stagings_) sum += s->bytes;
    return sum;
  }
  long packet_bytes() {
    const std::lock_guard lock(mutex_);
    return wire_.packet_bytes();
  }

  long start_collective(const group& g, const call& what, const void* in, long in_bytes, void* out) {
    const std::lock_guard lock(mutex_);
    flight& f = begin(g, what);
    f.whole = what.kind == call_kind::all_reduce && in_bytes <= inline_bytes && in_bytes * g.size() <= 4 * inline_bytes;
    return launch(f, in, out);
  }

  long start_exchange(const group& g, const call& what, const void* in, void* out, const exchange& each) {
    const std::lock_guard lock(mutex_);
    flight& f = begin(g, what);
    f.whole = false;
    for (int part = 0; part < 4; ++part) std::ranges::copy(each.parts[part], f.counts.begin() + part * g.size());
    return launch(f, in, out);
  }

  long start_send(const group& g, const call& what, const void* in) {
    const std::lock_guard lock(mutex_);
    flight& f = fresh_message(state(g), enter(g, what));
    f.in = static_cast<const std::byte*>(in);
    const long number = open_ticket(f.what, *f.g, f);
    post_send(f);
    return number;
  }

  long start_receive(const group& g, const call& what, void* out) {
    const std::lock_guard lock(mutex_);
    flight& f = fresh_message(state(g), enter(g, what));
    f.out = static_cast<std::byte*>(out);
    const long number = open_ticket(f.what, *f.g, f);
    post_receive(f);
    return number;
  }

  void finish(long number) {
    const std::lock_guard lock(mutex_);
    try {
      if (!ticket_of(number).done) {
        now_.become(doing::waiting);
        wait_for(number);
        now_.become(doing::computing);
      }
    } catch (...) {
      abandon(number);
      throw;
    }
    ticket_of(number).used = false;
  }

  // Returns when nothing moves to or from this call's buffers any more; after a second MPI may still read those of a
  // send that nobody receives.
  void cancel(long number) noexcept {
    const std::lock_guard lock(mutex_);
    abandon(number);
  }

  std::string describe(long number) {
    const std::lock_guard lock(mutex_);
    return me_text() + describe(ticket_of(number).what);
  }

 protected:
  using messages::describe;
  using messages::launch;

  // Looks once at what has come; has anything moved?
  bool progress() {
    bool moved = false;
    if (packet* p = wire_.receive()) {
      dispatch(*p);
      moved = true;
    }
    moved |= wire_.poll([this](const transfer& t) {
      if (t.owner->cancelled) return;
      t.owner->is_message() ? on_message_transfer(t) : on_transfer(t);
    });
    if (reducing()) {
      continue_reductions();
      moved = true;
    }
    return moved;
  }

  // Until done(), unless something fails first. misses(rank): is it waited for?
  template <class Done, class Misses>
  void wait_until(group_state* g, const call& what, long number, Done done, Misses misses) {
    clock::time_point begin{};
    patience patience(crowded_);
    for (long turn = 0; !done(); ++turn) {
      const bool doomed = failed_ || !fault_.empty() || (g && g->broken);
      if (doomed || (turn & 15) == 15) {
        const auto now = clock::now();
        if (begin == clock::time_point{}) begin = now;
        const double waited = std::chrono::duration<double>(now - begin).count();
        if (!give_up(g, what, number, waited, misses)) begin = clock::now();
      }
      if (progress()) patience = v0::patience(crowded_);
      else if (turn & 3) continue;  // an idle poll may have yielded already, inside MPI
      else if (!wire_.arriving()) patience.pause();
      else if (crowded_) std::this_thread::yield();
    }
  }

  std::mutex& mutex_ = entrance();
  std::string fault_;  // of MPI, as the progress thread met it
  long run_ = 0;       // number of this run

 private:
  using clock = std::chrono::steady_clock;

  group_state& state(const group& g) const { return *groups_[static_cast<std::size_t>(g.id())]; }

  call enter(const group& g, const call& given) {
    call what = given;
    what.label = label_;
    now_.start(what.kind, label_);
    group_state& s = state(g);
    if (what.inner < 0 || (what.outer < 0 && what.kind != call_kind::send && what.kind != call_kind::receive))
      refuse(what, "has a negative size");
    if (failed_) throw run_aborted(failure_);
    if (s.broken) leave_broken(s, what, -1);
    ++s.calls[static_cast<int>(what.kind)];
    return what;
  }

  // Waits until the call `depth` before this one is complete everywhere: its slot is used again.
  flight& begin(const group& group, const call& given) {
    const call what = enter(group, given);
    group_state& g = state(group);
    flight& f = g.slot(g.next);
    const long old = g.next - group_state::depth;
    if (f.active()) progress();
    if (f.active())
      refuse(what, "is number " + std::to_string(group_state::depth + 1) +
                       " in flight on one group: wait for an earlier one first");
    const auto all_completed = [&] {
      for (int q = 0; q < g.size(); ++q)
        if (!g.has_completed(q, old)) return false;
      return true;
    };
    if (!all_completed()) {
      tell_all(g);
      wait_until(&g, what, -1, all_completed, [&](int q) { return !g.has_completed(q, old); });
    }
    f.what = what;
    f.sequence = g.next++;
    f.cancelled = false;
    return f;
  }

  long launch(flight& f, const void* in, void* out) {
    f.in = static_cast<const std::byte*>(in);
    f.out = static_cast<std::byte*>(out);
    const long number = open_ticket(f.what, *f.g, f);
    launch(f);
    return number;
  }

  void wait_for(long number) {
    const ticket t = ticket_of(number);
    flight& f = *t.f;
    const pieces_of pieces(f);
    wait_until(
        t.g, t.what, number, [&] { return ticket_of(number).done; },
        [&](int q) {
          if (f.is_message()) return q == f.what.peer;
          const bool second = f.stage == 1 && f.missing[0] == 0;
          return (pieces.awaits(q) && (!f.at(0, q).here || (second && !f.at(1, q).here))) || f.at(0, q).sending > 0 ||
                 f.at(1, q).sending > 0;
        });
  }

  void abandon(long number) noexcept {
    ticket& t = ticket_of(number);
    if (!t.done) {
      flight& f = *t.f;
      try {
        break_with(*t.g, me_text() + "cancelled " + describe(t.what), true);
        std::erase(t.g->receivers, &f);
        std::erase(t.g->waiting_sends, &f);
        wire_.cancel(f);
        f.cancelled = true;
        for (const auto end = clock::now() + std::chrono::seconds(1); wire_.moves(f) && clock::now() < end;) progress();
      } catch (...) {  // MPI itself fails: whatever is wrong has been said
      }
      wire_.forget(f);
      if (!f.is_message()) drop_pieces(f);
      f.ticket = -1;
    }
    t.used = false;
  }

  void dispatch(packet& p) {
    const packet_header& h = p.head;
    switch (h.kind) {
      case packet_kind::failed: mark_failed(text_of(p)); break;
      case packet_kind::ended:
        runs_ended_[static_cast<std::size_t>(h.peer)] = h.sequence + 1;
        where_[static_cast<std::size_t>(h.peer)] = text_of(p);
        break;
      case packet_kind::question: tell(h.peer, packet_kind::answer, v0::describe(now_.read())); break;
      case packet_kind::answer: where_[static_cast<std::size_t>(h.peer)] = text_of(p); break;
      default: return dispatch_to_group(p);
    }
    wire_.release(p);
  }
  void dispatch_to_group(packet& p) {
    group_state* const g = find_group(p.head.group);
    if (!g) return early_.push_back(&p);
    switch (p.head.kind) {
      case packet_kind::piece: return on_piece(*g, p);
      case packet_kind::message: return on_message(*g, p);
      case packet_kind::receipt: return on_receipt(*g, p);
      default: mark_broken(*g, text_of(p), p.head.kind == packet_kind::cancelled); wire_.release(p);
    }
  }

  // Throws if this wait is over. False: the time-out has passed, but the end of a run waits for ranks that answer.
  template <class Misses>
  bool give_up(group_state* g, const call& what, long number, double waited, Misses misses) {
    if (failed_) throw run_aborted(failure_);
    if (!fault_.empty()) throw comm_error(me_text() + fault_);
    if (g && g->broken) leave_broken(*g, what, number);
    const bool vain = waited > 0.1 && g && misses_ended(*g, what, misses);
    if (!vain && waited <= options_.time_out) return true;
    std::vector<int> ranks;
    for (int q = 0; q < (g ? g->size() : size_); ++q)
      if (const int r = g ? g->rank(q) : q; r != rank_ && misses(q)) ranks.push_back(r);
    const bool silent = !vain && !all_answer(ranks);
    if (!g && !silent) return false;
    const std::string text = me_text() + (g ? describe(what) : "the end of the run") +
                             (vain ? " waits in vain for " : " waited " + seconds_words(waited) + " for ") +
                             names_of(ranks);
    if (g) break_with(*g, text, false);
    throw comm_error(text);
  }

  // A cancelled call means that an exception is on its way on its rank; give it a second to become the run's failure.
  [[noreturn]] void leave_broken(group_state& g, const call& what, long number) {
    if (number >= 0 && g.reason_ticket == number) throw comm_error(g.reason);
    for (const auto end = clock::now() + std::chrono::seconds(1); g.cancelled && !failed_ && clock::now() < end;) {
      progress();
      std::this_thread::yield();
    }
    if (failed_) throw run_aborted(failure_);
    refuse(what, "cannot complete: " + g.reason);
  }

  template <class Misses>
  bool misses_ended(const group_state& g, const call& what, Misses misses) {
    if (what.kind == call_kind::send && what.inner <= inline_bytes) return false;
    for (int q = 0; q < g.size(); ++q)
      if (q != g.me() && runs_ended_[static_cast<std::size_t>(g.rank(q))] > run_ && misses(q)) return true;
    return false;
  }

  // Asks them what they are in, for at most a second.
  bool all_answer(const std::vector<int>& ranks) {
    for (const int r : ranks) {
      where_[static_cast<std::size_t>(r)].clear();
      tell(r, packet_kind::question, "");
    }
    const auto silent = [&](int r) { return where_[static_cast<std::size_t>(r)].empty(); };
    for (const auto end = clock::now() + std::chrono::seconds(1);
         std::ranges::any_of(ranks, silent) && clock::now() < end; std::this_thread::yield())
      progress();
    return std::ranges::none_of(ranks, silent);
  }
  // rank 2 (waiting in receive 'activation'), rank 3 (silent)
  std::string names_of(const std::vector<int>& ranks) const {
    std::string text;
    for (const int r : ranks) {
      const std::string& where = where_[static_cast<std::size_t>(r)];
      text +=
          (text.empty() ? "rank " : ", rank ") + std::to_string(r) + " (" + (where.empty() ? "silent" : where) + ")";
    }
    return text;
  }

  const char* label_ = "";
};

}  // namespace meshpar::inline v0::processes
