// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/chunk.hpp>
#include <meshpar/comm/mpi/flight.hpp>

namespace meshpar::inline v0::processes {

// Memory of one piece: `blocks` times `bytes`, `stride` bytes apart.
struct strided {
  std::byte* data = nullptr;
  long blocks = 1, bytes = 0, stride = 0;
  long size() const { return blocks * bytes; }
  bool contiguous() const { return blocks == 1 || stride == bytes; }
};

inline void copy_bytes(std::byte* to, const std::byte* from, long bytes) {
  if (bytes > 0 && to != from) std::memcpy(to, from, static_cast<std::size_t>(bytes));
}
inline void pack(std::byte* to, const strided& from) {
  if (from.contiguous()) return copy_bytes(to, from.data, from.size());
  for (long b = 0; b < from.blocks; ++b) copy_bytes(to + b * from.bytes, from.data + b * from.stride, from.bytes);
}
inline void unpack(const strided& to, const std::byte* from) {
  if (to.contiguous()) return copy_bytes(to.data, from, to.size());
  for (long b = 0; b < to.blocks; ++b) copy_bytes(to.data + b * to.stride, from + b * to.bytes, to.bytes);
}

// Blocks of this size and more travel one by one, between their own places; shorter ones are packed where they do not
// lie side by side. Both sides of a call know the same blocks, and so decide alike.
inline constexpr long block_bytes = 16384;
inline bool by_blocks(const strided& s) { return s.blocks > 1 && s.bytes >= block_bytes; }

// Which memory a collective sends to each member and receives from it.
class pieces_of {
 public:
  explicit pieces_of(const flight& f) : f_(f), n_(f.g->size()), me_(f.g->me()), inner_(bytes_of(f.what)) {}

  bool sends(int q) const {
    return q != me_ && (f_.what.kind != call_kind::broadcast || f_.what.peer == me_ || f_.what.peer == q);
  }
  bool awaits(int q) const { return q != me_ && (f_.what.kind != call_kind::broadcast || f_.what.peer == q); }

  strided outgoing(int stage, int q) const {
    auto* const in = const_cast<std::byte*>(f_.in);
    switch (f_.what.kind) {
      case call_kind::all_gather: return {in, f_.what.outer, inner_, inner_};
      case call_kind::reduce_scatter: return spread(in, q);
      case call_kind::all_reduce: return f_.whole ? one(in, inner_) : stage == 0 ? part(in, q) : part(f_.out, me_);
      case call_kind::all_to_all: return one(in + q * inner_, inner_);
      case call_kind::all_to_all_v: return one(in + count(1, q), count(0, q));
      case call_kind::broadcast: return one(f_.out, f_.what.peer == me_ ? inner_ : 0);
      default: return {};
    }
  }

  // Null data where the piece of a reduction is staged: see staged().
  strided incoming(int stage, int q) const {
    switch (f_.what.kind) {
      case call_kind::all_gather: return spread(f_.out, q);
      case call_kind::reduce_scatter: return {nullptr, f_.what.outer, inner_, inner_};
      case call_kind::all_reduce:
        return f_.whole ? one(nullptr, inner_) : stage == 0 ? one(nullptr, part(f_.out, me_).bytes) : part(f_.out, q);
      case call_kind::all_to_all: return one(f_.out + q * inner_, inner_);
      case call_kind::all_to_all_v: return one(f_.out + count(3, q), count(2, q));
      case call_kind::broadcast: return one(f_.out, f_.what.peer == q ? inner_ : 0);
      default: return {};
    }
  }

  // The place of member q among equal pieces of all others.
  std::byte* staged(const staging* s, int q, long bytes) const { return s->data.get() + (q < me_ ? q : q - 1) * bytes; }

  // Bytes that this rank receives from the others in an all-reduce by chunks; counted for a whole one too.
  long ring_bytes() const {
    const long own = part(nullptr, me_).bytes;
    return (n_ - 1) * own + inner_ - own;
  }
  strided part(std::byte* base, int q) const {
    const chunk c = chunk_of(f_.what.inner, n_, q);
    const long size = size_of(f_.what.element);
    return one(base + c.begin * size, c.size() * size);
  }

 private:
  static long bytes_of(const call& c) { return is_reduction(c.kind) ? c.inner * size_of(c.element) : c.inner; }
  static strided one(std::byte* data, long bytes) { return {data, 1, bytes, bytes}; }
  strided spread(std::byte* base, int q) const { return {base + q * inner_, f_.what.outer, inner_, n_ * inner_}; }
  long count(int which, int q) const { return f_.counts[static_cast<std::size_t>(which * n_ + q)]; }

  const flight& f_;
  int n_, me_;
  long inner_;
};

}  // namespace meshpar::inline v0::processes
