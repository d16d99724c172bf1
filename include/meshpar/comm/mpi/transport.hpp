// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/mpi/library.hpp>
#include <meshpar/comm/mpi/packet.hpp>

#include <algorithm>

namespace meshpar::inline v0::processes {

struct flight;

// Whose bytes an MPI request moves.
struct transfer {
  flight* owner;
  int stage, member;
  bool incoming;
};

// Moves bytes between processes, and knows nothing of what they mean. Packets of one sender arrive in the order in
// which they were sent; bulk data go straight between the users' buffers, under a tag that their packet names.
class transport {
 public:
  explicit transport(MPI_Comm wire) : wire_(wire) {
    int found = 0, *bound = nullptr;
    check(MPI_Comm_get_attr(wire, MPI_TAG_UB, &bound, &found), "MPI_Comm_get_attr");
    last_tag_ = found ? std::min(*bound, 1 << 20) : 32767;
    for (slot& s : ring_) post(s);
    for (auto* v : {&requests_, &sends_}) v->reserve(256);
    transfers_.reserve(256);
    sent_.reserve(256);
    done_.reserve(256);
    indices_.resize(256);
  }

  packet& fresh() { return pool_.take(); }
  void release(packet& p) { pool_.release(p); }
  long packet_bytes() const { return pool_.bytes(); }

  // The packet may go to several ranks; its sender releases it afterwards.
  void send(packet& p, int rank) {
    send_more(p, rank);
    int done = 0;
    check(MPI_Test(&sends_.back(), &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (!done) return;
    pool_.release(*sent_.back());
    sends_.pop_back();
    sent_.pop_back();
  }
  // One of several: MPI is not asked whether it has gone until many have been sent. Where ranks share cores, a question
  // that it cannot answer at once costs this rank its turn, before the others have what they wait for.
  void send_more(packet& p, int rank) {
    if (sends_.size() >= ring_size) poll_sends();
    const long bytes = header_bytes + (p.head.bulk ? 0 : p.head.bytes);
    MPI_Request request;
    check(MPI_Isend(&p, static_cast<int>(bytes), MPI_BYTE, rank, packet_tag, wire_, &request), "MPI_Isend");
    ++p.users;
    sends_.push_back(request);
    sent_.push_back(&p);
  }

  // The next packet that has arrived, or null; its taker releases it.
  packet* receive() {
    slot& head = ring_[next_];
    int done = 0;
    check(MPI_Test(&head.request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (!done) return nullptr;
    packet* const arrived = head.p;
    post(head);
    next_ = (next_ + 1) % ring_size;
    return arrived;
  }

  int next_tag() { return tag_ = tag_ >= last_tag_ ? packet_tag + 1 : tag_ + 1; }

  // Returns the number of requests, each of which ends as one transfer in poll().
  int send_bulk(transfer t, const void* data, long bytes, int rank, int tag, bool acknowledged) {
    return in_parts(t, bytes, [&](long at, int count, MPI_Request* r) {
      const auto start = acknowledged ? MPI_Issend : MPI_Isend;
      return start(static_cast<const std::byte*>(data) + at, count, MPI_BYTE, rank, tag, wire_, r);
    });
  }
  int receive_bulk(transfer t, void* data, long bytes, int rank, int tag) {
    ++arriving_;
    const int parts = in_parts(t, bytes, [&](long at, int count, MPI_Request* r) {
      return MPI_Irecv(static_cast<std::byte*>(data) + at, count, MPI_BYTE, rank, tag, wire_, r);
    });
    arriving_ += parts - 1;
    return parts;
  }

  bool moving() const { return !requests_.empty(); }
  bool arriving() const { return arriving_ > 0; }  // bytes that a sender has announced
  bool sending_packets() {
    if (!sends_.empty()) poll_sends();
    return !sends_.empty();
  }

  // Calls done(transfer) for each request that has completed; were there any?
  template <class F>
  bool poll(F done) {
    if (requests_.empty()) return false;
    const int completed = test(requests_);
    if (completed <= 0) return false;
    done_.clear();
    for (std::size_t i = 0; i < static_cast<std::size_t>(completed); ++i)
      done_.push_back(transfers_[static_cast<std::size_t>(indices_[i])]);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < requests_.size(); ++i)
      if (requests_[i] != MPI_REQUEST_NULL) {
        requests_[kept] = requests_[i];
        transfers_[kept++] = transfers_[i];
      }
    requests_.resize(kept);
    transfers_.resize(kept);
    for (const transfer& t : done_) arriving_ -= t.incoming;
    for (const transfer& t : done_) done(t);
    return true;
  }

  bool moves(const flight& f) const {
    return std::ranges::any_of(transfers_, [&](const transfer& t) { return t.owner == &f; });
  }
  // Receives end at once unless their data are on the way; sends end when they are received, if ever.
  void cancel(const flight& f) {
    for (std::size_t i = 0; i < requests_.size(); ++i)
      if (transfers_[i].owner == &f && transfers_[i].incoming) MPI_Cancel(&requests_[i]);
  }
  void forget(const flight& f) {
    for (std::size_t i = requests_.size(); i-- > 0;)
      if (transfers_[i].owner == &f) {
        arriving_ -= transfers_[i].incoming;
        MPI_Request_free(&requests_[i]);
        requests_.erase(requests_.begin() + static_cast<long>(i));
        transfers_.erase(transfers_.begin() + static_cast<long>(i));
      }
  }

  // After it nothing arrives any more.
  void close() {
    for (slot& s : ring_) {
      MPI_Cancel(&s.request);
      MPI_Wait(&s.request, MPI_STATUS_IGNORE);
    }
  }

 private:
  static constexpr int ring_size = 16, packet_tag = 1;
  static constexpr long largest_part = 1L << 30;  // MPI counts in int

  struct slot {
    packet* p = nullptr;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  void post(slot& s) {
    s.p = &pool_.take();
    check(MPI_Irecv(s.p, static_cast<int>(header_bytes + inline_bytes), MPI_BYTE, MPI_ANY_SOURCE, packet_tag, wire_,
                    &s.request),
          "MPI_Irecv");
  }

  template <class Start>
  int in_parts(transfer t, long bytes, Start start) {
    int parts = 0;
    for (long at = 0; at < bytes; at += largest_part, ++parts) {
      MPI_Request request;
      check(start(at, static_cast<int>(std::min(largest_part, bytes - at)), &request), "starting a transfer");
      requests_.push_back(request);
      transfers_.push_back(t);
    }
    return parts;
  }

  int test(std::vector<MPI_Request>& of) {
    if (indices_.size() < of.size()) indices_.resize(2 * of.size());
    int completed = 0;
    check(MPI_Testsome(static_cast<int>(of.size()), of.data(), &completed, indices_.data(), MPI_STATUSES_IGNORE),
          "MPI_Testsome");
    return completed;
  }

  void poll_sends() {
    if (test(sends_) <= 0) return;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < sends_.size(); ++i)
      if (sends_[i] == MPI_REQUEST_NULL) pool_.release(*sent_[i]);
      else {
        sends_[kept] = sends_[i];
        sent_[kept++] = sent_[i];
      }
    sends_.resize(kept);
    sent_.resize(kept);
  }

  MPI_Comm wire_;
  packet_pool pool_{4 * ring_size};
  slot ring_[ring_size];
  int next_ = 0, tag_ = packet_tag, last_tag_ = 0, arriving_ = 0;
  std::vector<MPI_Request> requests_, sends_;
  std::vector<transfer> transfers_, done_;
  std::vector<packet*> sent_;
  std::vector<int> indices_;
};

}  // namespace meshpar::inline v0::processes
