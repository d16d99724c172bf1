// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/ops/activation.hpp>
#include <meshpar/ops/attention.hpp>
#include <meshpar/ops/contract.hpp>
#include <meshpar/ops/dropout.hpp>
#include <meshpar/ops/embedding.hpp>
#include <meshpar/ops/sum.hpp>

#include "support/block_runner.hpp"

// Layers of a few numbers, for reports that give theirs.
namespace silent_bugs {

namespace mp = meshpar;
namespace axes = mp::axes;
namespace dims = mp::dims;
using block_runner::block;
using block_runner::given;
using block_runner::numbers;
using block_runner::on_ranks;
using block_runner::runner;
using mp::I;
using mp::R;
using ranks = std::vector<numbers>;

// How tp holds the residual stream: every rank does the same work on all of it, or has positions of its own.
enum class stream { same_work, own_tokens };

struct sizes {
  int seq = 1, batch = 1, hidden = 1, ffn = 1, heads = 1;
};

// dp * tp ranks; tp splits ffn and heads, all KV heads are one.
constexpr mp::context context_for(int dp, int tp, stream how, sizes s) {
  mp::context c;
  c.ranks = mp::mesh{mp::extent{axes::dp, dp}, mp::extent{axes::tp, tp}};
  const mp::axis_set over_tp = axes::tp & c.ranks.all();
  c.placement.push_back({dims::hidden, s.hidden, s.hidden, {}});
  c.placement.push_back({dims::ffn, s.ffn, s.ffn, over_tp});
  c.placement.push_back({dims::heads, s.heads, s.heads, over_tp});
  c.placement.push_back({dims::kv_heads, 1, 1, {}});
  c.placement.push_back({dims::head_dim, 1, 1, {}});
  c.placement.push_back({dims::positions, s.seq, s.seq, {}});
  const mp::split_dim batch = mp::make_dim(dims::batch, s.batch, c.ranks, axes::dp);
  const mp::axis_set split = how == stream::own_tokens ? over_tp : mp::axis_set{};
  c.tokens = mp::make_layout(mp::make_dim(dims::seq, s.seq, c.ranks), batch);
  c.stream = mp::make_layout(mp::make_dim(dims::seq, s.seq, c.ranks, split), batch,
                             mp::make_dim(dims::hidden, s.hidden, c.ranks));
  if (how == stream::same_work) c.stream = mp::with_invariant(c.stream, over_tp, c.ranks);
  c.compute = c.grad = c.reduce = mp::dtype::f64;
  return c;
}

// What a weight's gradient is on each rank before anything is summed, the input's gradient, and the result.
inline ranks terms_of(const block& b, const given& g, const char* weight) {
  return on_ranks(b, g, [&](const runner& r) { return r.weight_grad(weight); });
}
inline ranks input_grads(const block& b, const given& g) {
  return on_ranks(b, g, [](const runner& r) { return r.input_grad(); });
}
inline ranks results(const block& b, const given& g) {
  return on_ranks(b, g, [](const runner& r) { return r.result(); });
}

// What the optimizer gets on each rank: the terms summed over the axes where they are owed, and over no other.
inline ranks gradients_of(const block& b, const given& g, const char* weight) {
  const ranks terms = terms_of(b, g, weight);
  const mp::mesh& m = b.trace.plan.ranks;
  mp::axis_set owed;
  for (const mp::parameter& p : b.trace.parameters)
    if (std::string_view(weight) == p.name) owed = b.trace.shape(p.grad).owed;
  ranks sums = terms;
  for (int rank = 0; rank < m.size(); ++rank) {
    numbers& sum = sums[static_cast<std::size_t>(rank)];
    sum.assign(sum.size(), 0.0);
    for (int i = 0; i < m.size(owed); ++i)
      for (std::size_t k = 0; k < sum.size(); ++k)
        sum[k] += terms[static_cast<std::size_t>(m.member(rank, owed, i))][k];
  }
  return sums;
}

}  // namespace silent_bugs
