// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The same with matrix products by oneDNN. Version 2.6 takes memory inside each product, for the list of its arguments
// and for packing, and gives it back before the product ends; its interface has no way around it. So it is counted
// apart: everything else takes nothing, and a product not more than is known.
#include <meshpar/device/onednn_gemm.hpp>

#include "steady_state.hpp"

#include <doctest/doctest.h>

using namespace meshpar;

namespace {

constexpr model sizes = gpt2_like({.layers = 2, .hidden = 128, .heads = 4, .ffn = 256, .vocab = 320, .seq = 64});
constexpr job batch8{.global_batch = 8, .micro_batch = 2};
constexpr long known_per_product = 8;

template <class T>
void check_nothing_allocated(const plan& p, int threads_each) {
  const allocations a =
      allocations_of_steps_3_to_5<element_types<T, float, float, float>, onednn_gemm>(sizes, batch8, p, threads_each);
  CHECK(a.elsewhere() == 0);
  MESSAGE(a.inside_products << " allocations in " << a.products << " products");
  CHECK(a.products > 0);
  CHECK(a.inside_products <= known_per_product * a.products);
}

}  // namespace

TEST_CASE("steps 3 to 5 on one rank with two threads allocate nothing outside products") {
  check_nothing_allocated<float>({}, 2);
  check_nothing_allocated<bf16>({.precision = mixed_bf16}, 2);
}

TEST_CASE("steps 3 to 5 on four ranks allocate nothing outside products") {
  check_nothing_allocated<float>({.dp = 2, .tp = 2, .sequence_parallel = true}, 1);
  check_nothing_allocated<bf16>({.dp = 2, .tp = 2, .sequence_parallel = true, .precision = mixed_bf16}, 1);
}
