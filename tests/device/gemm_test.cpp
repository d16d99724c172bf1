// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/device/host_gemm.hpp>
#if __has_include(<oneapi/dnnl/dnnl.h>) && !defined(MESHPAR_TEST_WITHOUT_ONEDNN)
#include <meshpar/device/onednn_gemm.hpp>
#define MESHPAR_TEST_ONEDNN
#endif

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

using namespace meshpar;

namespace {

template <class T>
std::vector<T> numbers(long n, int seed) {
  std::vector<T> v;
  for (long i = 0; i < n; ++i) v.push_back(T(std::sin(0.7 * double(i) + seed)));
  return v;
}

template <class T>
constexpr double unit_roundoff = 0x1p-53;
template <>
constexpr double unit_roundoff<float> = 0x1p-24;
template <>
constexpr double unit_roundoff<bf16> = 0x1p-8;

// Largest error over the result, as a multiple of the classical bound: (k + 3) roundings of the sum of magnitudes,
// and the rounding of the result.
template <class Gemm, class T, class C>
double error_of(const gemm_shape& s, accumulator_t<T> alpha, accumulator_t<T> beta) {
  using A = accumulator_t<T>;
  const auto a = numbers<T>((s.transpose_a ? s.k : s.m) * s.a, 1), b = numbers<T>((s.transpose_b ? s.n : s.k) * s.b, 2);
  auto c = numbers<C>(s.m * s.c, 3);
  const auto before = c;
  if (beta == 0)
    for (long i = 0; i < s.m; ++i)
      for (long j = 0; j < s.n; ++j) c[i * s.c + j] = C(std::numeric_limits<float>::quiet_NaN());
  Gemm::template multiply<T, C>(s, alpha, a.data(), b.data(), beta, c.data());
  double worst = 0;
  for (long i = 0; i < s.m; ++i)
    for (long j = 0; j < s.c; ++j) {
      double sum = 0, size = 0;
      for (long p = 0; p < s.k && j < s.n; ++p) {
        const double term = double(s.transpose_a ? a[p * s.a + i] : a[i * s.a + p]) *
                            double(s.transpose_b ? b[j * s.b + p] : b[p * s.b + j]);
        sum += term, size += std::fabs(term);
      }
      const double old = double(before[i * s.c + j]), kept = beta == 0 ? 0 : double(beta) * old;
      const double want = j < s.n ? double(alpha) * sum + kept : old;
      const double allowed = double(s.k + 3) * unit_roundoff<A> * (std::fabs(double(alpha)) * size + std::fabs(kept)) +
                             unit_roundoff<C> * std::fabs(want);
      const double off = std::fabs(double(c[i * s.c + j]) - want), e = off == 0 ? 0 : off / allowed;
      worst = e <= worst ? worst : std::isnan(e) ? INFINITY : e;
    }
  return worst;
}

// Shapes with edges of every kind: inside one register tile, over one block of rows, columns and depth.
template <class Gemm, class T, class C>
double worst_error() {
  const long sizes[][3] = {{1, 1, 1},     {3, 5, 2},      {14, 32, 16}, {15, 33, 300},
                           {160, 70, 17}, {7, 1050, 260}, {390, 9, 5},  {4, 6, 0}};
  double worst = 0;
  for (const auto& [m, n, k] : sizes)
    for (const bool ta : {false, true})
      for (const bool tb : {false, true}) {
        gemm_shape s = packed_gemm(ta, tb, m, n, k);
        worst = std::max(worst, error_of<Gemm, T, C>(s, 1, 0));
        s.a += 3, s.b += 1, s.c += 2;
        worst = std::max(worst, error_of<Gemm, T, C>(s, 0.5f, 1));
        worst = std::max(worst, error_of<Gemm, T, C>(s, -2, 0.25f));
      }
  return worst;
}

template <class Gemm>
void check_all() {
  CHECK(worst_error<Gemm, double, double>() <= 1);
  CHECK(worst_error<Gemm, float, float>() <= 1);
  CHECK(worst_error<Gemm, bf16, float>() <= 1);
  CHECK(worst_error<Gemm, bf16, bf16>() <= 1);
}

}  // namespace

TEST_CASE("plain products: every transposition, stride, edge, alpha, beta and type") { check_all<plain_gemm>(); }

TEST_CASE("plain products: bits do not change from run to run, nor with what surrounds the operands") {
  const auto a = numbers<float>(50 * 400, 1), b = numbers<float>(400 * 90, 2);
  std::vector<float> first(50 * 90), again(50 * 95);
  gemm_shape s = packed_gemm(false, false, 50, 90, 400);
  plain_gemm::multiply(s, 1, a.data(), b.data(), 0, first.data());
  s.c = 95;
  plain_gemm::multiply(s, 1, a.data(), b.data(), 0, again.data());
  for (long i = 0; i < 50; ++i)
    for (long j = 0; j < 90; ++j) CHECK(first[i * 90 + j] == again[i * 95 + j]);
}

#ifdef MESHPAR_TEST_ONEDNN
TEST_CASE("oneDNN products: the same signature, the same results") {
  onednn_gemm::set_threads(1);
  check_all<onednn_gemm>();
}

TEST_CASE("oneDNN products: more shapes than the table holds, and back") {
  for (int round = 0; round < 2; ++round)
    for (long n = 1; n <= onednn_products::capacity + 10; ++n)
      CHECK(error_of<onednn_gemm, bf16, float>(packed_gemm(false, true, 3, n, 8), 1, 0) <= 1);
}
#endif
