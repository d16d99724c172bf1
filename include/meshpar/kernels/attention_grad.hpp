// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/kernels/attention.hpp>

#include <type_traits>

namespace meshpar::inline v0::kernels {

// Backward of `attention` recomputes the probabilities p = e^(scale q k^T - lse) tile by tile. With the dropout factor
// f of each score, dp = go v^T and delta = sum(go o) per query: gv = (p f)^T go, gs = p (f dp - delta),
// gq = scale gs k, gk = scale gs^T q. Queries and keys are two bodies, so that each writes only what it owns: no
// atomics, and one order of summation.

// stat[count] of a tile of queries: lse (0 for a query that saw no key: its scores are all -inf), and delta = sum over
// a row of go o.
template <block B, class T, class A>
MESHPAR_HD void load_query_stats(const B& b, A* top, A* delta, const A* lse, const T* go, const T* o, long stride,
                                 long count, long head_dim) {
  for_each(b, {0, count}, [=](long i) {
    const T *g = go + i * stride, *y = o + i * stride;
    top[i] = lse[i] == -infinity<A> ? A{} : lse[i];
    delta[i] = fold_lanes<A>(
        one_thread{}, head_dim, A{}, [=](long c) { return A(g[c]) * A(y[c]); }, [](A x, A z) { return x + z; });
  });
  for_each(b, {count, attention_tile}, [=](long i) { top[i] = delta[i] = A{}; });
}

// gq for tiles of queries, indices into [batch, heads, attention_tiles(queries)].
template <block B, class T>
MESHPAR_HD void attention_query_grad(const B& b, index_range tiles, T* gq, const T* go, const T* q, const T* k,
                                     const T* v, const T* o, const accumulator_t<T>* lse, const attention_shape& a,
                                     accumulator_t<T>* scratch) {
  using A = accumulator_t<T>;
  constexpr long side = attention_tile;
  const long d = a.head_dim, wide = padded_head(d), per_head = attention_tiles(a.queries);
  scratch_pieces<A> pieces{scratch};
  A *qt = pieces.take(d * side), *got = pieces.take(d * side), *kr = pieces.take(side * wide),
    *vr = pieces.take(side * wide), *out = pieces.take(side * wide), *s = pieces.take(side * side),
    *gp = pieces.take(side * side), *top = pieces.take(side), *delta = pieces.take(side);
  for (long tile = tiles.begin; tile < tiles.end; ++tile) {
    const long head = tile / per_head % a.heads, sample = tile / per_head / a.heads, kv = head / a.group();
    const attention_span qs = tile_span(tile % per_head, a.queries, a.query_start);
    const long q_at = qs.first * a.q.position + sample * a.q.batch + head * a.q.head;
    const long o_at = qs.first * a.o.position + sample * a.o.batch + head * a.o.head;
    b.sync();
    load_columns(b, qt, q + q_at, a.q.position, qs.count, d, A(a.scale));
    load_columns(b, got, go + o_at, a.o.position, qs.count, d, A{1});
    load_query_stats(b, top, delta, lse + (sample * a.heads + head) * a.queries + qs.first, go + o_at, o + o_at,
                     a.o.position, qs.count, d);
    clear(b, out, side * wide);
    for (long t = 0; t < attention_tiles(a.keys); ++t) {
      const attention_span ks = tile_span(t, a.keys, a.key_start);
      const tile_cover cover = cover_of(a.mask, qs, ks);
      if (cover == tile_cover::none) continue;
      b.sync();
      load_rows(b, kr, k + ks.first * a.k.position + sample * a.k.batch + kv * a.k.head, a.k.position, ks.count, d,
                A{1});
      load_rows(b, vr, v + ks.first * a.v.position + sample * a.v.batch + kv * a.v.head, a.v.position, ks.count, d,
                A{1});
      clear(b, s, ks.count * side);
      clear(b, gp, ks.count * side);
      b.sync();
      b.multiply(s, side, kr, wide, 1, qt, side, ks.count, side, d);
      b.multiply(gp, side, vr, wide, 1, got, side, ks.count, side, d);
      b.sync();
      if (cover == tile_cover::some) {
        for_each_score(b, s, ks.count, [=](long j, long i, A& at) {
          at = a.mask.allowed(qs.position + i, ks.position + j) ? at : -infinity<A>;
        });
        b.sync();
      }
      const auto score_grad = [=](auto factor) {
        for_each_score(b, s, ks.count, [=](long j, long i, A& at) {
          at = exp_of(at - top[i]) * (factor(j, i) * gp[j * side + i] - delta[i]);
        });
      };
      if (a.dropout.active())
        score_grad([=](long j, long i) {
          return a.dropout.template factor<A>(a.sample_start + sample, qs.position + i, a.head_start + head,
                                              ks.position + j);
        });
      else score_grad([](long, long) { return A{1}; });
      b.sync();
      b.multiply(out, wide, s, 1, side, kr, wide, qs.count, wide, ks.count);
    }
    b.sync();
    store_rows(b, gq + q_at, out, a.q.position, qs.count, d, A(a.scale));
  }
}

// gk and gv for tiles of keys, indices into [batch, kv_heads, attention_tiles(keys)]: summed over the query heads of
// the group in order. Where T is its own accumulator and one block has all key tiles of a head, it can add to gq as it
// goes (otherwise null): five products a tile instead of seven.
template <block B, class T>
MESHPAR_HD void attention_key_value_grad(const B& b, index_range tiles, T* gk, T* gv, const T* go, const T* q,
                                         const T* k, const T* v, const T* o, const accumulator_t<T>* lse,
                                         const attention_shape& a, accumulator_t<T>* scratch, T* gq = nullptr) {
  using A = accumulator_t<T>;
  constexpr long side = attention_tile;
  const long d = a.head_dim, wide = padded_head(d), per_head = attention_tiles(a.keys);
  scratch_pieces<A> pieces{scratch};
  A *kt = pieces.take(d * side), *vt = pieces.take(d * side), *qr = pieces.take(side * wide),
    *gor = pieces.take(side * wide), *k_out = pieces.take(side * wide), *v_out = pieces.take(side * wide),
    *kr = pieces.take(side * wide), *s = pieces.take(side * side), *gs = pieces.take(side * side),
    *top = pieces.take(side), *delta = pieces.take(side);
  for (long tile = tiles.begin; tile < tiles.end; ++tile) {
    const long kv = tile / per_head % a.kv_heads, sample = tile / per_head / a.kv_heads;
    const attention_span ks = tile_span(tile % per_head, a.keys, a.key_start);
    const long k_at = ks.first * a.k.position + sample * a.k.batch + kv * a.k.head;
    const long v_at = ks.first * a.v.position + sample * a.v.batch + kv * a.v.head;
    b.sync();
    load_columns(b, kt, k + k_at, a.k.position, ks.count, d, A{1});
    load_columns(b, vt, v + v_at, a.v.position, ks.count, d, A{1});
    if (gq) load_rows(b, kr, k + k_at, a.k.position, ks.count, d, A(a.scale));
    clear(b, k_out, side * wide);
    clear(b, v_out, side * wide);
    for (long step = 0; step < a.group() * attention_tiles(a.queries); ++step) {
      const long head = kv * a.group() + step / attention_tiles(a.queries);
      const attention_span qs = tile_span(step % attention_tiles(a.queries), a.queries, a.query_start);
      const tile_cover cover = cover_of(a.mask, qs, ks);
      if (cover == tile_cover::none) continue;
      const long q_at = qs.first * a.q.position + sample * a.q.batch + head * a.q.head;
      const long o_at = qs.first * a.o.position + sample * a.o.batch + head * a.o.head;
      b.sync();
      load_rows(b, qr, q + q_at, a.q.position, qs.count, d, A(a.scale));
      load_rows(b, gor, go + o_at, a.o.position, qs.count, d, A{1});
      load_query_stats(b, top, delta, lse + (sample * a.heads + head) * a.queries + qs.first, go + o_at, o + o_at,
                       a.o.position, qs.count, d);
      clear(b, s, qs.count * side);
      clear(b, gs, qs.count * side);
      b.sync();
      b.multiply(s, side, qr, wide, 1, kt, side, qs.count, side, d);
      b.multiply(gs, side, gor, wide, 1, vt, side, qs.count, side, d);
      b.sync();
      if (cover == tile_cover::some) {
        for_each_score(b, s, qs.count, [=](long i, long j, A& at) {
          at = a.mask.allowed(qs.position + i, ks.position + j) ? at : -infinity<A>;
        });
        b.sync();
      }
      const auto score_grad = [=](auto factor) {
        for_each_score(b, s, qs.count, [=](long i, long j, A& at) {
          const A p = exp_of(at - top[i]), f = factor(i, j);
          A& g = gs[i * side + j];
          at = p * f;
          g = p * (f * g - delta[i]);
        });
      };
      if (a.dropout.active())
        score_grad([=](long i, long j) {
          return a.dropout.template factor<A>(a.sample_start + sample, qs.position + i, a.head_start + head,
                                              ks.position + j);
        });
      else score_grad([](long, long) { return A{1}; });
      b.sync();
      b.multiply(v_out, wide, s, 1, side, gor, wide, ks.count, wide, qs.count);
      b.multiply(k_out, wide, gs, 1, side, qr, wide, ks.count, wide, qs.count);
      if constexpr (std::is_same_v<T, A>)
        if (gq) b.multiply(gq + q_at, a.q.position, gs, side, 1, kr, wide, qs.count, d, ks.count);
    }
    b.sync();
    store_rows(b, gk + k_at, k_out, a.k.position, ks.count, d, A{1});
    store_rows(b, gv + v_at, v_out, a.v.position, ks.count, d, A{1});
  }
}

template <class T>
void attention_grad(T* gq, T* gk, T* gv, const T* go, const T* q, const T* k, const T* v, const T* o,
                    const accumulator_t<T>* lse, const attention_shape& a, void* scratch) {
  const one_thread b;
  auto* pieces = static_cast<accumulator_t<T>*>(scratch);
  const index_range key_tiles{0, a.batch * a.kv_heads * attention_tiles(a.keys)};
  if constexpr (std::is_same_v<T, accumulator_t<T>>) {
    for (long s = 0; s < a.batch; ++s)
      for (long i = 0; i < a.queries; ++i)
        for (long h = 0; h < a.heads; ++h) clear(b, gq + i * a.q.position + s * a.q.batch + h * a.q.head, a.head_dim);
    attention_key_value_grad(b, key_tiles, gk, gv, go, q, k, v, o, lse, a, pieces, gq);
  } else {
    attention_query_grad(b, {0, a.batch * a.heads * attention_tiles(a.queries)}, gq, go, q, k, v, o, lse, a, pieces);
    attention_key_value_grad(b, key_tiles, gk, gv, go, q, k, v, o, lse, a, pieces);
  }
}

}  // namespace meshpar::inline v0::kernels
