// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rules of a transformer's operations against brute force, as table_test.cpp does for the algebra.
#include "holds.hpp"

using namespace meshpar;
using namespace meshpar::test;

namespace {

const operand tokens{{whole("seq", 4), whole("hidden", 4)}}, gain{{whole("hidden", 4)}};

// rows [..., n] normalised by the root of their mean square, times g [n]
std::optional<array> rms_norm(const arrays& x, const context&) {
  const std::int64_t n = x[0].shape.back();
  if (n != x[1].count()) return std::nullopt;
  array y = x[0];
  for (std::int64_t row = 0; row < y.count() / n; ++row) {
    num squares = 0;
    for (std::int64_t i = 0; i < n; ++i) squares = squares + x[0][row * n + i] * x[0][row * n + i];
    for (std::int64_t i = 0; i < n; ++i)
      y[row * n + i] = x[0][row * n + i] / sqrt(squares / static_cast<double>(n) + 0.1) * x[1][i];
  }
  return y;
}

// q, k [seq, batch, heads, head_dim] turned by the global position; pairs are (i, i + head_dim / 2).
std::optional<array> rotate(const arrays& x, const context& c) {
  const array& q = x[0];
  const std::int64_t d = q.size(3), row = q.size(1) * q.size(2) * d;
  if (d % 2 != 0) return std::nullopt;
  array y = q;
  for (std::int64_t i = 0; i < q.count(); ++i) {
    if (i % d >= d / 2) continue;
    const double angle = static_cast<double>(c.position(0, 0, i / row) + 1) / (1.0 + static_cast<double>(i % d));
    const num a = q[i], b = q[i + d / 2];
    y[i] = a * std::cos(angle) - b * std::sin(angle);
    y[i + d / 2] = a * std::sin(angle) + b * std::cos(angle);
  }
  return y;
}

// Causal attention with grouped heads on what a rank holds.
std::optional<array> attend(const arrays& x, const context&) {
  const array &q = x[0], &k = x[1], &v = x[2];
  const std::int64_t s = q.size(0), b = q.size(1), h = q.size(2), d = q.size(3), kv = k.size(2);
  if (k.shape != v.shape || k.size(0) != s || k.size(1) != b || k.size(3) != d || h % kv != 0) return std::nullopt;
  array y(q.shape);
  const auto at = [&](std::int64_t pos, std::int64_t seq, std::int64_t head, std::int64_t heads) {
    return ((pos * b + seq) * heads + head) * d;
  };
  for (std::int64_t i = 0; i < s * b * h; ++i) {
    const std::int64_t pos = i / (b * h), seq = i / h % b, head = i % h, from = head / (h / kv);
    num total = 0;
    for (std::int64_t p = 0; p <= pos; ++p) {
      num score = 0;
      for (std::int64_t e = 0; e < d; ++e) score = score + q[i * d + e] * k[at(p, seq, from, kv) + e];
      const num weight = exp(score * 0.1);
      total = total + weight;
      for (std::int64_t e = 0; e < d; ++e) y[i * d + e] = y[i * d + e] + weight * v[at(p, seq, from, kv) + e];
    }
    for (std::int64_t e = 0; e < d; ++e) y[i * d + e] = y[i * d + e] / total;
  }
  return y;
}

// Rows of a table by index; rows that this rank does not own give zero.
std::optional<array> look_up(const array& table, const std::vector<std::int64_t>& rows, std::vector<std::int64_t> shape,
                             const context& c) {
  const std::int64_t width = table.count() / table.size(0);
  shape.insert(shape.end(), table.shape.begin() + 1, table.shape.end());
  array y(shape);
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::int64_t r = 0; r < table.size(0); ++r)
      if (c.position(1, 0, r) == rows[i])
        for (std::int64_t e = 0; e < width; ++e) y[static_cast<std::int64_t>(i) * width + e] = table[r * width + e];
  return y;
}

// -log softmax(logits)[label] per row; the vocabulary may be spread over a group of ranks, which reduce together.
std::optional<array> negative_log_likelihood(const arrays& x, const context& c) {
  const array &z = x[0], &labels = x[1];
  const std::int64_t n = z.shape.back();
  if (z.count() != labels.count() * n) return std::nullopt;
  const axis_set along = c.in[0].dims.back().by.axes();
  array y(labels.shape);
  for (std::int64_t row = 0; row < y.count(); ++row) {
    num total = 0, picked = 0;
    for (int at = 0; at < c.m.size(along); ++at) {
      const int r = c.m.member(c.rank, along, at);
      const array& piece = c.held == nullptr || r == c.rank ? z : (*c.held)[0][static_cast<std::size_t>(r)];
      for (std::int64_t i = 0; i < n; ++i) {
        total = total + exp(piece[row * n + i]);
        if (static_cast<double>(global_index(c.in[0].dims[c.in[0].dims.size() - 1], c.m, r, i)) == labels[row].v)
          picked = picked + piece[row * n + i];
      }
    }
    y[row] = num(std::log(total.v), total.d / total.v) - picked;
  }
  return y;
}

