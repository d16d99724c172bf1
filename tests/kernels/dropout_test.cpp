// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/kernels/dropout.hpp>

#include "on_every_block.hpp"

using namespace meshpar;
using namespace meshpar::kernels;
using namespace meshpar_test;

TEST_CASE_TEMPLATE("dropout: survivors are scaled, on every block alike", T, float, double, bf16) {
  constexpr long tokens = 6, width = 33;
  const auto x = waves<T>(tokens * width, 1);
  const dropout_mask mask = dropout_at(0.25, 7, 3, 2);
  std::vector<double> want;
  for (long t = 0; t < tokens; ++t)
    for (long c = 0; c < width; ++c)
      want.push_back(mask.keeps(100 + t % 2, 50 + t / 2, 0, 5 + c) ? double(x[t * width + c]) / 0.75 : 0);
  on_every_block([&](const std::string& name, auto launch) {
    INFO(name);
    std::vector<T> y(tokens * width);
    launch([&](const auto& b) {
      dropout(b, {0, 2}, y.data(), x.data(), mask, token_origin{50, 100, 5, 2}, width);
      dropout(b, {2, tokens}, y.data(), x.data(), mask, token_origin{50, 100, 5, 2}, width);
    });
    CHECK(distance(y, want) < tolerance<T>);
  });
}

TEST_CASE("dropout: any split of positions, samples and features draws the same mask") {
  constexpr long positions = 6, batch = 4, width = 10;
  const dropout_mask mask = dropout_at(0.5, 1, 2, 3);
  const std::vector<double> ones(positions * batch * width, 1.0);
  std::vector<double> whole(ones.size()), pieces(ones.size());
  dropout(whole.data(), ones.data(), mask, {0, 0, 0, batch}, positions * batch, width);
  for (long p0 = 0; p0 < positions; p0 += 3)
    for (long s0 = 0; s0 < batch; s0 += 2)
      for (long f0 = 0; f0 < width; f0 += 5) {
        std::vector<double> y(3 * 2 * 5);
        dropout(y.data(), ones.data(), mask, {p0, s0, f0, 2}, 6, 5);
        for (long p = 0; p < 3; ++p)
          for (long s = 0; s < 2; ++s)
            for (long f = 0; f < 5; ++f) pieces[((p0 + p) * batch + s0 + s) * width + f0 + f] = y[(p * 2 + s) * 5 + f];
      }
  CHECK(whole == pieces);
}

TEST_CASE("dropout: the rate holds, and seed, step, site, sample, position, head and index each matter") {
  long kept = 0, differ[7] = {};
  const long n = 40000;
  const dropout_mask m = dropout_at(0.3, 1, 1, 1);
  for (long i = 0; i < n; ++i) {
    const bool k = m.keeps(2, 3, 4, i);
    kept += k;
    const bool other[] = {dropout_at(0.3, 2, 1, 1).keeps(2, 3, 4, i),
                          dropout_at(0.3, 1, 2, 1).keeps(2, 3, 4, i),
                          dropout_at(0.3, 1, 1, 2).keeps(2, 3, 4, i),
                          m.keeps(3, 3, 4, i),
                          m.keeps(2, 4, 4, i),
                          m.keeps(2, 3, 5, i),
                          m.keeps(2, 3, 4, i + n)};
    for (int j = 0; j < 7; ++j) differ[j] += k != other[j];
  }
  CHECK(std::fabs(double(kept) / n - 0.7) < 0.01);  // 4 standard deviations
  for (const long d : differ) CHECK(std::fabs(double(d) / n - 2 * 0.3 * 0.7) < 0.011);
}

TEST_CASE("dropout: rate 0 keeps everything") {
  CHECK_FALSE(dropout_at(0, 1, 1, 1).active());
  CHECK(dropout_at(0, 1, 1, 1).factor<double>(1, 2, 3, 4) == 1);
}
