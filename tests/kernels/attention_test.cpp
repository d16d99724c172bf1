// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/kernels/attention_grad.hpp>

#include "on_every_block.hpp"

using namespace meshpar;
using namespace meshpar::kernels;
using namespace meshpar_test;

namespace {

using doubles = std::vector<double>;

long at(const attention_strides& s, long position, long sample, long head) {
  return position * s.position + sample * s.batch + head * s.head;
}

// Probabilities of one query after the softmax, and the dropout factor of each key, by the definition.
struct query_row {
  doubles p, factor;
  double lse;
  query_row(const doubles& q, const doubles& k, const attention_shape& a, long sample, long head, long i)
      : p(a.keys), factor(a.keys, 1.0) {
    double sum = 0;
    for (long j = 0; j < a.keys; ++j) {
      const long qp = a.query_start + i, kp = a.key_start + j;
      const bool ahead = kp > qp, far = std::labs(qp - kp) >= a.mask.window;
      const bool hidden = (a.mask.causal && ahead) || (a.mask.window > 0 && far);
      double score = 0;
      for (long c = 0; c < a.head_dim; ++c)
        score += a.scale * q[at(a.q, i, sample, head) + c] * k[at(a.k, j, sample, head / a.group()) + c];
      sum += p[j] = hidden ? 0 : std::exp(score);
      if (a.dropout.active())
        factor[j] = a.dropout.factor<double>(a.sample_start + sample, qp, a.head_start + head, kp);
    }
    lse = std::log(sum);
    for (double& v : p) v = sum > 0 ? v / sum : 0;
  }
};

template <class F>
void for_each_query(const attention_shape& a, F f) {
  for (long sample = 0; sample < a.batch; ++sample)
    for (long head = 0; head < a.heads; ++head)
      for (long i = 0; i < a.queries; ++i) f(sample, head, i);
}

void reference(doubles& o, doubles& lse, const doubles& q, const doubles& k, const doubles& v,
               const attention_shape& a) {
  for_each_query(a, [&](long sample, long head, long i) {
    const query_row row(q, k, a, sample, head, i);
    lse[(sample * a.heads + head) * a.queries + i] = row.lse;
    for (long c = 0; c < a.head_dim; ++c) {
      double sum = 0;
      for (long j = 0; j < a.keys; ++j) sum += row.p[j] * row.factor[j] * v[at(a.v, j, sample, head / a.group()) + c];
      o[at(a.o, i, sample, head) + c] = sum;
    }
  });
}

void reference_grad(doubles& gq, doubles& gk, doubles& gv, const doubles& go, const doubles& q, const doubles& k,
                    const doubles& v, const attention_shape& a) {
  for_each_query(a, [&](long sample, long head, long i) {
    const query_row row(q, k, a, sample, head, i);
    const long qi = at(a.q, i, sample, head), oi = at(a.o, i, sample, head);
    doubles gp(a.keys);
    double mean = 0;
    for (long j = 0; j < a.keys; ++j) {
      const long vj = at(a.v, j, sample, head / a.group());
      for (long c = 0; c < a.head_dim; ++c) {
        gp[j] += row.factor[j] * go[oi + c] * v[vj + c];
        gv[vj + c] += row.factor[j] * row.p[j] * go[oi + c];
      }
      mean += row.p[j] * gp[j];
    }
    for (long j = 0; j < a.keys; ++j) {
      const long kj = at(a.k, j, sample, head / a.group());
      for (long c = 0; c < a.head_dim; ++c) {
        gq[qi + c] += a.scale * row.p[j] * (gp[j] - mean) * k[kj + c];
        gk[kj + c] += a.scale * row.p[j] * (gp[j] - mean) * q[qi + c];
      }
    }
  });
}

attention_shape shape_of(long batch, long heads, long kv_heads, long head_dim, long queries, long keys) {
  attention_shape a;
  a.batch = batch, a.heads = heads, a.kv_heads = kv_heads, a.head_dim = head_dim, a.queries = queries, a.keys = keys;
  a.scale = 1 / std::sqrt(double(head_dim));
  a.q = a.o = position_major(batch, heads, head_dim);
  a.k = a.v = position_major(batch, kv_heads, head_dim);
  return a;
}

template <class T, class Launch>
void check(const attention_shape& a, Launch launch) {
  using A = accumulator_t<T>;
  const long stats = a.batch * a.heads * a.queries, q_size = stats * a.head_dim, o_size = q_size,
             k_size = a.batch * a.kv_heads * a.keys * a.head_dim;
  const auto q = waves<T>(q_size, 1, 2), k = waves<T>(k_size, 2, 2), v = waves<T>(k_size, 3), go = waves<T>(o_size, 4);
  doubles o_want(o_size), lse_want(stats), gq_want(q_size), gk_want(k_size), gv_want(k_size);
  reference(o_want, lse_want, to_double(q), to_double(k), to_double(v), a);
  reference_grad(gq_want, gk_want, gv_want, to_double(go), to_double(q), to_double(k), to_double(v), a);
  std::vector<T> o(o_size), gq(q_size), gk(k_size), gv(k_size);
  std::vector<A> lse(stats);
  // Poisoned, and watched at its end.
  const long space = attention_scratch_bytes<T>(a.head_dim) / static_cast<long>(sizeof(A));
  std::vector<A> scratch(space + 1, std::numeric_limits<A>::quiet_NaN());
  scratch[space] = A(42);
  launch([&](const auto& b) {
    const long tiles = a.batch * a.heads * attention_tiles(a.queries);
    attention(b, {0, tiles / 2}, o.data(), lse.data(), q.data(), k.data(), v.data(), a, scratch.data());
    attention(b, {tiles / 2, tiles}, o.data(), lse.data(), q.data(), k.data(), v.data(), a, scratch.data());
  });
  launch([&](const auto& b) {
    attention_query_grad(b, {0, a.batch * a.heads * attention_tiles(a.queries)}, gq.data(), go.data(), q.data(),
                         k.data(), v.data(), o.data(), lse.data(), a, scratch.data());
    attention_key_value_grad(b, {0, a.batch * a.kv_heads * attention_tiles(a.keys)}, gk.data(), gv.data(), go.data(),
                             q.data(), k.data(), v.data(), o.data(), lse.data(), a, scratch.data());
  });
  CHECK(distance(o, o_want) < tolerance<T>);
  CHECK(distance(lse, lse_want) < tolerance<A>);
  CHECK(distance(gq, gq_want) < 2 * tolerance<T>);
  CHECK(distance(gk, gk_want) < 2 * tolerance<T>);
  CHECK(distance(gv, gv_want) < 2 * tolerance<T>);
  CHECK(scratch[space] == A(42));
  attention_grad(gq.data(), gk.data(), gv.data(), go.data(), q.data(), k.data(), v.data(), o.data(), lse.data(), a,
                 scratch.data());
  CHECK(distance(gq, gq_want) < 2 * tolerance<T>);
  CHECK(distance(gk, gk_want) < 2 * tolerance<T>);
  CHECK(distance(gv, gv_want) < 2 * tolerance<T>);
  CHECK(scratch[space] == A(42));
}

std::vector<std::pair<std::string, attention_shape>> cases() {
  std::vector<std::pair<std::string, attention_shape>> all;
  const auto add = [&](const char* name, attention_shape a, auto change) {
    change(a);
    all.emplace_back(name, a);
  };
  add("causal, several tiles", shape_of(2, 2, 2, 6, 70, 70), [](auto&) {});
  add("causal, one short tile", shape_of(1, 1, 1, 16, 9, 9), [](auto&) {});
  add("full, grouped heads, other key count", shape_of(1, 4, 2, 5, 33, 81), [](auto& a) { a.mask.causal = false; });
  add("window", shape_of(1, 1, 1, 20, 140, 140), [](auto& a) { a.mask.window = 21; });
  add("window both ways", shape_of(1, 2, 1, 4, 140, 140), [](auto& a) { a.mask = {false, 30}; });
  add("a chunk of a longer sequence", shape_of(1, 2, 2, 4, 66, 70),
      [](auto& a) { a.query_start = 100, a.key_start = 60; });
  add("queries that see no key", shape_of(1, 2, 2, 4, 66, 70), [](auto& a) { a.query_start = 10, a.key_start = 50; });
  add("dropout", shape_of(2, 4, 2, 4, 67, 67), [](auto& a) {
    a.dropout = dropout_at(0.3, 5, 6, 7);
    a.sample_start = 11, a.head_start = 4, a.query_start = 3, a.key_start = 3;
  });
  add("batch outermost", shape_of(2, 3, 3, 4, 65, 65), [](auto& a) { a.q = a.k = a.v = a.o = {3 * 4, 65 * 3 * 4, 4}; });
  return all;
}

}  // namespace

