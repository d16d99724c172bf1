// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/kernels/init.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace meshpar;
using namespace meshpar::kernels;

TEST_CASE("normal: mean, variance, skewness and kurtosis of 10^5 draws within four standard errors") {
  const long n = 100000;
  double sum[5] = {};
  for (long i = 0; i < n; ++i) {
    const double x = normal(1, name_hash("weight"), i);
    double power = 1;
    for (double& s : sum) s += power / n, power *= x;
  }
  const double error = 4 / std::sqrt(double(n));
  CHECK(std::fabs(sum[1]) < error);
  CHECK(std::fabs(sum[2] - 1) < error * std::sqrt(2.0));
  CHECK(std::fabs(sum[3]) < error * std::sqrt(15.0));
  CHECK(std::fabs(sum[4] - 3) < error * std::sqrt(96.0));
}

TEST_CASE("normal: neighbours, names and seeds are uncorrelated") {
  const long n = 100000;
  double neighbour = 0, name = 0, seed = 0;
  for (long i = 0; i < n; ++i) {
    const double x = normal(1, name_hash("a"), i);
    neighbour += x * normal(1, name_hash("a"), i + 1) / n;
    name += x * normal(1, name_hash("b"), i) / n;
    seed += x * normal(2, name_hash("a"), i) / n;
  }
  const double error = 4 / std::sqrt(double(n));
  CHECK(std::fabs(neighbour) < error);
  CHECK(std::fabs(name) < error);
  CHECK(std::fabs(seed) < error);
}

TEST_CASE("normal_fill: a shard holds the very values of the whole") {
  const long rows = 6, columns = 10;
  std::vector<float> whole(rows * columns), shard(rows * 5);
  normal_fill(whole.data(), rows * columns, 3, name_hash("w"), 0.02, [](long i) { return i; });
  normal_fill(shard.data(), rows * 5, 3, name_hash("w"), 0.02, [&](long i) { return i / 5 * columns + 5 + i % 5; });
  for (long r = 0; r < rows; ++r)
    for (long c = 0; c < 5; ++c) CHECK(shard[r * 5 + c] == whole[r * columns + 5 + c]);
}

TEST_CASE("the uniform numbers stay inside (0, 1), and hashes are FNV-1a's") {
  CHECK(open_uniform(0, 0) > 0);
  CHECK(open_uniform(~0u, ~0u) < 1);
  static_assert(name_hash("") == 0xcbf29ce484222325u);
  static_assert(name_hash("a") == 0xaf63dc4c8601ec8cu);
}
