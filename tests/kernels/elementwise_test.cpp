// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/kernels/elementwise.hpp>

#include "on_every_block.hpp"

using namespace meshpar;
using namespace meshpar::kernels;
using namespace meshpar_test;

TEST_CASE_TEMPLATE("elementwise kernels and bias on every block", T, float, double, bf16) {
  using A = accumulator_t<T>;
  constexpr long rows = 5, width = 71, n = rows * width;
  const auto x = waves<T>(n, 1), z = waves<T>(n, 2), bias = waves<T>(width, 3);
  std::vector<double> sum, scaled, more, biased, columns(width, 0.0);
  for (long i = 0; i < n; ++i) {
    const double a = double(x[i]), c = double(z[i]);
    sum.push_back(a + c), scaled.push_back(-2.5 * a), more.push_back(c + 3 * a);
    biased.push_back(a + double(bias[i % width]));
    columns[i % width] += a;
  }
  on_every_block([&](const std::string& name, auto launch) {
    INFO(name);
    std::vector<T> filled(n), added(n), times(n), with_bias(n), narrow(n), grown = z;
    std::vector<A> wide(n), total, gbias(width, A(9));
    for (const T& v : z) total.push_back(A(v));
    launch([&](const auto& b) {
      fill(b, {0, n}, filled.data(), T(4.0f));
      add(b, {0, 100}, added.data(), x.data(), z.data());
      add(b, {100, n}, added.data(), x.data(), z.data());
      scale(b, {0, n}, times.data(), x.data(), A(-2.5));
      add_bias(b, {0, rows}, with_bias.data(), x.data(), bias.data(), width);
      cast(b, {0, n}, wide.data(), x.data());
      b.sync();
      cast(b, {0, n}, narrow.data(), wide.data());
      accumulate(b, {0, n}, grown.data(), x.data(), A(3));
      accumulate(b, {0, n}, total.data(), x.data(), A(3));
      bias_grad(b, {0, 33}, gbias.data(), x.data(), rows, width, false);
      bias_grad(b, {33, width}, gbias.data(), x.data(), rows, width, false);
      bias_grad(b, {0, 33}, gbias.data(), x.data(), rows, width, true);
      bias_grad(b, {33, width}, gbias.data(), x.data(), rows, width, true);
    });
    CHECK(distance(filled, std::vector<double>(n, 4.0)) == 0);
    CHECK(distance(added, sum) < tolerance<T>);
    CHECK(distance(times, scaled) < tolerance<T>);
    CHECK(distance(with_bias, biased) < tolerance<T>);
    CHECK(to_double(wide) == to_double(x));
    CHECK(to_double(narrow) == to_double(x));
    CHECK(distance(grown, more) < tolerance<T>);
    CHECK(distance(total, more) < tolerance<A>);
    for (A& g : gbias) g /= 2;
    CHECK(distance(gbias, columns) < tolerance<A>);
  });
}

TEST_CASE("elementwise: the launchers, in place") {
  std::vector<double> x = {1, -2, 3, 4}, bias = {10, 20}, gbias(2);
  add(x.data(), x.data(), x.data(), 4);
  scale(x.data(), x.data(), 0.5, 4);
  add_bias(x.data(), x.data(), bias.data(), 2, 2);
  CHECK(x == std::vector<double>{11, 18, 13, 24});
  accumulate(x.data(), x.data(), 4);
  bias_grad(gbias.data(), x.data(), 2, 2);
  CHECK(gbias == std::vector<double>{48, 84});
  fill(x.data(), 1.0, 3);
  CHECK(x == std::vector<double>{1, 1, 1, 48});
  std::vector<float> narrow(4);
  cast(narrow.data(), x.data(), 4);
  CHECK(narrow == std::vector<float>{1, 1, 1, 48});
}