TEST_CASE("attention: the reference's gradients are central differences of its forward") {
  for (auto& [name, a] : cases()) {
    INFO(name);
    a.queries = 5, a.keys = 7;
    if (a.q.batch > a.q.position) continue;
    const auto q = waves<double>(a.queries * a.q.position, 1), k = waves<double>(a.keys * a.k.position, 2),
               v = waves<double>(a.keys * a.k.position, 3), go = waves<double>(a.queries * a.o.position, 4);
    doubles gq(q.size()), gk(k.size()), gv(v.size());
    reference_grad(gq, gk, gv, go, q, k, v, a);
    const auto loss = [&, &a = a](const doubles& x, const doubles& y, const doubles& z) {
      doubles o(go.size()), lse(a.batch * a.heads * a.queries);
      reference(o, lse, x, y, z, a);
      return dot(o, go);
    };
    CHECK(distance(gq, numeric_gradient(q, [&](const auto& x) { return loss(x, k, v); })) < 1e-9);
    CHECK(distance(gk, numeric_gradient(k, [&](const auto& x) { return loss(q, x, v); })) < 1e-9);
    CHECK(distance(gv, numeric_gradient(v, [&](const auto& x) { return loss(q, k, x); })) < 1e-9);
  }
}

TEST_CASE_TEMPLATE("attention: forward and gradients, every mask, on one thread", T, float, double, bf16) {
  for (const auto& [name, a] : cases()) {
    INFO(name);
    check<T>(a, [](auto body) { body(one_thread{}); });
  }
}