operand heads(dim_name kind, std::int64_t n) {
  return {{whole("seq", 4), whole("batch", 2), whole(kind, n), whole("head_dim", 2)}};
}
operation attention_over(std::int64_t h, std::int64_t kv) {
  return {"attention",
          {heads("heads", h), heads("kv_heads", kv), heads("kv_heads", kv)},
          [](const layouts& l) { return ty::attention(l[0], l[1], l[2]); },
          attend};
}

}  // namespace

TEST_CASE("norms") {
  const operation rms{
      "norm", {tokens, gain}, [](const layouts& l) { return ty::norm(l[0], l[1], dims::hidden); }, rms_norm};
  const operation layer{"norm with shift",
                        {tokens, gain, gain},
                        [](const layouts& l) { return ty::norm(l[0], l[1], l[2], dims::hidden); },
                        [](const arrays& x, const context& c) -> std::optional<array> {
                          std::optional<array> y = rms_norm(x, c);
                          if (!y) return y;
                          return zip_last(*y, x[2], [](num a, num b) { return a + b; });
                        }};
  const operation per_head{"head_norm",
                           {{{whole("seq", 2), whole("heads", 4), whole("head_dim", 4)}}, {{whole("head_dim", 4)}}},
                           [](const layouts& l) { return ty::head_norm(l[0], l[1]); },
                           rms_norm};
  const operation squares{"square_sums",
                          {tokens},
                          [](const layouts& l) { return ty::square_sums(l[0], dims::hidden); },
                          [](const arrays& x, const context&) {
                            array y({x[0].size(0)});
                            for (std::int64_t i = 0; i < x[0].count(); ++i) {
                              num& to = y[i / x[0].size(1)];
                              to = to + x[0][i] * x[0][i];
                            }
                            return std::optional(y);
                          }};
  // Any function of the squares that is not linear is typed as the root is; this one takes squares of either sign.
  const operation by{"norm_by",
                     {tokens, {{whole("seq", 4)}}, gain},
                     [](const layouts& l) { return ty::norm_by(l[0], l[1], l[2], dims::hidden); },
                     [](const arrays& x, const context&) -> std::optional<array> {
                       const std::int64_t n = x[0].size(1);
                       if (x[1].count() != x[0].size(0) || x[2].count() != n) return std::nullopt;
                       array y = x[0];
                       for (std::int64_t i = 0; i < y.count(); ++i)
                         y[i] = y[i] / (x[1][i / n] * x[1][i / n] + 1.0) * x[2][i % n];
                       return y;
                     }};
  for (const mesh& m : {two, four, square})
    holds(rms, m, 1, true), holds(per_head, m), holds(squares, m, 1, true), holds(layer, m, m == square ? 5 : 1),
        holds(by, m, m == square ? 5 : 1);
}

TEST_CASE("rotary takes global positions") {
  const operation op{"rotary",
                     {{{whole("seq", 4), whole("batch", 2), whole("heads", 4), whole("head_dim", 4)}}},
                     [](const layouts& l) { return ty::rotary(l[0]); },
                     rotate};
  for (const mesh& m : {two, four, square}) holds(op, m, 1, true);
}

TEST_CASE("attention, grouped heads, kv heads replicated below tp") {
  holds(attention_over(4, 2), two);
  holds(attention_over(4, 4), four);
  holds(attention_over(4, 1), four);
  holds(attention_over(4, 2), mesh{extent{axes::tp, 2}, extent{axes::kv_rep, 2}}, 40);
}

TEST_CASE("attention with kv heads over tp and q heads over tp and kv_rep") {
  const mesh m{extent{axes::tp, 2}, extent{axes::kv_rep, 2}};
  const axis_set tp = whole_axis(axes::tp);
  const layout q = make_layout(make_dim("seq", 4, m), make_dim("batch", 2, m), make_dim("heads", 4, m, tp),
                               make_dim("head_dim", 2, m));
  const layout kv = make_layout(make_dim("seq", 4, m), make_dim("batch", 2, m), make_dim("kv_heads", 2, m, axes::tp),
                                make_dim("head_dim", 2, m));
  tally t;
  judge(attention_over(4, 2), m, {q, kv, kv}, t, 1);
  CHECK(t.legal == 1);
  CHECK(t.wrong.empty());
  CHECK(dual(kv, m).owed == axes::kv_rep);
}

