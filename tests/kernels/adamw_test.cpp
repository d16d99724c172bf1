// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/kernels/adamw.hpp>

#include "on_every_block.hpp"

#include <limits>

using namespace meshpar;
using namespace meshpar::kernels;
using namespace meshpar_test;

namespace {

constexpr long n = 137;
constexpr adamw_settings settings{0.01, 0.8, 0.95, 1e-6, 0.1};

struct state {
  std::vector<double> w, m, v;
};

void reference(state& s, const std::vector<double>& grad, int step, double clip) {
  for (std::size_t i = 0; i < s.w.size(); ++i) {
    const double g = grad[i] * clip;
    s.m[i] = settings.beta1 * s.m[i] + (1 - settings.beta1) * g;
    s.v[i] = settings.beta2 * s.v[i] + (1 - settings.beta2) * g * g;
    const double m_hat = s.m[i] / (1 - std::pow(settings.beta1, step));
    const double v_hat = s.v[i] / (1 - std::pow(settings.beta2, step));
    s.w[i] -= settings.learning_rate * (m_hat / (std::sqrt(v_hat) + settings.eps) + settings.decay * s.w[i]);
  }
}

}  // namespace

TEST_CASE_TEMPLATE("adamw: five steps with decay and clipping on every block", T, float, double, bf16) {
  using A = accumulator_t<T>;
  on_every_block([&](const std::string& name, auto launch) {
    INFO(name);
    std::vector<A> master = waves<A>(n, 1), m(n), v(n);
    std::vector<T> param(n);
    state want{to_double(master), std::vector<double>(n), std::vector<double>(n)};
    for (int step = 1; step <= 5; ++step) {
      const auto grad = waves<T>(n, 10 + step);
      const adamw_step<A> factors(settings, step, 0.5);
      launch([&](const auto& b) {
        adamw(b, {0, 50}, param.data(), master.data(), m.data(), v.data(), grad.data(), factors);
        adamw(b, {50, n}, param.data(), master.data(), m.data(), v.data(), grad.data(), factors);
      });
      reference(want, to_double(grad), step, 0.5);
    }
    CHECK(distance(master, want.w) < 5 * tolerance<A>);
    CHECK(distance(m, want.m) < tolerance<A>);
    CHECK(distance(v, want.v) < tolerance<A>);
    CHECK(distance(param, to_double(master)) < tolerance<T>);
  });
}

TEST_CASE("adamw: the parameter can be the master, moments can be f32 beside f64") {
  std::vector<double> w = waves<double>(9000, 1), plain = w;
  std::vector<float> m(9000), v(9000);
  std::vector<double> m64(9000), v64(9000), other(9000);
  const auto grad = waves<double>(9000, 2);
  adamw(w.data(), w.data(), m.data(), v.data(), grad.data(), 9000, settings, 1);
  adamw(other.data(), plain.data(), m64.data(), v64.data(), grad.data(), 9000, settings, 1);
  CHECK(other == plain);
  CHECK(distance(w, plain) < 1e-7);
}

TEST_CASE_TEMPLATE("sum of squares: exact to f64 rounding, and not finite where an element is not", T, float, double,
                   bf16) {
  auto x = waves<T>(1003, 1);
  const double want = dot(to_double(x), to_double(x));
  on_every_block([&](const std::string& name, auto launch) {
    INFO(name);
    std::vector<double> got(1);
    launch([&](const auto& b) {
      const double s = sum_of_squares(b, x.data(), 1003);
      if (b.thread() == 0) got[0] = s;
    });
    CHECK(distance(got, {want}) < 1e-14);
  });
  x[500] = T(std::numeric_limits<float>::infinity());
  CHECK_FALSE(std::isfinite(sum_of_squares(x.data(), 1003)));
  x[500] = T(std::numeric_limits<float>::quiet_NaN());
  CHECK_FALSE(std::isfinite(sum_of_squares(x.data(), 1003)));
}
