// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "block_fibers.hpp"
#include "block_threads.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace meshpar_test {

// Calls check(name, launch) once per kind of block; launch(body) runs body(b) on all its threads.
template <class Check>
void on_every_block(Check check) {
  check(std::string("one thread"), [](auto body) { body(meshpar::kernels::one_thread{}); });
  check(std::string("3 real threads"), [](auto body) { thread_block::run(3, body); });
#if !defined(__SANITIZE_THREAD__)  // ThreadSanitizer does not follow a switch of contexts
  check(std::string("4 fibers forward"), [](auto body) { fiber_block::run(4, fiber_block::order::forward, body); });
  check(std::string("7 fibers backward"), [](auto body) { fiber_block::run(7, fiber_block::order::backward, body); });
  check(std::string("5 fibers shuffled"), [](auto body) { fiber_block::run(5, fiber_block::order::shuffled, body); });
#endif
}

// Sign-changing numbers in (-1, 1), another run for another seed.
inline double wave(long i, int seed) {
  return std::sin(0.37 * double(i) + 1.7 * seed) * std::cos(0.011 * double(i * i) + seed);
}

template <class T>
std::vector<T> waves(long n, int seed, double size = 1, double shift = 0) {
  std::vector<T> v(static_cast<std::size_t>(n));
  for (long i = 0; i < n; ++i) v[static_cast<std::size_t>(i)] = T(size * wave(i, seed) + shift);
  return v;
}

template <class T>
std::vector<double> to_double(const std::vector<T>& v) {
  std::vector<double> d;
  for (const T& x : v) d.push_back(double(x));
  return d;
}

// Largest |got - want|, in units of the largest |want| (at least 1); NaN counts as infinite.
template <class T>
double distance(const std::vector<T>& got, const std::vector<double>& want) {
  double worst = got.size() == want.size() ? 0 : INFINITY, size = 1;
  for (double w : want)
    if (std::isfinite(w)) size = std::max(size, std::fabs(w));
  for (std::size_t i = 0; i < want.size() && i < got.size(); ++i) {
    const double d = double(got[i]) == want[i] ? 0 : std::fabs(double(got[i]) - want[i]);
    worst = d <= worst ? worst : std::isnan(d) ? INFINITY : d;
  }
  return worst / size;
}

// Rounding allowed per element type against an f64 reference.
template <class T>
inline constexpr double tolerance = 1e-12;
template <>
inline constexpr double tolerance<float> = 2e-6;
template <>
inline constexpr double tolerance<meshpar::bf16> = 4e-3;

// d loss / d x by five-point central differences in f64.
template <class Loss>
std::vector<double> numeric_gradient(std::vector<double> x, Loss loss, double h = 1e-3) {
  std::vector<double> g;
  for (double& at : x) {
    const double was = at;
    const auto moved = [&](double by) {
      at = was + by;
      return loss(x);
    };
    const double near = moved(h) - moved(-h), far = moved(2 * h) - moved(-2 * h);
    at = was;
    g.push_back((8 * near - far) / (12 * h));
  }
  return g;
}

inline double dot(const std::vector<double>& x, const std::vector<double>& y) {
  double s = 0;
  for (std::size_t i = 0; i < x.size(); ++i) s += x[i] * y[i];
  return s;
}

}  // namespace meshpar_test
