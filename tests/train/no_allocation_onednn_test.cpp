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
using products = apart<onednn_gemm>;
constexpr long known_per_product = 8;

template <class T>
void check_nothing_allocated(const plan& p) {
  CHECK(allocations_of_steps_3_to_5<element_types<T, float, float, float>, products>(sizes, batch8, p) == 0);
}

}  // namespace

TEST_CASE("steps 3 to 5 on one rank with two threads allocate nothing") {
  onednn_gemm::set_threads(2);
  check_nothing_allocated<float>({});
  check_nothing_allocated<bf16>({.precision = mixed_bf16});
}

TEST_CASE("steps 3 to 5 on four ranks allocate nothing") {
  check_nothing_allocated<float>({.dp = 2, .tp = 2, .sequence_parallel = true});
  check_nothing_allocated<bf16>({.dp = 2, .tp = 2, .sequence_parallel = true, .precision = mixed_bf16});
}

TEST_CASE("a matrix product of oneDNN allocates not more than is known") {
  MESSAGE(products::allocations.load() << " allocations in " << products::calls.load() << " products");
  CHECK(products::allocations <= known_per_product * products::calls);
}
