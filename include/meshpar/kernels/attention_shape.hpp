// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/kernels/block.hpp>
#include <meshpar/kernels/dropout.hpp>

namespace meshpar::inline v0::kernels {

// Element (position, batch, head, i) stands at the sum of index times stride, plus i.
struct attention_strides {
  long position = 0, batch = 0, head = 0;
};

// Contiguous [positions, batch, heads, head_dim].
constexpr attention_strides position_major(long batch, long heads, long head_dim) {
  return {batch * heads * head_dim, heads * head_dim, head_dim};
}

// Which keys a query sees, by global positions: from key_begin up to key_end. Both grow with the query, which is all
// that the tiles rely on. A window of w lets a query see w keys up to itself (and as far ahead where not causal).
struct attention_mask {
  bool causal = true;
  long window = 0;  // 0: no limit

  MESHPAR_HD constexpr long key_begin(long query) const { return window > 0 ? query - window + 1 : least_long; }
  MESHPAR_HD constexpr long key_end(long query) const {
    return causal ? query + 1 : window > 0 ? query + window : most_long;
  }
  MESHPAR_HD constexpr bool allowed(long query, long key) const {
    return key_begin(query) <= key && key < key_end(query);
  }
};

// One attention of q[queries, batch, heads, head_dim] over k and v[keys, batch, kv_heads, head_dim], query head h
// reading key head h / (heads / kv_heads). A gradient has the strides of its value. The starts are global indices of
// the first query, key, sample and query head here; they decide masks and dropout.
struct attention_shape {
  long batch = 1, heads = 1, kv_heads = 1, head_dim = 1, queries = 0, keys = 0;
  double scale = 1;
  attention_strides q, k, v, o;
  attention_mask mask;
  long query_start = 0, key_start = 0, sample_start = 0, head_start = 0;
  dropout_mask dropout;

  MESHPAR_HD constexpr long group() const { return heads / kv_heads; }
};

inline constexpr long attention_tile = 64;  // queries, and keys, at a time

MESHPAR_HD constexpr long attention_tiles(long positions) { return (positions + attention_tile - 1) / attention_tile; }
MESHPAR_HD constexpr long padded_head(long head_dim) { return (head_dim + 15) / 16 * 16; }

// Bytes of scratch that the forward body uses, and the gradient of keys and values, which needs the most of the three;
// whatever the lengths; best aligned to 64. Both are exact: their last bytes are written.
template <class T>
constexpr long attention_forward_scratch_bytes(long head_dim) {
  constexpr long t = attention_tile;
  return static_cast<long>(sizeof(accumulator_t<T>)) * (t * head_dim + 3 * t * padded_head(head_dim) + t * t + 3 * t);
}
template <class T>
constexpr long attention_scratch_bytes(long head_dim) {
  constexpr long t = attention_tile;
  return static_cast<long>(sizeof(accumulator_t<T>)) *
         (2 * t * head_dim + 5 * t * padded_head(head_dim) + 2 * t * t + 2 * t);
}

// A run of queries or keys: local first index, count, global position of the first.
struct attention_span {
  long first, count, position;
};
MESHPAR_HD constexpr attention_span tile_span(long tile, long positions, long start) {
  const long first = tile * attention_tile;
  return {first, smaller(attention_tile, positions - first), start + first};
}

enum class tile_cover { none, some, all };

// How much of queries x keys the mask lets through, from the corners alone.
MESHPAR_HD constexpr tile_cover cover_of(const attention_mask& m, attention_span q, attention_span k) {
  const long q_last = q.position + q.count - 1, k_end = k.position + k.count;
  if (m.key_end(q_last) <= k.position || m.key_begin(q.position) >= k_end) return tile_cover::none;
  return m.key_begin(q_last) <= k.position && m.key_end(q.position) >= k_end ? tile_cover::all : tile_cover::some;
}

// Hands out the pieces of a scratch area.
template <class A>
struct scratch_pieces {
  A* next;
  MESHPAR_HD constexpr A* take(long count) {
    A* piece = next;
    next += count;
    return piece;
  }
};

// to[count, padded_head] = factor * rows of `from`, zero to the right.
template <block B, class A, class T>
MESHPAR_HD void load_rows(const B& b, A* to, const T* from, long stride, long count, long head_dim, A factor) {
  const long wide = padded_head(head_dim);
  for (long r = 0; r < count; ++r) {
    A* out = to + r * wide;
    const T* in = from + r * stride;
    for_each(b, {0, head_dim}, [=](long i) { out[i] = factor * A(in[i]); });
    for_each(b, {head_dim, wide}, [=](long i) { out[i] = A{}; });
  }
}

// to[head_dim, attention_tile] = factor * rows of `from`, transposed, zero to the right.
template <block B, class A, class T>
MESHPAR_HD void load_columns(const B& b, A* to, const T* from, long stride, long count, long head_dim, A factor) {
  for_each(b, {0, head_dim}, [=](long i) {
    for (long r = 0; r < count; ++r) to[i * attention_tile + r] = factor * A(from[r * stride + i]);
    for (long r = count; r < attention_tile; ++r) to[i * attention_tile + r] = A{};
  });
}

// rows of `to` = factor * from[count, padded_head].
template <block B, class A, class T>
MESHPAR_HD void store_rows(const B& b, T* to, const A* from, long stride, long count, long head_dim, A factor) {
  for (long r = 0; r < count; ++r) {
    T* out = to + r * stride;
    const A* in = from + r * padded_head(head_dim);
    for_each(b, {0, head_dim}, [=](long i) { out[i] = T(factor * in[i]); });
  }
}

template <block B, class A>
MESHPAR_HD void clear(const B& b, A* to, long count) {
  for_each(b, {0, count}, [=](long i) { to[i] = A{}; });
}

}  // namespace meshpar::inline v0::kernels