TEST_CASE("embedding and learned positions") {
  const operand ids{{whole("seq", 4), whole("batch", 2)}, false, 4};
  const operation embedding{"embedding",
                            {ids, {{whole("vocab", 4), whole("hidden", 4)}}},
                            [](const layouts& l) { return ty::embedding(l[0], l[1]); },
                            [](const arrays& x, const context& c) {
                              std::vector<std::int64_t> rows;
                              for (num id : x[0].at) rows.push_back(static_cast<std::int64_t>(id.v));
                              return look_up(x[1], rows, x[0].shape, c);
                            }};
  const auto positions = [&](const mesh& m) {
    return operation{"learned_positions",
                     {ids, {{whole("positions", 8), whole("hidden", 4)}}},
                     [m](const layouts& l) { return ty::learned_positions(l[0], l[1], m); },
                     [](const arrays& x, const context& c) -> std::optional<array> {
                       if (x[1].size(0) < 8) return std::nullopt;  // the plain lookup needs every row
                       std::vector<std::int64_t> rows;
                       for (std::int64_t i = 0; i < x[0].count(); ++i)
                         rows.push_back(c.position(0, 0, i / x[0].size(1)));
                       array y = *look_up(x[1], rows, x[0].shape, c);
                       const std::int64_t width = x[1].size(1);
                       for (std::int64_t i = 0; i < y.count(); ++i)
                         y[i] = y[i] * (1.0 + x[0][i / width].v);  // tells tokens apart
                       return y;
                     }};
  };
  for (const mesh& m : {two, four, square}) holds(embedding, m, 1, true), holds(positions(m), m, 1, true);
}

TEST_CASE("softmax and cross-entropy with split logits") {
  const operand logits{{whole("seq", 4), whole("vocab", 4)}}, row{{whole("seq", 4)}, false},
      labels{{whole("seq", 4)}, false, 4};
  const operation softmax{"softmax",
                          {logits},
                          [](const layouts& l) { return ty::softmax(l[0], dims::vocab); },
                          [](const arrays& x, const context&) {
                            array y = map(x[0], [](num a) { return exp(a); });
                            const std::int64_t n = y.size(1);
                            for (std::int64_t r = 0; r < y.size(0); ++r) {
                              num total = 0;
                              for (std::int64_t i = 0; i < n; ++i) total = total + y[r * n + i];
                              for (std::int64_t i = 0; i < n; ++i) y[r * n + i] = y[r * n + i] / total;
                            }
                            return std::optional(y);
                          }};
  const operation largest{"row_max",
                          {{logits.dims, false}},
                          [](const layouts& l) { return ty::row_max(l[0]); },
                          [](const arrays& x, const context&) {
                            array y({x[0].size(0)});
                            for (num& v : y.at) v = -1e300;
                            for (std::int64_t i = 0; i < x[0].count(); ++i) {
                              num& to = y[i / x[0].size(1)];
                              to = std::max(to.v, x[0][i].v);
                            }
                            return std::optional(y);
                          }};
  const operation sums{"row_sums",
                       {logits, row},
                       [](const layouts& l) { return ty::row_sums(l[0], l[1]); },
                       [](const arrays& x, const context&) -> std::optional<array> {
                         if (x[1].count() != x[0].size(0)) return std::nullopt;
                         array y({x[0].size(0)});
                         for (std::int64_t i = 0; i < x[0].count(); ++i) {
                           num& to = y[i / x[0].size(1)];
                           to = to + exp(x[0][i] - x[1][i / x[0].size(1)]);
                         }
                         return y;
                       }};
  const operation loss{"cross_entropy",
                       {logits, labels},
                       [](const layouts& l) { return ty::cross_entropy(l[0], l[1]); },
                       negative_log_likelihood};
  for (const mesh& m : {two, four, square})
    holds(softmax, m), holds(largest, m, 1, true), holds(sums, m, 1, true), holds(loss, m, 1, true);
}

TEST_CASE("the optimizer takes no partial sum") {
  const operation op{"updatable",
                     {{tokens.dims, false}},
                     [](const layouts& l) { return ty::updatable(l[0]); },
                     [](const arrays& x, const context&) {
                       return std::optional(map(x[0], [](num g) { return g / (sqrt(g * g) + 0.5); }));
                     }};
  for (const mesh& m : {two, four, square}) holds(op, m);
}
