// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/kernels/layer_norm.hpp>

#include "on_every_block.hpp"

using namespace meshpar;
using namespace meshpar::kernels;
using namespace meshpar_test;

namespace {

constexpr long rows = 4, width = 70;
constexpr double eps = 1e-3;

std::vector<double> reference(const std::vector<double>& x, const std::vector<double>& gain,
                              const std::vector<double>& bias) {
  std::vector<double> y(x.size());
  for (long r = 0; r < rows; ++r) {
    double mean = 0, variance = 0;
    for (long c = 0; c < width; ++c) mean += x[r * width + c] / width;
    for (long c = 0; c < width; ++c) variance += (x[r * width + c] - mean) * (x[r * width + c] - mean) / width;
    for (long c = 0; c < width; ++c)
      y[r * width + c] = gain[c] * (x[r * width + c] - mean) / std::sqrt(variance + eps) + bias[c];
  }
  return y;
}

}  // namespace

TEST_CASE_TEMPLATE("layer_norm: forward and all gradients on every block", T, float, double, bf16) {
  using A = accumulator_t<T>;
  const auto x = waves<T>(rows * width, 1, 2, 0.7), gain = waves<T>(width, 2, 0.5, 1), bias = waves<T>(width, 5),
             gy = waves<T>(rows * width, 3);
  const auto xd = to_double(x), gd = to_double(gain), bd = to_double(bias), gyd = to_double(gy);
  const auto y_want = reference(xd, gd, bd);
  const auto gx_want = numeric_gradient(xd, [&](const auto& v) { return dot(reference(v, gd, bd), gyd); });
  const auto ggain_want = numeric_gradient(gd, [&](const auto& v) { return dot(reference(xd, v, bd), gyd); });
  const auto gbias_want = numeric_gradient(bd, [&](const auto& v) { return dot(reference(xd, gd, v), gyd); });
  on_every_block([&](const std::string& name, auto launch) {
    INFO(name);
    std::vector<T> y(rows * width), gx(rows * width);
    std::vector<A> mean(rows), rstd(rows), ggain(width, A(7)), gbias(width, A(7));
    launch([&](const auto& b) {
      layer_norm(b, {0, rows}, y.data(), mean.data(), rstd.data(), x.data(), gain.data(), bias.data(), width, eps);
    });
    launch([&](const auto& b) {
      layer_norm_input_grad(b, {0, rows}, gx.data(), gy.data(), x.data(), gain.data(), mean.data(), rstd.data(), width);
    });
    for (const bool accumulate : {false, true})
      launch([&](const auto& b) {
        layer_norm_weight_grad(b, {0, width}, ggain.data(), gbias.data(), gy.data(), x.data(), mean.data(), rstd.data(),
                               rows, width, accumulate);
      });
    for (A& g : ggain) g /= 2;
    for (A& g : gbias) g /= 2;
    CHECK(distance(y, y_want) < tolerance<T>);
    CHECK(distance(gx, gx_want) < std::max(tolerance<T>, 1e-8));
    CHECK(distance(ggain, ggain_want) < std::max(2e-6, tolerance<A>));
    CHECK(distance(gbias, gbias_want) < std::max(2e-6, tolerance<A>));
  });
}

TEST_CASE("layer_norm: the launchers are the bodies on one thread") {
  const auto x = waves<double>(rows * width, 1), gain = waves<double>(width, 2, 0.5, 1), bias = waves<double>(width, 4);
  std::vector<double> y(rows * width), mean(rows), rstd(rows), gx(rows * width), ggain(width), gbias(width);
  layer_norm(y.data(), mean.data(), rstd.data(), x.data(), gain.data(), bias.data(), rows, width, eps);
  layer_norm_input_grad(gx.data(), x.data(), x.data(), gain.data(), mean.data(), rstd.data(), rows, width);
  layer_norm_weight_grad(ggain.data(), gbias.data(), x.data(), x.data(), mean.data(), rstd.data(), rows, width);
  CHECK(distance(y, reference(x, gain, bias)) < 1e-12);
  CHECK(distance(gx, numeric_gradient(x, [&](const auto& v) { return dot(reference(v, gain, bias), x); })) < 1e-8);
  CHECK(distance(ggain, numeric_gradient(gain, [&](const auto& v) { return dot(reference(x, v, bias), x); })) < 1e-8);
  CHECK(distance(gbias, numeric_gradient(bias, [&](const auto& v) { return dot(reference(x, gain, v), x); })) < 1e-8);
}
