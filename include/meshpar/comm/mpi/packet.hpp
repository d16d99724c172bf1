// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/call.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace meshpar::inline v0::processes {

inline constexpr long inline_bytes = 4096;  // a piece up to here travels in the packet that announces it

enum class packet_kind : std::uint8_t {
  piece,      // of a collective
  message,    // a send
  receipt,    // what the sender has completed and taken
  broken,     // a call on the group failed
  cancelled,  // the same, and an exception is on its way
  failed,     // a rank failed, and with it the run
  ended,      // a rank's part of a run is over
  question,   // what are you in?
  answer
};

// What one rank tells another; the whole of the wire's protocol.
struct packet_header {
  packet_kind kind = packet_kind::piece;
  std::uint8_t stage = 0;  // an all-reduce sends its sums in stage 1
  call_kind call = call_kind::none;
  dtype element = dtype::f32, accumulate = dtype::f32;
  reduction how = reduction::sum;
  std::int32_t from = 0;      // the sender's index in the group
  std::int32_t peer = 0;      // call::peer
  std::int32_t bulk = 0;      // the MPI tag under which the bytes follow; 0: they are in the packet
  std::uint64_t group = 0;    // group_key of its members
  long outer = 0, inner = 0;  // of the call
  long bytes = 0;             // of the piece, message or text
  long sequence = 0;          // of the call in its group; of the run
  long completed = 0;         // calls on the group that the sender has completed
  long taken = 0;             // messages of the receiver on this group that the sender has taken
  char label[40] = {};
};
static_assert(sizeof(packet_header) == 120);

// The data begin on a boundary of 16 bytes for the reductions that read them here.
struct alignas(64) packet {
  packet_header head;
  std::byte pad[8];
  std::byte data[inline_bytes];
  int users = 0;
};
inline constexpr long header_bytes = 128;
static_assert(offsetof(packet, data) == header_bytes);

// The same list of ranks gives the same key in every process.
inline std::uint64_t group_key(std::span<const int> ranks) {
  std::uint64_t key = 14695981039346656037u;
  for (const int r : ranks) {
    key = (key ^ static_cast<std::uint64_t>(r)) * 1099511628211u;
    key ^= key >> 29;
  }
  return key;
}

inline void set_label(packet_header& h, const char* label) { std::strncpy(h.label, label, sizeof h.label - 1); }

inline void set_call(packet_header& h, const call& c) {
  h.call = c.kind;
  h.element = c.element;
  h.accumulate = c.accumulate;
  h.how = c.how;
  h.peer = c.peer;
  h.outer = c.outer;
  h.inner = c.inner;
  set_label(h, c.label);
}

// Its label lives as long as the header.
inline call call_of(const packet_header& h) {
  return {h.call, h.element, h.accumulate, h.how, h.peer, h.outer, h.inner, h.label};
}

inline void set_text(packet& p, std::string_view text) {
  p.head.bytes = std::min(static_cast<long>(text.size()), inline_bytes);
  std::memcpy(p.data, text.data(), static_cast<std::size_t>(p.head.bytes));
}
inline std::string text_of(const packet& p) {
  return {reinterpret_cast<const char*>(p.data), static_cast<std::size_t>(p.head.bytes)};
}

// Packets in use and to be used again.
class packet_pool {
 public:
  explicit packet_pool(int packets) {
    for (int i = 0; i < packets; ++i) add();
  }
  packet& take() {
    if (free_.empty()) add();
    packet& p = *free_.back();
    free_.pop_back();
    p.head = {};
    p.users = 1;
    return p;
  }
  void release(packet& p) {
    if (--p.users == 0) free_.push_back(&p);
  }
  long bytes() const { return static_cast<long>(all_.size() * sizeof(packet)); }

 private:
  void add() {
    all_.emplace_back(new packet);
    free_.reserve(all_.capacity());
    free_.push_back(all_.back().get());
  }

  std::vector<std::unique_ptr<packet>> all_;
  std::vector<packet*> free_;
};

}  // namespace meshpar::inline v0::processes