TEST_CASE("attention: forward and gradients on every block") {
  for (const auto& [name, a] : cases()) {
    INFO(name);
    on_every_block([&, &a = a](const std::string& block_name, auto launch) {
      INFO(block_name);
      check<double>(a, launch);
    });
  }
}

TEST_CASE("attention: the launchers, on views of one fused projection") {
  constexpr long s = 70, batch = 2, heads = 2, kv = 1, d = 8, width = (heads + 2 * kv) * d;
  attention_shape a = shape_of(batch, heads, kv, d, s, s);
  const attention_shape contiguous = a;
  a.q = a.k = a.v = {batch * width, width, d};
  const auto qkv = waves<double>(s * batch * width, 1, 2), go = waves<double>(s * batch * heads * d, 2);
  std::vector<double> o(go.size()), lse(batch * heads * s), g(qkv.size());
  std::vector<char> scratch(attention_scratch_bytes<double>(d));
  const double *q = qkv.data(), *k = q + heads * d, *v = k + kv * d;
  attention(o.data(), lse.data(), q, k, v, a, scratch.data());
  attention_grad(g.data(), g.data() + heads * d, g.data() + (heads + kv) * d, go.data(), q, k, v, o.data(), lse.data(),
                 a, scratch.data());
  doubles parts[3], o_want(go.size()), lse_want(lse.size()), g_want(qkv.size());
  for (long t = 0; t < s * batch; ++t)
    for (long c = 0; c < width; ++c)
      parts[c < heads * d ? 0 : c < (heads + kv) * d ? 1 : 2].push_back(qkv[t * width + c]);
  reference(o_want, lse_want, parts[0], parts[1], parts[2], contiguous);
  doubles grads[3] = {doubles(parts[0].size()), doubles(parts[1].size()), doubles(parts[2].size())};
  reference_grad(grads[0], grads[1], grads[2], go, parts[0], parts[1], parts[2], contiguous);
  long next[3] = {};
  for (long t = 0; t < s * batch; ++t)
    for (long c = 0; c < width; ++c) {
      const int part = c < heads * d ? 0 : c < (heads + kv) * d ? 1 : 2;
      g_want[t * width + c] = grads[part][next[part]++];
    }
  CHECK(distance(o, o_want) < 1e-12);
  CHECK(distance(lse, lse_want) < 1e-12);
  CHECK(distance(g, g_want) < 1e-12);
}

TEST_CASE("attention: the corners of a tile decide as its elements do") {
  for (const attention_mask mask : {attention_mask{true, 0}, {false, 0}, {true, 5}, {false, 5}, {true, 70}})
    for (long q0 = -80; q0 < 80; q0 += 7)
      for (const long count : {1L, 3L, 64L}) {
        const attention_span q{0, count, q0}, k{0, 9, 0};
        long visible = 0;
        for (long i = 0; i < q.count; ++i)
          for (long j = 0; j < k.count; ++j) visible += mask.allowed(q0 + i, j);
        const tile_cover cover = cover_of(mask, q, k);
        if (visible > 0) CHECK(cover != tile_cover::none);
        CHECK((cover == tile_cover::all) == (visible == q.count * k.count));
      }
}
