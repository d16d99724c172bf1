// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/kernels/rms_norm.hpp>

#include "on_every_block.hpp"

using namespace meshpar;
using namespace meshpar::kernels;
using namespace meshpar_test;

namespace {

constexpr long rows = 5, width = 83;
constexpr double eps = 1e-3;

std::vector<double> reference(const std::vector<double>& x, const std::vector<double>& gain) {
  std::vector<double> y(x.size());
  for (long r = 0; r < rows; ++r) {
    double squares = 0;
    for (long c = 0; c < width; ++c) squares += x[r * width + c] * x[r * width + c];
    for (long c = 0; c < width; ++c) y[r * width + c] = gain[c] * x[r * width + c] / std::sqrt(squares / width + eps);
  }
  return y;
}

}  // namespace

TEST_CASE_TEMPLATE("rms_norm: forward and both gradients on every block", T, float, double, bf16) {
  using A = accumulator_t<T>;
  const auto x = waves<T>(rows * width, 1, 2), gain = waves<T>(width, 2, 0.5, 1), gy = waves<T>(rows * width, 3);
  const auto xd = to_double(x), gd = to_double(gain), gyd = to_double(gy);
  const auto y_want = reference(xd, gd);
  const auto gx_want = numeric_gradient(xd, [&](const auto& v) { return dot(reference(v, gd), gyd); });
  const auto ggain_want = numeric_gradient(gd, [&](const auto& v) { return dot(reference(xd, v), gyd); });
  const double differences = std::max(tolerance<T>, 1e-8);
  on_every_block([&](const std::string& name, auto launch) {
    INFO(name);
    std::vector<T> y(rows * width), gx(rows * width);
    std::vector<A> rstd(rows), ggain(width, A(7)), twice;
    launch([&](const auto& b) {
      rms_norm(b, {0, 2}, y.data(), rstd.data(), x.data(), gain.data(), width, eps);
      rms_norm(b, {2, rows}, y.data(), rstd.data(), x.data(), gain.data(), width, eps);
    });
    launch([&](const auto& b) {
      rms_norm_input_grad(b, {0, rows}, gx.data(), gy.data(), x.data(), gain.data(), rstd.data(), width);
    });
    const auto weight_grad = [&](bool accumulate) {
      launch([&](const auto& b) {
        rms_norm_weight_grad(b, {0, 40}, ggain.data(), gy.data(), x.data(), rstd.data(), rows, width, accumulate);
        rms_norm_weight_grad(b, {40, width}, ggain.data(), gy.data(), x.data(), rstd.data(), rows, width, accumulate);
      });
    };
    weight_grad(false);
    CHECK(distance(y, y_want) < tolerance<T>);
    CHECK(distance(gx, gx_want) < differences);
    CHECK(distance(ggain, ggain_want) < std::max(2e-6, tolerance<A>));
    weight_grad(true);
    for (A& g : ggain) g /= 2;
    CHECK(distance(ggain, ggain_want) < std::max(2e-6, tolerance<A>));
  });
}

TEST_CASE("rms_norm: the launchers are the bodies on one thread") {
  const auto x = waves<double>(rows * width, 1), gain = waves<double>(width, 2, 0.5, 1);
  std::vector<double> y(rows * width), rstd(rows), gx(rows * width), ggain(width);
  rms_norm(y.data(), rstd.data(), x.data(), gain.data(), rows, width, eps);
  rms_norm_input_grad(gx.data(), x.data(), x.data(), gain.data(), rstd.data(), rows, width);
  rms_norm_weight_grad(ggain.data(), x.data(), x.data(), rstd.data(), rows, width);
  CHECK(distance(y, reference(x, gain)) < 1e-12);
  CHECK(distance(gx, numeric_gradient(x, [&](const auto& v) { return dot(reference(v, gain), x); })) < 1e-8);
  CHECK(distance(ggain, numeric_gradient(gain, [&](const auto& v) { return dot(reference(x, v), x); })) < 1e-8);
}
