// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/kernels/math.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace meshpar::kernels;

namespace {

// |got - want| in units of the last place of the float nearest to want.
double ulps(float got, double want) {
  const float near = std::fabs(static_cast<float>(want));
  return std::fabs(double(got) - want) / (double(std::nextafter(near, INFINITY)) - double(near));
}

template <class Got, class Want>
double worst(float from, float to, Got got, Want want) {
  double largest = 0;
  const float step = (to - from) / 1000003.0f;
  for (float x = from; x < to; x += step) {
    const double u = ulps(got(x), want(double(x)));
    largest = u <= largest ? largest : u;
  }
  return largest;
}

}  // namespace

TEST_CASE("exp of float: 1.5 units in the last place, and its limits") {
  const auto got = [](float x) { return exp_of(x); };
  const auto want = [](double x) { return std::exp(x); };
  CHECK(worst(-86.5f, 88.7f, got, want) < 1.5);
  CHECK(worst(-1.0f, 1.0f, got, want) < 1.5);
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(exp_of(0.0f) == 1.0f);
  CHECK(exp_of(-infinity) == 0.0f);
  CHECK(exp_of(-1000.0f) == 0.0f);
  CHECK(exp_of(infinity) == infinity);
  CHECK(exp_of(1000.0f) == infinity);
  CHECK(std::isnan(exp_of(std::nanf(""))));
}

TEST_CASE("tanh of float: 2 units in the last place") {
  const auto got = [](float x) { return tanh_of(x); };
  const auto want = [](double x) { return std::tanh(x); };
  CHECK(worst(-12.0f, 12.0f, got, want) < 2);
  CHECK(worst(-0.7f, 0.7f, got, want) < 2);
  CHECK(worst(-1e-3f, 1e-3f, got, want) < 2);
  CHECK(tanh_of(1e30f) == 1.0f);
  CHECK(tanh_of(-1e30f) == -1.0f);
  CHECK(std::isnan(tanh_of(std::nanf(""))));
}

TEST_CASE("sigmoid of float: 3 units in the last place") {
  CHECK(
      worst(-80.0f, 80.0f, [](float x) { return sigmoid_of(x); }, [](double x) { return 1 / (1 + std::exp(-x)); }) < 3);
  CHECK(sigmoid_of(-1000.0f) == 0.0f);
  CHECK(sigmoid_of(1000.0f) == 1.0f);
}

TEST_CASE("square root of float: 1.5 units in the last place") {
  const auto got = [](float x) { return sqrt_of(x); };
  const auto want = [](double x) { return std::sqrt(x); };
  CHECK(worst(1e-3f, 4.0f, got, want) < 1.5);
  CHECK(worst(1e-30f, 1e-28f, got, want) < 1.5);
  CHECK(worst(1.0f, 1e30f, got, want) < 1.5);
  CHECK(sqrt_of(0.0f) == 0.0f);
  CHECK(sqrt_of(1e-40f) < 1e-19f);
}

TEST_CASE("double is the library's") {
  CHECK(exp_of(0.3) == std::exp(0.3));
  CHECK(tanh_of(0.3) == std::tanh(0.3));
}
