// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/mpi/packet.hpp>

#include <atomic>

namespace meshpar::inline v0::processes {

class group_state;

// Memory that calls borrow; grows when it must.
struct staging {
  std::unique_ptr<std::byte[]> data;
  long bytes = 0;
  bool lent = false;
};

// What has come from one member, and what is under way to it.
struct piece {
  packet* kept = nullptr;  // has come and is still needed
  bool here = false;
  int parts = 0;    // requests that receive the piece
  int sending = 0;  // requests that send that member its piece of this stage
};

// A call of this rank that is not complete, with what has come of it already, perhaps before it began. Collectives lie
// in the ring of their group, messages in a list of the rank.
struct flight {
  group_state* g = nullptr;
  long sequence = -1;
  long ticket = -1;  // whose wait it ends; none before it begins and after it is complete
  call what;
  const std::byte* in = nullptr;
  std::byte* out = nullptr;
  bool whole = false;  // an all-reduce in which everybody sums everything
  bool cancelled = false;
  int stage = 0;
  int missing[2] = {};  // pieces
  int sending = 0;      // requests
  long reduced = 0;     // elements
  staging *arrivals = nullptr, *departures = nullptr;
  std::vector<piece> pieces;  // [2][n]
  std::vector<long> counts;   // [4][n], of all_to_all_v: see exchange

  bool active() const { return ticket >= 0; }
  bool is_send() const { return what.kind == call_kind::send; }
  bool is_message() const { return is_send() || what.kind == call_kind::receive; }
  piece& at(int of_stage, int member) {
    return pieces[static_cast<std::size_t>(of_stage) * pieces.size() / 2 + static_cast<std::size_t>(member)];
  }
};

// Messages between this rank and one other member.
struct channel {
  long sent = 0, taken_by_peer = 0;  // from here
  long taken = 0, told = 0;          // to here; told: what the peer knows of
};

// A group as this process sees it.
class group_state {
 public:
  static constexpr int depth = 16;  // calls in flight on one group, messages under way to one member

  group_state(std::span<const int> ranks, int me)
      : peer_completed(ranks.size()),
        told(ranks.size()),
        channels(ranks.size()),
        ranks_(ranks.begin(), ranks.end()),
        me_(me),
        key_(group_key(ranks)) {
    for (flight& f : ring_) {
      f.g = this;
      f.pieces.resize(2 * ranks.size());
      f.counts.resize(4 * ranks.size());
    }
    mail.reserve(depth * ranks.size());
    receivers.reserve(depth * ranks.size());
    waiting_sends.reserve(depth * ranks.size());
  }
  group_state(const group_state&) = delete;
  group_state& operator=(const group_state&) = delete;

  int size() const { return static_cast<int>(ranks_.size()); }
  int me() const { return me_; }
  int next_of(int member) const { return member + 1 == size() ? 0 : member + 1; }
  std::uint64_t key() const { return key_; }
  std::span<const int> ranks() const { return ranks_; }
  int rank(int member) const { return ranks_[static_cast<std::size_t>(member)]; }
  flight& slot(long sequence) { return ring_[sequence % depth]; }
  channel& to(int member) { return channels[static_cast<std::size_t>(member)]; }
  bool has_completed(int member, long sequence) const {
    return member == me_ || peer_completed[static_cast<std::size_t>(member)] > sequence;
  }

  long next = 0;                     // the next collective's number
  long completed = 0;                // all collectives below are complete here
  std::vector<long> peer_completed;  // and there
  std::vector<long> told;            // what each member knows of `completed`
  long looked = 0;                   // `completed` when `told` was last looked through
  std::vector<channel> channels;
  std::vector<packet*> mail;           // messages that no receive has asked for
  std::vector<flight*> receivers;      // receives that no message has answered
  std::vector<flight*> waiting_sends;  // sends for which there was no room
  bool broken = false, cancelled = false;
  std::string reason;       // once broken
  long reason_ticket = -1;  // whose own words the reason is
  long calls[call_kinds] = {};
  std::atomic<long> received{0};

 private:
  std::vector<int> ranks_;
  int me_;
  std::uint64_t key_;
  flight ring_[depth];
};

}  // namespace meshpar::inline v0::processes
