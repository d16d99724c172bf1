// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/kernels/cross_entropy.hpp>

#include "on_every_block.hpp"

using namespace meshpar;
using namespace meshpar::kernels;
using namespace meshpar_test;

namespace {

constexpr long rows = 5, vocab = 23;
const std::vector<std::int32_t> labels = {0, 22, -1, 11, 12};

// Loss per row over the whole vocabulary, logits [rows, vocab].
std::vector<double> reference(const std::vector<double>& x, double smoothing) {
  std::vector<double> per_row(rows);
  for (long r = 0; r < rows; ++r) {
    double sum = 0;
    for (long c = 0; c < vocab; ++c) sum += std::exp(x[r * vocab + c]);
    for (long c = 0; c < vocab && labels[r] >= 0; ++c) {
      const double target = (c == labels[r] ? 1 - smoothing : 0) + smoothing / vocab;
      per_row[r] -= target * (x[r * vocab + c] - std::log(sum));
    }
  }
  return per_row;
}

// One rank's part of the vocabulary: `valid` real columns from `begin`, then padding that must not matter.
template <class T>
struct part {
  static constexpr long width = 14;
  long begin, valid;
  std::vector<T> logits;
  std::vector<accumulator_t<T>> m, sum_exp, target, sum;
  part(const std::vector<T>& all, long first, long count)
      : begin(first), valid(count), logits(rows * width, T(1000.0f)), m(rows), sum_exp(rows), target(rows), sum(rows) {
    for (long r = 0; r < rows; ++r)
      for (long c = 0; c < valid; ++c) logits[r * width + c] = all[r * vocab + begin + c];
  }
  row_terms<accumulator_t<T>> terms() { return {sum_exp.data(), target.data(), sum.data()}; }
};

}  // namespace

TEST_CASE_TEMPLATE("cross-entropy over a split, padded vocabulary, with smoothing", T, float, double, bf16) {
  using A = accumulator_t<T>;
  const auto x = waves<T>(rows * vocab, 1, 5, 2), seeds_t = waves<T>(rows, 2);
  const std::vector<double> xd = to_double(x), seeds_d = to_double(seeds_t);
  const std::vector<A> seeds(seeds_d.begin(), seeds_d.end());
  for (const double smoothing : {0.0, 0.1}) {
    const auto want = reference(xd, smoothing);
    const auto g_want =
        numeric_gradient(xd, [&](const auto& v) { return 0.5 * dot(reference(v, smoothing), seeds_d); });
    on_every_block([&](const std::string& name, auto launch) {
      INFO(name);
      part<T> parts[] = {{x, 0, 12}, {x, 12, 11}};
      std::vector<A> per_row(rows);
      for (auto& p : parts)
        launch([&](const auto& b) { row_max(b, {0, rows}, p.m.data(), p.logits.data(), p.width, p.valid); });
      for (long r = 0; r < rows; ++r) parts[0].m[r] = parts[1].m[r] = std::max(parts[0].m[r], parts[1].m[r]);
      for (auto& p : parts)
        launch([&](const auto& b) {
          row_sums(b, {0, rows}, p.terms(), p.logits.data(), p.m.data(), labels.data(), p.begin, p.width, p.valid);
        });
      for (long r = 0; r < rows; ++r) {
        parts[0].sum_exp[r] = parts[1].sum_exp[r] = parts[0].sum_exp[r] + parts[1].sum_exp[r];
        parts[0].target[r] += parts[1].target[r];
        parts[0].sum[r] += parts[1].sum[r];
      }
      launch([&](const auto& b) {
        row_loss(b, {0, rows}, per_row.data(), parts[0].m.data(), parts[0].terms(), labels.data(), smoothing, vocab);
      });
      CHECK(distance(per_row, want) < std::max(tolerance<A>, 1e-12));
      for (auto& p : parts) {
        std::vector<T> apart(rows * p.width), joined, g = p.logits;
        launch([&](const auto& b) {
          logits_grad(b, {0, rows}, apart.data(), p.logits.data(), p.m.data(), p.sum_exp.data(), labels.data(),
                      row_seed<A>{A(0.5), seeds.data()}, p.begin, p.width, p.valid, smoothing, vocab);
          logits_grad(b, {0, rows}, g.data(), g.data(), p.m.data(), p.sum_exp.data(), labels.data(),
                      row_seed<A>{A(0.5), seeds.data()}, p.begin, p.width, p.valid, smoothing, vocab);
        });
        CHECK(to_double(apart) == to_double(g));
        std::vector<double> part_want(rows * p.width);
        for (long r = 0; r < rows; ++r)
          for (long c = 0; c < p.valid; ++c) part_want[r * p.width + c] = g_want[r * vocab + p.begin + c];
        CHECK(distance(g, part_want) < std::max(tolerance<T>, 1e-10));
        for (long c = p.valid; c < p.width; ++c) CHECK(double(g[c]) == 0);
        for (long c = 0; c < p.width; ++c) CHECK(double(g[2 * p.width + c]) == 0);  // the row without a label
      }
    });
  }
}

TEST_CASE("cross-entropy: the launchers, with a rank that holds no real column") {
  const auto x = waves<double>(rows * vocab, 1, 5, 2);
  std::vector<double> m(rows), none(rows), sum_exp(rows), target(rows), sum(rows), per_row(rows), g(rows * vocab);
  const row_terms<double> terms{sum_exp.data(), target.data(), sum.data()};
  row_max(none.data(), x.data(), rows, vocab, 0);
  for (const double top : none) CHECK(top == -INFINITY);
  row_max(m.data(), x.data(), rows, vocab, vocab);
  row_sums(terms, x.data(), m.data(), labels.data(), 0, rows, vocab, vocab);
  row_loss(per_row.data(), m.data(), terms, labels.data(), rows, 0.1, vocab);
  CHECK(distance(per_row, reference(x, 0.1)) < 1e-12);
  logits_grad(g.data(), x.data(), m.data(), sum_exp.data(), labels.data(), {}, 0, rows, vocab, vocab, 0.1, vocab);
  const std::vector<double> one(rows, 1.0);
  CHECK(distance(g, numeric_gradient(x, [&](const auto& v) { return dot(reference(v, 0.1), one); })) < 1e-10);
}
