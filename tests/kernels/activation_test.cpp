// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/kernels/activation.hpp>

#include "on_every_block.hpp"

using namespace meshpar;
using namespace meshpar::kernels;
using namespace meshpar_test;

namespace {

double reference(gelu_tanh, double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * std::pow(x, 3))));
}
double reference(gelu_erf, double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2))); }
double reference(relu, double x) { return std::max(x, 0.0); }
double reference(silu, double x) { return x / (1 + std::exp(-x)); }

template <class F, class T>
void check_activation() {
  constexpr long n = 201;
  const auto x = waves<T>(n, 1, 6), gy = waves<T>(n, 2);
  std::vector<double> y_want, gx_want;
  for (long i = 0; i < n; ++i) {
    const double at = double(x[i]), h = 1e-5;
    y_want.push_back(reference(F{}, at));
    gx_want.push_back(double(gy[i]) * (reference(F{}, at + h) - reference(F{}, at - h)) / (2 * h));
  }
  on_every_block([&](const std::string& name, auto launch) {
    INFO(name);
    std::vector<T> y(n), gx(n);
    launch([&](const auto& b) {
      activate<F>(b, {0, 77}, y.data(), x.data());
      activate<F>(b, {77, n}, y.data(), x.data());
      activate_input_grad<F>(b, {0, n}, gx.data(), gy.data(), x.data());
    });
    CHECK(distance(y, y_want) < tolerance<T>);
    CHECK(distance(gx, gx_want) < std::max(tolerance<T>, 1e-8));
  });
  std::vector<T> y = x, gx = gy;
  activate<F>(y.data(), y.data(), n);
  activate_input_grad<F>(gx.data(), gx.data(), x.data(), n);
  CHECK(distance(y, y_want) < tolerance<T>);
  CHECK(distance(gx, gx_want) < std::max(tolerance<T>, 1e-8));
}

}  // namespace

TEST_CASE_TEMPLATE("activations: value and slope on every block, in place too", T, float, double, bf16) {
  check_activation<gelu_tanh, T>();
  check_activation<gelu_erf, T>();
  check_activation<relu, T>();
  check_activation<silu, T>();
}

TEST_CASE("the slope of relu at 0 is 0") { CHECK(relu::slope(0.0) == 0.0); }

TEST_CASE_TEMPLATE("swiglu: halves of one product, forward and both gradients", T, float, double, bf16) {
  constexpr long rows = 3, width = 37, stride = 2 * width + 5;
  const auto both = waves<T>(rows * stride, 1, 4), gy = waves<T>(rows * width, 2);
  const auto gyd = to_double(gy);
  const auto value = [&](const std::vector<double>& v) {
    std::vector<double> y;
    for (long r = 0; r < rows; ++r)
      for (long c = 0; c < width; ++c) y.push_back(reference(silu{}, v[r * stride + c]) * v[r * stride + width + c]);
    return y;
  };
  const auto y_want = value(to_double(both));
  const auto g_want = numeric_gradient(to_double(both), [&](const auto& v) { return dot(value(v), gyd); });
  on_every_block([&](const std::string& name, auto launch) {
    INFO(name);
    std::vector<T> y(rows * width), g(rows * stride), in_place = both;
    launch([&](const auto& b) {
      swiglu(b, {0, rows}, y.data(), both.data(), both.data() + width, width, stride);
      swiglu_input_grad(b, {0, rows}, g.data(), g.data() + width, gy.data(), both.data(), both.data() + width, width,
                        stride);
    });
    CHECK(distance(y, y_want) < tolerance<T>);
    CHECK(distance(g, g_want) < std::max(tolerance<T>, 1e-8));
    swiglu_input_grad(in_place.data(), in_place.data() + width, gy.data(), in_place.data(), in_place.data() + width,
                      rows, width, stride);
    for (long r = 0; r < rows; ++r) std::fill_n(in_place.begin() + r * stride + 2 * width, 5, T{});
    CHECK(distance(in_place, g_want) < std::max(tolerance<T>, 1e-8));
  });
}
