// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/typing/transition.hpp>

namespace meshpar::inline v0::typing {

// Bytes of chunk i of n, when `elements` elements are cut as evenly as they go: the first elements % n chunks hold one
// more than the others.
constexpr std::int64_t chunk_bytes(std::int64_t bytes, std::int64_t element, int n, int i) {
  const std::int64_t elements = bytes / element;
  return (elements / n + (i < elements % n ? 1 : 0)) * element;
}

// Bytes that the rank at `position` of its group sends for a move of `bytes` local bytes of input, elements of
// `element` bytes. Rings: in a reduce-scatter position i sends every chunk but chunk i, which it ends with; in an
// all-gather every chunk but chunk i + 1, its neighbour's own; an all-reduce is one after the other. An all-to-all
// sends all pieces but the own one.
constexpr std::int64_t bytes_sent_by(int position, const move& t, std::int64_t bytes, const mesh& m,
                                     std::int64_t element = 1) {
  const int n = m.size(t.along);
  if (n == 1) return 0;
  const auto others = [&](int i) { return bytes - chunk_bytes(bytes, element, n, i % n); };
  switch (t.kind) {
    case collective::all_gather: return bytes * (n - 1);
    case collective::reduce_scatter: return others(position);
    case collective::all_to_all: return others(position);
    case collective::all_reduce:
    case collective::all_reduce_max: return others(position) + others(position + 1);
    case collective::permute: return bytes;
    default: return 0;
  }
}

// The most that any rank of the group sends; all send the same when the elements divide by the ranks. A permutation is
// counted as if no rank kept anything.
constexpr std::int64_t bytes_sent(const move& t, std::int64_t bytes, const mesh& m, std::int64_t element = 1) {
  const std::int64_t next_to_last = bytes_sent_by(m.size(t.along) - 2, t, bytes, m, element);
  const std::int64_t last = bytes_sent_by(m.size(t.along) - 1, t, bytes, m, element);
  return last < next_to_last ? next_to_last : last;
}

}  // namespace meshpar::inline v0::typing
