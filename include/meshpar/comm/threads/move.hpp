// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/chunk.hpp>
#include <meshpar/comm/reduce.hpp>
#include <meshpar/comm/threads/group.hpp>

#include <algorithm>

namespace meshpar::inline v0::threading {

inline const std::byte* bytes_at(const void* p, long offset) { return static_cast<const std::byte*>(p) + offset; }
inline std::byte* bytes_at(void* p, long offset) { return static_cast<std::byte*>(p) + offset; }

inline constexpr long gather_block = 4096;  // bytes: stays in the first cache while it goes to all outputs

// Moves one member's share of the data of a call, after all members have posted it. Exchanges and reduce-scatters read
// from peers; a large gather writes the own piece, and a large all-reduce the own chunk, to every output. Counts the
// bytes that reach each member as it goes: see threads::received.
class mover {
 public:
  // by: who moves the share of member me, own: its input, for a core that reads back what it has just copied for its
  // peers waits until they have let go of those lines; in, out: room for n pointers each
  mover(group_state& g, int by, const void* own, int me, long sequence, const void** in, void** out)
      : g_(g),
        by_(by),
        own_(own),
        me_(me),
        sequence_(sequence),
        in_(in),
        out_(out),
        mine_(g.slot_of(me, sequence)),
        what_(mine_.what) {}

  void move(bool eager) {
    transfer(eager);
    if (stream_) stream_fence();
  }

 private:
  void transfer(bool eager) {
    switch (what_.kind) {
      case call_kind::all_gather: return eager ? all_gather_alone() : all_gather_own_piece();
      case call_kind::reduce_scatter: return reduce_scatter();
      case call_kind::all_reduce: return eager ? all_reduce_alone() : all_reduce_own_chunk();
      case call_kind::all_to_all: return all_to_all();
      case call_kind::all_to_all_v: return all_to_all_v();
      case call_kind::broadcast: return broadcast();
      default: return;
    }
  }

  void all_gather_alone() {
    for (int q = me_, i = 0; i < n(); ++i, q = next(q))
      for (long o = 0; o < what_.outer; ++o)
        take(q, gathered(mine_, o, q), bytes_at(from(q), o * what_.inner), what_.inner);
  }

  // Each block of the own piece is read from memory once and goes to all outputs.
  void all_gather_own_piece() {
    stream_ = n() * what_.outer * what_.inner >= streaming_bytes;
    for (long o = 0; o < what_.outer; ++o)
      for (long at = 0; at < what_.inner; at += gather_block)
        for (int q = me_, i = 0; i < n(); ++i, q = next(q))
          put(gathered(g_.slot_of(q, sequence_), o, me_) + at, bytes_at(mine_.in, o * what_.inner + at),
              std::min(gather_block, what_.inner - at));
    for (int q = 0; q < n(); ++q)
      if (q != me_) receives(q, what_.outer * what_.inner);
  }
  std::byte* gathered(const slot& s, long outer, int member) const {
    return bytes_at(s.out, (outer * n() + member) * what_.inner);
  }

  void all_to_all() {
    stream_ = n() * what_.inner >= streaming_bytes;
    for (int q = me_, i = 0; i < n(); ++i, q = next(q))
      take(q, bytes_at(mine_.out, q * what_.inner), bytes_at(from(q), me_ * what_.inner), what_.inner);
  }

  void all_to_all_v() {
    const long* receive = g_.counts_of(me_, sequence_) + 2 * n();
    for (int q = me_, i = 0; i < n(); ++i, q = next(q))
      take(q, bytes_at(mine_.out, receive[n() + q]), bytes_at(from(q), g_.counts_of(q, sequence_)[n() + me_]),
           receive[q]);
  }

  void broadcast() {
    stream_ = what_.inner >= streaming_bytes;
    if (what_.peer != me_)
      take(what_.peer, static_cast<std::byte*>(mine_.out), bytes_at(from(what_.peer), 0), what_.inner);
  }

  void reduce_scatter() {
    const long piece = what_.inner * size_of(what_.element);
    stream_ = what_.outer * piece >= streaming_bytes;
    for (long o = 0; o < what_.outer; ++o) {
      for (int q = 0; q < n(); ++q) in_[q] = bytes_at(from(q), (o * n() + me_) * piece);
      out_[0] = bytes_at(mine_.out, o * piece);
      reduce(1, {0, what_.inner});
    }
    receives(me_, (n() - 1) * what_.outer * piece);
  }

  void all_reduce_own_chunk() {
    const chunk own = chunk_of(what_.inner, n(), me_);
    for (int q = 0; q < n(); ++q) {
      in_[q] = from(q);
      out_[q] = g_.slot_of(q, sequence_).out;
    }
    const long bytes = own.size() * size_of(what_.element);
    stream_ = n() * bytes >= streaming_bytes;
    reduce(n(), own);
    for (int q = 0; q < n(); ++q) receives(q, q == me_ ? (n() - 1) * bytes : bytes);
  }

  // Counts what the chunked form would have received.
  void all_reduce_alone() {
    for (int q = 0; q < n(); ++q) in_[q] = from(q);
    out_[0] = mine_.out;
    reduce(1, {0, what_.inner});
    const long own = chunk_of(what_.inner, n(), me_).size();
    receives(me_, ((n() - 1) * own + what_.inner - own) * size_of(what_.element));
  }

  void reduce(int outs, chunk part) {
    reducer(what_.element, what_.accumulate, what_.how)(in_, n(), {out_, outs, stream_}, part.begin, part.end);
  }

  void take(int q, std::byte* to, const std::byte* piece, long bytes) {
    put(to, piece, bytes);
    if (q != me_) receives(me_, bytes);
  }
  void put(std::byte* to, const std::byte* piece, long bytes) {
    if (to != piece) move_bytes(to, piece, bytes, stream_);
  }
  void receives(int member, long bytes) { g_.count(by_, member, bytes); }

  int n() const { return g_.size(); }
  int next(int q) const { return q + 1 == n() ? 0 : q + 1; }
  const void* from(int q) const { return q == by_ ? own_ : g_.slot_of(q, sequence_).in; }

  group_state& g_;
  int by_;
  const void* own_;
  int me_;
  long sequence_;
  const void** in_;
  void** out_;
  slot& mine_;
  const call& what_;
  bool stream_ = false;
};

}  // namespace meshpar::inline v0::threading
