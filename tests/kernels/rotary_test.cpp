// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/kernels/rotary.hpp>

#include "on_every_block.hpp"

using namespace meshpar;
using namespace meshpar::kernels;
using namespace meshpar_test;

namespace {

constexpr long tokens = 6, heads = 3, head_dim = 10, width = heads * head_dim, table_rows = 40;
constexpr double theta = 100;

// Each pair (i, i + head_dim / 2) as a complex number times e^(i angle).
std::vector<double> reference(const std::vector<double>& x, const std::vector<std::int32_t>& position) {
  std::vector<double> y(x.size());
  for (long t = 0; t < tokens; ++t)
    for (long h = 0; h < heads; ++h)
      for (long i = 0; i < head_dim / 2; ++i) {
        const double angle = position[t] / std::pow(theta, 2.0 * double(i) / head_dim);
        const long low = t * width + h * head_dim + i, high = low + head_dim / 2;
        y[low] = x[low] * std::cos(angle) - x[high] * std::sin(angle);
        y[high] = x[high] * std::cos(angle) + x[low] * std::sin(angle);
      }
  return y;
}

}  // namespace

TEST_CASE_TEMPLATE("rotary: by listed and by consecutive positions, and its inverse", T, float, double, bf16) {
  using A = accumulator_t<T>;
  std::vector<A> cosine(table_rows * head_dim / 2), sine(table_rows * head_dim / 2);
  rotary_tables(cosine.data(), sine.data(), table_rows, head_dim, theta);
  const auto x = waves<T>(tokens * width, 1);
  const std::vector<std::int32_t> listed = {3, 0, 39, 7, 7, 12}, stepped = {11, 11, 12, 12, 13, 13};
  on_every_block([&](const std::string& name, auto launch) {
    INFO(name);
    std::vector<T> y(tokens * width), z(tokens * width), back = x;
    launch([&](const auto& b) {
      rotary(b, {0, tokens}, y.data(), x.data(), listed_positions{listed.data()}, cosine.data(), sine.data(), heads,
             head_dim, width, width, false);
      rotary(b, {0, tokens}, z.data(), x.data(), consecutive_positions{11, 2}, cosine.data(), sine.data(), heads,
             head_dim, width, width, false);
    });
    CHECK(distance(y, reference(to_double(x), listed)) < tolerance<T>);
    CHECK(distance(z, reference(to_double(x), stepped)) < tolerance<T>);
    launch([&](const auto& b) {
      rotary(b, {0, tokens}, back.data(), z.data(), consecutive_positions{11, 2}, cosine.data(), sine.data(), heads,
             head_dim, width, width, true);
    });
    CHECK(distance(back, to_double(x)) < 2 * tolerance<T>);
  });
}

TEST_CASE("rotary: the inverse is the pullback, in place, and strides skip what is not ours") {
  constexpr long stride = width + 4;
  std::vector<double> cosine(table_rows * head_dim / 2), sine(table_rows * head_dim / 2);
  rotary_tables(cosine.data(), sine.data(), table_rows, head_dim, theta);
  const std::vector<std::int32_t> position = {3, 0, 39, 7, 7, 12};
  const auto x = waves<double>(tokens * width, 1), gy = waves<double>(tokens * width, 2);
  std::vector<double> wide(tokens * stride, 5.0);
  for (long t = 0; t < tokens; ++t)
    for (long c = 0; c < width; ++c) wide[t * stride + c] = gy[t * width + c];
  rotary(wide.data(), wide.data(), listed_positions{position.data()}, cosine.data(), sine.data(), tokens, heads,
         head_dim, stride, stride, true);
  std::vector<double> gx;
  for (long t = 0; t < tokens; ++t) {
    for (long c = 0; c < width; ++c) gx.push_back(wide[t * stride + c]);
    for (long c = width; c < stride; ++c) CHECK(wide[t * stride + c] == 5.0);
  }
  CHECK(distance(gx, numeric_gradient(x, [&](const auto& v) { return dot(reference(v, position), gy); })) < 1e-9);
}
