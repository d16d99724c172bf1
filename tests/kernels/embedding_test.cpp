// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/kernels/embedding.hpp>

#include "on_every_block.hpp"

using namespace meshpar;
using namespace meshpar::kernels;
using namespace meshpar_test;

TEST_CASE_TEMPLATE("embedding: rows of a split vocabulary, and the gradient of repeated ids", T, float, double, bf16) {
  using A = accumulator_t<T>;
  constexpr long tokens = 7, width = 19, begin = 10, end = 16;
  const std::vector<std::int32_t> ids = {10, 15, 9, 16, 12, 15, 15};
  const auto table = waves<T>((end - begin) * width, 1), gy = waves<T>(tokens * width, 2);
  std::vector<double> y_want(tokens * width), g_want((end - begin) * width, 1.0);
  for (long t = 0; t < tokens; ++t)
    for (long c = 0; c < width; ++c)
      if (ids[t] >= begin && ids[t] < end) {
        y_want[t * width + c] = double(table[(ids[t] - begin) * width + c]);
        g_want[(ids[t] - begin) * width + c] += double(gy[t * width + c]);
      }
  on_every_block([&](const std::string& name, auto launch) {
    INFO(name);
    std::vector<T> y(tokens * width, T(9.0f)), narrow((end - begin) * width, T(1.0f));
    std::vector<A> g((end - begin) * width, A(1));
    launch([&](const auto& b) {
      embedding(b, {0, 3}, y.data(), table.data(), ids.data(), width, begin, end);
      embedding(b, {3, tokens}, y.data(), table.data(), ids.data(), width, begin, end);
      embedding_grad(b, {0, 8}, g.data(), gy.data(), ids.data(), tokens, width, begin, end);
      embedding_grad(b, {8, width}, g.data(), gy.data(), ids.data(), tokens, width, begin, end);
      embedding_grad(b, {0, width}, narrow.data(), gy.data(), ids.data(), tokens, width, begin, end);
    });
    CHECK(distance(y, y_want) == 0);
    CHECK(distance(g, g_want) < tolerance<A>);
    CHECK(distance(narrow, g_want) < 3 * tolerance<T>);
  });
  std::vector<T> y(tokens * width);
  std::vector<A> g((end - begin) * width, A(1));
  embedding(y.data(), table.data(), ids.data(), tokens, width, begin, end);
  embedding_grad(g.data(), gy.data(), ids.data(), tokens, width, begin, end);
  CHECK(distance(y, y_want) == 0);
  CHECK(distance(g, g_want) < tolerance<A>);
}
