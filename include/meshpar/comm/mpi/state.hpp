// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/mpi/flight.hpp>
#include <meshpar/comm/mpi/transport.hpp>
#include <meshpar/comm/watch/activity.hpp>

#include <thread>

namespace meshpar::inline v0 {

struct mpi_options {
  double time_out = 300;                                              // seconds that one wait may last
  int cores = static_cast<int>(std::thread::hardware_concurrency());  // that the ranks of one machine share
};

}  // namespace meshpar::inline v0

namespace meshpar::inline v0::processes {

// A started call, until its wait is over.
struct ticket {
  call what;
  group_state* g = nullptr;
  flight* f = nullptr;
  bool used = false, done = false;
};

// What one rank knows: its groups and calls, and what the others have told it. How it tells them.
class rank_state {
 public:
  rank_state(MPI_Comm wire, int rank, int size, bool crowded, mpi_options options)
      : wire_(wire),
        options_(options),
        rank_(rank),
        size_(size),
        crowded_(crowded),
        runs_ended_(static_cast<std::size_t>(size)),
        where_(static_cast<std::size_t>(size)) {}

  int rank() const { return rank_; }
  int size() const { return size_; }
  [[noreturn]] void refuse(const call& what, const std::string& why) const {
    throw comm_error(me_text() + describe(what) + " " + why);
  }

 protected:
  static std::string describe(const call& what) { return v0::describe(what); }
  std::string me_text() const { return "rank " + std::to_string(rank_) + ": "; }

  group_state* find_group(std::uint64_t key) {
    for (auto& g : groups_)
      if (g->key() == key) return g.get();
    return nullptr;
  }

  void tell(int rank, packet_kind kind, const std::string& text, const group_state* g = nullptr, long sequence = 0) {
    packet& p = wire_.fresh();
    p.head.kind = kind;
    p.head.sequence = sequence;
    if (g) p.head.group = g->key();
    p.head.peer = rank_;
    set_text(p, text);
    wire_.send(p, rank);
    wire_.release(p);
  }

  // The first reason stays. own: the call whose words they are.
  void break_with(group_state& g, const std::string& reason, bool cancelled, long own = -1) {
    if (g.broken) return;
    mark_broken(g, reason, cancelled);
    g.reason_ticket = own;
    for (const int r : g.ranks())
      if (r != rank_) tell(r, cancelled ? packet_kind::cancelled : packet_kind::broken, reason, &g);
  }
  static void mark_broken(group_state& g, const std::string& reason, bool cancelled) {
    if (g.broken) return;
    g.broken = true;
    g.cancelled = cancelled;
    g.reason = reason;
  }

  void mark_failed(const std::string& failure) {
    if (failed_) return;
    failed_ = true;
    failure_ = failure;
    process_end::failed();
  }

  staging& borrow(long bytes) {
    staging* best = nullptr;
    for (auto& s : stagings_)
      if (!s->lent &&
          (!best || (best->bytes < bytes ? s->bytes > best->bytes : s->bytes >= bytes && s->bytes < best->bytes)))
        best = s.get();
    if (!best) best = stagings_.emplace_back(new staging).get();
    if (best->bytes < bytes) {
      best->data.reset();
      best->data.reset(new std::byte[static_cast<std::size_t>(bytes)]);
      best->bytes = bytes;
    }
    best->lent = true;
    return *best;
  }
  static void give_back(staging*& s) {
    if (s) s->lent = false;
    s = nullptr;
  }

  long open_ticket(const call& what, group_state& g, flight& f) {
    auto t = std::ranges::find(tickets_, false, &ticket::used);
    if (t == tickets_.end()) t = tickets_.insert(t, ticket{});
    *t = {what, &g, &f, true, false};
    f.ticket = t - tickets_.begin();
    return f.ticket;
  }
  ticket& ticket_of(long number) { return tickets_[static_cast<std::size_t>(number)]; }
  void close_flight(flight& f) {
    ticket_of(f.ticket).done = true;
    ticket_of(f.ticket).f = nullptr;
    f.ticket = -1;
  }

  transport wire_;
  mpi_options options_;
  int rank_, size_;
  bool crowded_;
  std::vector<std::unique_ptr<group_state>> groups_;  // by group::id
  std::vector<std::unique_ptr<flight>> messages_;
  std::vector<std::unique_ptr<staging>> stagings_;
  std::vector<ticket> tickets_;
  std::vector<packet*> early_;  // for groups that this rank has not joined yet
  std::vector<long> runs_ended_;
  std::vector<std::string> where_;  // the answers of other ranks
  activity_board now_;
  bool failed_ = false;
  std::string failure_;
};

}  // namespace meshpar::inline v0::processes
