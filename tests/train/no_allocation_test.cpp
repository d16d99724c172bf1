// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Nothing is allocated in the steady state of a step, by us or by any library, on any rank.
#include <meshpar/device/host_gemm.hpp>

#include "steady_state.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <memory>

using namespace meshpar;

namespace {

constexpr model sizes{.layers = 2, .hidden = 64, .heads = 4, .kv_heads = 2, .ffn = 96, .vocab = 61, .seq = 32};
constexpr job two_micro_batches{.global_batch = 8, .micro_batch = 2, .label_smoothing = 0.1};

model with_dropout(model m) {
  m.dropout = 0.1;
  return m;
}

template <class Types>
void check_nothing_allocated(const plan& p) {
  for (const model& m : {with_dropout(gpt2_like(sizes)), with_dropout(llama_like(sizes))})
    CHECK(allocations_of_steps_3_to_5<Types, plain_gemm>(m, two_micro_batches, p).all == 0);
}

}  // namespace

TEST_CASE("the counter sees malloc and operator new") {
  const long before = counted::all;
  const auto held = std::make_unique<int>(1);
  void* volatile taken = std::malloc(10);
  std::free(taken);
  CHECK(counted::all - before == 2);
}

TEST_CASE("steps 3 to 5 on one rank allocate nothing") {
  check_nothing_allocated<element_types<float, float, float, float>>({});
  check_nothing_allocated<element_types<bf16, bf16, float, float>>({.precision = mixed_bf16_grads});
}

TEST_CASE("steps 3 to 5 on four ranks allocate nothing") {
  using all_float = element_types<float, float, float, float>;
  check_nothing_allocated<all_float>({.dp = 4});
  check_nothing_allocated<all_float>({.tp = 4});
  check_nothing_allocated<all_float>({.dp = 2, .tp = 2, .sequence_parallel = true});
  check_nothing_allocated<element_types<bf16, bf16, float, float>>(
      {.dp = 2, .tp = 2, .sequence_parallel = true, .precision = mixed_bf16_grads});
}
