// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/nn/attention.hpp>
#include <meshpar/nn/context_of.hpp>
#include <meshpar/nn/ends.hpp>
#include <meshpar/nn/mlp.hpp>
#include <meshpar/nn/residual.hpp>
#include <meshpar/ops/block.hpp>

namespace meshpar::inline v0 {

// A decoder as a list of blocks: embedding, then `layers` times attention and MLP, then the head with the loss. Each
// distinct block is traced once, whatever the depth.
enum class block_kind : std::uint8_t { first, attention, mlp, last };
inline constexpr int block_kinds = 4;

// Parts may hold sizes of dims that only these layers know.
template <class Attention = attention_layer, class Mlp = mlp, class... Parts>
struct stack {
  embedding_layer first;
  residual<Attention> attention;
  residual<Mlp> feed_forward;
  head_layer last;

  static constexpr own_dims own = own_sizes<Parts...>::all;

  constexpr stack(const model& m, const job& j)
      : first(m),
        attention(m, "attention", "attention.norm"),
        feed_forward(m, "mlp", "mlp.norm"),
        last(m, j.label_smoothing) {}

  constexpr void trace(tracer& t, block_kind kind) const {
    switch (kind) {
      case block_kind::first: return trace_first(t, first);
      case block_kind::attention: return trace_middle(t, attention);
      case block_kind::mlp: return trace_middle(t, feed_forward);
      case block_kind::last: return trace_last(t, last);
    }
  }
};

}  // namespace meshpar::inline v0
