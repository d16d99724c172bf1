// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/kernels/attention_shape.hpp>
#include <meshpar/kernels/math.hpp>

#include <cmath>

namespace meshpar::inline v0::kernels {

// One step of the online softmax (Milakov and Gimelshein 2018) over s[keys, attention_tile], a column per query:
// s becomes e^(s - top); top, the running maximum, and sum are brought up to date; shrink is what older results must
// be multiplied by. A query that has seen no key keeps top = -inf, sum = 0.
template <block B, class A>
MESHPAR_HD void softmax_step(const B& b, A* s, long keys, A* top, A* sum, A* shrink) {
  constexpr int n = B::lanes;
  constexpr A nothing = -infinity<A>;
  for (long i = long{n} * b.thread(); i < attention_tile; i += long{n} * b.threads()) {
    A high[n], total[n];
    for (int l = 0; l < n; ++l) high[l] = top[i + l];
    for (long j = 0; j < keys; ++j)
      for (int l = 0; l < n; ++l) high[l] = larger(high[l], s[j * attention_tile + i + l]);
    for (int l = 0; l < n; ++l) {
      const A kept = exp_of(top[i + l] - (high[l] == nothing ? A{} : high[l]));
      top[i + l] = high[l];
      shrink[i + l] = kept;
      total[l] = sum[i + l] * kept;
      high[l] = high[l] == nothing ? A{} : high[l];
    }
    for (long j = 0; j < keys; ++j)
      for (int l = 0; l < n; ++l) {
        A& at = s[j * attention_tile + i + l];
        at = exp_of(at - high[l]);
        total[l] += at;
      }
    for (int l = 0; l < n; ++l) sum[i + l] = total[l];
  }
}

// f(j, i, s[j, i]) on each element of s[keys, attention_tile].
template <block B, class A, class F>
MESHPAR_HD void for_each_score(const B& b, A* s, long keys, F f) {
  for (long j = 0; j < keys; ++j) for_each(b, {0, attention_tile}, [=](long i) { f(j, i, s[j * attention_tile + i]); });
}

// Tiled attention, one tile of queries of one head (Dao et al. 2022, arXiv 2205.14135): o = softmax(scale q k^T) v
// under the mask, and lse[batch, heads, queries] = log sum exp of the scores (-inf where a query sees no key, and o
// then 0). `tiles` are indices into [batch, heads, attention_tiles(queries)].
template <block B, class T>
MESHPAR_HD void attention(const B& b, index_range tiles, T* o, accumulator_t<T>* lse, const T* q, const T* k,
                          const T* v, const attention_shape& a, accumulator_t<T>* scratch) {
  using A = accumulator_t<T>;
  constexpr long side = attention_tile;
  const long d = a.head_dim, wide = padded_head(d), per_head = attention_tiles(a.queries);
  scratch_pieces<A> pieces{scratch};
  A *qt = pieces.take(d * side), *kr = pieces.take(side * wide), *vr = pieces.take(side * wide),
    *out = pieces.take(side * wide), *s = pieces.take(side * side), *top = pieces.take(side), *sum = pieces.take(side),
    *shrink = pieces.take(side);
  for (long tile = tiles.begin; tile < tiles.end; ++tile) {
    const long head = tile / per_head % a.heads, sample = tile / per_head / a.heads, kv = head / a.group();
    const attention_span qs = tile_span(tile % per_head, a.queries, a.query_start);
    b.sync();
    load_columns(b, qt, q + qs.first * a.q.position + sample * a.q.batch + head * a.q.head, a.q.position, qs.count, d,
                 A(a.scale));
    clear(b, out, side * wide);
    clear(b, sum, side);
    for_each(b, {0, side}, [=](long i) { top[i] = -infinity<A>; });
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
      b.sync();
      b.multiply(s, side, kr, wide, 1, qt, side, ks.count, side, d);
      b.sync();
      if (cover == tile_cover::some)
        for_each_score(b, s, ks.count, [=](long j, long i, A& at) {
          at = a.mask.allowed(qs.position + i, ks.position + j) ? at : -infinity<A>;
        });
      b.sync();
      softmax_step(b, s, ks.count, top, sum, shrink);
      b.sync();
      if (a.dropout.active())
        for_each_score(b, s, ks.count, [=](long j, long i, A& at) {
          at *= a.dropout.template factor<A>(a.sample_start + sample, qs.position + i, a.head_start + head,
                                             ks.position + j);
        });
      for (long i = 0; i < qs.count; ++i) for_each(b, {0, wide}, [=](long c) { out[i * wide + c] *= shrink[i]; });
      b.sync();
      b.multiply(out, wide, s, 1, side, vr, wide, qs.count, wide, ks.count);
    }
    b.sync();
    T* to = o + qs.first * a.o.position + sample * a.o.batch + head * a.o.head;
    for (long i = 0; i < qs.count; ++i)
      store_rows(b, to + i * a.o.position, out + i * wide, 0, 1, d, sum[i] > A{} ? A{1} / sum[i] : A{});
    A* stat = lse + (sample * a.heads + head) * a.queries + qs.first;
    for_each(b, {0, qs.count}, [=](long i) { stat[i] = top[i] + std::log(sum[i]); });
  }
}

template <class T>
void attention(T* o, accumulator_t<T>* lse, const T* q, const T* k, const T* v, const attention_shape& a,
               void* scratch) {
  attention(one_thread{}, {0, a.batch * a.heads * attention_tiles(a.queries)}, o, lse, q, k, v, a,
            static_cast<accumulator_t<T>*>(scratch));
}

}  // namespace meshpar::inline v0::kernels
