// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every rule of typing/ against brute force: all combinations of states of all operands, on two ranks and on four.
#include "holds.hpp"

using namespace meshpar;
using namespace meshpar::test;

namespace {

const operand matrix{{whole("seq", 8), whole("hidden", 4)}};

// x [m, k] . w [k, n]
std::optional<array> matmul(const array& x, const array& w) {
  if (x.size(1) != w.size(0)) return std::nullopt;
  array y({x.size(0), w.size(1)});
  for (std::int64_t i = 0; i < x.size(0); ++i)
    for (std::int64_t j = 0; j < w.size(1); ++j)
      for (std::int64_t k = 0; k < x.size(1); ++k)
        y[i * w.size(1) + j] = y[i * w.size(1) + j] + x[i * x.size(1) + k] * w[k * w.size(1) + j];
  return y;
}

}  // namespace

TEST_CASE("contract: columns, rows, data, duplicated work") {
  const operation op{"contract",
                     {{{whole("seq", 4), whole("hidden", 8)}}, {{whole("hidden", 8), whole("ffn", 4)}}},
                     [](const layouts& l) { return ty::contract(l[0], l[1], ty::over{{dims::hidden}, 1}); },
                     [](const arrays& x, const context&) { return matmul(x[0], x[1]); }};
  for (const mesh& m : {two, four, square}) holds(op, m);
}

TEST_CASE("contract with the contracted dim last in both") {
  const operation op{"contract, transposed",
                     {{{whole("seq", 4), whole("hidden", 4)}}, {{whole("vocab", 4), whole("hidden", 4)}}},
                     [](const layouts& l) { return ty::contract(l[0], l[1], ty::over{{dims::hidden}, 1}); },
                     [](const arrays& x, const context&) {
                       array t({x[1].size(1), x[1].size(0)});
                       for (std::int64_t i = 0; i < t.count(); ++i)
                         t[i] = x[1][i % t.size(1) * t.size(0) + i / t.size(1)];
                       return matmul(x[0], t);
                     }};
  for (const mesh& m : {two, four}) holds(op, m);
}

TEST_CASE("contract over two dims") {
  const operation op{
      "contract over two",
      {{{whole("seq", 2), whole("heads", 4), whole("head_dim", 4)}},
       {{whole("heads", 4), whole("head_dim", 4), whole("hidden", 2)}}},
      [](const layouts& l) { return ty::contract(l[0], l[1], ty::over{{dims::heads, dims::head_dim}, 2}); },
      [](const arrays& x, const context&) -> std::optional<array> {
        if (x[0].size(1) != x[1].size(0) || x[0].size(2) != x[1].size(1)) return std::nullopt;
        array a = x[0], b = x[1];
        a.shape = {a.size(0), a.size(1) * a.size(2)};
        b.shape = {b.size(0) * b.size(1), b.size(2)};
        return matmul(a, b);
      }};
  for (const mesh& m : {two, four}) holds(op, m);
}

TEST_CASE("contract_each: one product per expert") {
  const operation op{"contract_each",
                     {{{whole("experts", 4), whole("seq", 2), whole("hidden", 4)}},
                      {{whole("experts", 4), whole("hidden", 4), whole("ffn", 2)}}},
                     [](const layouts& l) {
                       return ty::contract_each(l[0], l[1], ty::over{{"experts"}, 1}, ty::over{{dims::hidden}, 1});
                     },
                     [](const arrays& x, const context&) -> std::optional<array> {
                       if (x[0].size(0) != x[1].size(0) || x[0].size(2) != x[1].size(1)) return std::nullopt;
                       const std::int64_t e = x[0].size(0), s = x[0].size(1), h = x[0].size(2), f = x[1].size(2);
                       array y({e, s, f});
                       for (std::int64_t i = 0; i < y.count(); ++i)
                         for (std::int64_t k = 0; k < h; ++k)
                           y[i] = y[i] + x[0][i / f * h + k] * x[1][(i / (s * f) * h + k) * f + i % f];
                       return y;
                     }};
  for (const mesh& m : {two, four}) holds(op, m);
}

TEST_CASE("element by element") {
  const auto square_of = [](num a) { return a * a * a + tanh(a); };
  const operation curve{"nonlinear",
                        {matrix},
                        [](const layouts& l) { return ty::nonlinear(l[0], "gelu"); },
                        [&](const arrays& x, const context&) { return std::optional(map(x[0], square_of)); }};
  const operation scale{
      "scale",
      {matrix},
      [](const layouts& l) { return ty::scale(l[0]); },
      [](const arrays& x, const context&) { return std::optional(map(x[0], [](num a) { return a * 3.0; })); }};
  const operation product{
      "product",
      {matrix, matrix},
      [](const layouts& l) { return ty::product(l[0], l[1]); },
      [](const arrays& x, const context&) { return zip(x[0], x[1], [](num a, num b) { return a * b; }); }};
  const operation sum{
      "sum",
      {matrix, matrix},
      [](const layouts& l) { return ty::sum(l[0], l[1]); },
      [](const arrays& x, const context&) { return zip(x[0], x[1], [](num a, num b) { return a + b; }); }};
  const operation bias{
      "bias",
      {matrix, {{whole("hidden", 4)}}},
      [](const layouts& l) { return ty::bias(l[0], l[1]); },
      [](const arrays& x, const context&) { return zip_last(x[0], x[1], [](num a, num b) { return a + b; }); }};
  operation quotient{
      "quotient",
      {matrix, {{}, false}},
      [](const layouts& l) { return ty::quotient(l[0], l[1]); },
      [](const arrays& x, const context&) { return std::optional(map(x[0], [&](num a) { return a / x[1][0]; })); }};
  for (const mesh& m : {two, four, square}) {
    holds(curve, m, 1, true), holds(scale, m, 1, true), holds(quotient, m);
    holds(product, m, 1, true), holds(sum, m, 1, true), holds(bias, m, 1, true);
  }
}

