// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/nn/norm.hpp>
#include <meshpar/ops/contract.hpp>
#include <meshpar/ops/cross_entropy.hpp>
#include <meshpar/ops/dropout.hpp>
#include <meshpar/ops/embedding.hpp>

namespace meshpar::inline v0 {

using table_param = param<dims::vocab, dims::hidden>;

// Token ids to the residual stream. Each rank of tp looks up its piece of the vocabulary, so a sum is owed over tp.
struct embedding_layer {
  bool learned;
  double rate;
  table_param table{"embedding"};
  param<dims::positions, dims::hidden> position{"position"};

  constexpr explicit embedding_layer(const model& m)
      : learned(m.positions == position_kind::learned), rate(m.dropout) {}

  constexpr auto forward(const auto& r, auto ids) const {
    const auto target = r.stream();
    const auto x = to_layout_of(target, embedding(r[table], ids));
    return dropout(learned ? learned_positions(x, r(position, x)) : x, rate);
  }
};

// The residual stream and labels to the sum of the loss over this rank's tokens. Tied embeddings are one parameter of
// two blocks: both name it, and its gradient takes both terms.
struct head_layer {
  norm_layer norm;
  bool tied;
  double smoothing;
  table_param table{"embedding"};
  param<dims::hidden, dims::vocab> head{"head"};

  constexpr head_layer(const model& m, double label_smoothing)
      : norm(m), tied(m.tied_embeddings), smoothing(label_smoothing) {}

  constexpr auto forward(const auto& r, auto x, auto labels) const {
    const auto h = to<R>(norm.forward(r.in("final_norm"), x), axes::tp);
    return cross_entropy(logits(r, h), labels, smoothing);
  }

 private:
  constexpr auto logits(const auto& r, auto h) const {
    if (tied) return contract(dims::hidden, h, r[table]);
    return contract(dims::hidden, h, r[head]);
  }
};

}  // namespace meshpar::inline v0
