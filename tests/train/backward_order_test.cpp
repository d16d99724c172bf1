// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Weight gradients that run after all input gradients of a block are those that run in between.
#include "harness.hpp"

#include <doctest/doctest.h>

#include <memory>

using namespace meshpar;

namespace {

struct apart_stack : stack<> {
  using stack<>::stack;
  constexpr void trace(tracer& t, block_kind kind) const {
    constexpr backward_order order = backward_order::apart;
    switch (kind) {
      case block_kind::first: return trace_first(t, first, order);
      case block_kind::attention: return trace_middle(t, attention, order);
      case block_kind::mlp: return trace_middle(t, feed_forward, order);
      case block_kind::last: return trace_last(t, last, order);
    }
  }
};

// The number of the last input gradient and of the first weight gradient.
std::pair<int, int> parts(const tracer& t) {
  std::pair<int, int> p{0, t.records.size()};
  for (int i = t.forward_records; i < t.records.size(); ++i) {
    if (t.records[i].when == phase::input_grad) p.first = i;
    if (t.records[i].when == phase::weight_grad && i < p.second) p.second = i;
  }
  return p;
}

}  // namespace

TEST_CASE("backward in two parts gives the same bits") {
  using types = element_types<double, double, double, double>;
  const job j{.global_batch = 4, .micro_batch = 1};
  const model sizes{.layers = 2, .hidden = 32, .heads = 4, .kv_heads = 2, .ffn = 48, .vocab = 61, .seq = 16};
  for (const model& m : {gpt2_like(sizes), llama_like(sizes)})
    for (const plan& p : {plan{.precision = all_f64}, plan{.tp = 4, .sequence_parallel = true, .precision = all_f64}}) {
      const auto one = std::make_unique<program>(m, j, p, stack<>(m, j));
      const auto two = std::make_unique<program>(m, j, p, apart_stack(m, j));
      for (const block_kind k : {block_kind::attention, block_kind::mlp}) {
        const auto [input, weight] = parts(two->traced_block(k));
        CHECK(input < weight);
        CHECK(parts(one->traced_block(k)).first > parts(one->traced_block(k)).second);
      }
      CHECK(two->memory.transient.bytes >= one->memory.transient.bytes);  // gradients wait for their weights
      const auto a = meshpar_test::train<types>(*one, 2), b = meshpar_test::train<types>(*two, 2);
      CHECK(a.losses == b.losses);
      CHECK(a.gradients == b.gradients);
      CHECK(a.weights == b.weights);
    }
}