TEST_CASE("dropout masks by global index") {
  const operation op{"dropout",
                     {matrix},
                     [](const layouts& l) { return ty::dropout(l[0]); },
                     [](const arrays& x, const context& c) {
                       array y = x[0];
                       for (std::int64_t i = 0; i < y.count(); ++i)
                         y[i] = y[i] * (global_index(c.in[0], c.m, c.rank, i) * 2654435761 % 7 < 4 ? 2.0 : 0.0);
                       return std::optional(y);
                     }};
  for (const mesh& m : {two, four, square}) holds(op, m, 1, true);
}

TEST_CASE("concat, slice, sums") {
  const operation concat{"concat",
                         {matrix, {{whole("seq", 8), whole("hidden", 8)}}},
                         [](const layouts& l) { return ty::concat(l[0], l[1], dims::hidden); },
                         [](const arrays& x, const context&) -> std::optional<array> {
                           if (x[0].size(0) != x[1].size(0)) return std::nullopt;
                           const std::int64_t a = x[0].size(1), b = x[1].size(1);
                           array y({x[0].size(0), a + b});
                           for (std::int64_t i = 0; i < y.count(); ++i) {
                             const std::int64_t row = i / (a + b), at = i % (a + b);
                             y[i] = at < a ? x[0][row * a + at] : x[1][row * b + at - a];
                           }
                           return y;
                         }};
  const operation slice{"slice",
                        {matrix},
                        [](const layouts& l) { return ty::slice(l[0], dims::hidden, 1, 2); },
                        [](const arrays& x, const context&) -> std::optional<array> {
                          const std::int64_t n = x[0].size(1);
                          if (n < 3) return std::nullopt;
                          array y({x[0].size(0), 2});
                          for (std::int64_t i = 0; i < y.count(); ++i) y[i] = x[0][i / 2 * n + 1 + i % 2];
                          return y;
                        }};
  const operation halves{"slice of a half",
                         {{{whole("hidden", 8)}}},
                         [](const layouts& l) { return ty::slice(l[0], dims::hidden, 0, 2); },
                         [](const arrays& x, const context&) -> std::optional<array> {
                           if (x[0].count() < 2) return std::nullopt;
                           array y({2});
                           y[0] = x[0][0], y[1] = x[0][1];
                           return y;
                         }};
  const operation sum_over{"sum_over",
                           {matrix},
                           [](const layouts& l) { return ty::sum_over(l[0], ty::over{{dims::seq}, 1}); },
                           [](const arrays& x, const context&) {
                             array y({x[0].size(1)});
                             for (std::int64_t i = 0; i < x[0].count(); ++i)
                               y[i % y.count()] = y[i % y.count()] + x[0][i];
                             return std::optional(y);
                           }};
  for (const mesh& m : {two, four, square})
    holds(concat, m), holds(slice, m), holds(halves, m), holds(sum_over, m, 1, true);
}

TEST_CASE("one dim as two, two as one") {
  const operation divide{
      "divide_dim",
      {{{whole("seq", 2), whole("hidden", 8)}}},
      [](const layouts& l) { return ty::divide_dim(l[0], dims::hidden, dims::heads, dims::head_dim, 4); },
      [](const arrays& x, const context&) -> std::optional<array> {
        array y = x[0];
        if (y.size(1) % 4 != 0) return std::nullopt;
        y.shape = {y.size(0), y.size(1) / 4, 4};
        return y;
      }};
  const auto merged = [](std::int64_t major) {
    return operand{{whole("seq", 2), whole("heads", major), whole("head_dim", 4)}};
  };
  const auto merge = [&](const mesh& m, std::int64_t major) {
    return operation{
        "merge_dims",
        {merged(major)},
        [m](const layouts& l) { return ty::merge_dims(l[0], dims::heads, dims::head_dim, dims::hidden, m); },
        [](const arrays& x, const context&) {
          array y = x[0];
          y.shape = {y.size(0), y.size(1) * y.size(2)};
          return std::optional(y);
        }};
  };
  for (const mesh& m : {two, four, square}) {
    holds(divide, m, 1, true), holds(merge(m, 4), m, 1, true), holds(merge(m, 1), m, 1, true);
  }
}
