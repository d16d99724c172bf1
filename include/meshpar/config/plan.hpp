// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/config/job.hpp>
#include <meshpar/config/model.hpp>
#include <meshpar/config/precision.hpp>

namespace meshpar::inline v0 {

enum class schedule_kind : unsigned char { gpipe, one_f_one_b, interleaved, zb_h1, zb_v, dualpipe, dualpipe_v };
enum class recompute_kind : unsigned char { none, selective, full };
enum class exchange_kind : unsigned char { ring, all_gather, heads };  // how attention sees the other pieces under cp

inline constexpr int stage_limit = 64;

// Where it is computed: the ranks along each axis, slowest axis first, and how each parallel form is done. A plan never
// changes the result.
struct plan {
  int pp = 1;
  int dp = 1;
  int cp = 1;
  int tp = 1;
  int edp = 0;  // 0: what the product of the axes above leaves, dp * cp * tp / (ep * etp)
  int ep = 1;
  int etp = 1;
  bool sequence_parallel = false;
  int zero = 0;  // 0 to 3: what is split over the data ranks: nothing, optimizer, and gradients, and parameters
  schedule_kind schedule = schedule_kind::one_f_one_b;
  int virtual_stages = 1;           // chunks of layers that one pipeline rank holds
  int stage_layers[stage_limit]{};  // layers of each of the pp * virtual_stages chunks; all 0: equal
  recompute_kind recompute = recompute_kind::none;
  exchange_kind context_exchange = exchange_kind::ring;
  bool zigzag = true;  // under cp: each rank holds an early and a late piece of the sequence
  precisions precision{};
  constexpr bool operator==(const plan&) const = default;
};

constexpr long world_size(const plan& p) { return 1L * p.pp * p.dp * p.cp * p.tp; }
constexpr long stage_size(const plan& p) { return 1L * p.dp * p.cp * p.tp; }
constexpr long chunk_count(const plan& p) { return 1L * p.pp * p.virtual_stages; }

// Micro-batches of one step on each data rank.
constexpr int micro_batches(const job& j, const plan& p) {
  return static_cast<int>(j.global_batch / (1L * p.dp * j.micro_batch));
}

// The smallest multiple of `factor` that is not below n.
constexpr long round_up(long n, long factor) { return (n + factor - 1) / factor * factor; }

// Rows of the embedding table as stored: vocab padded so that every rank of tp holds as many. Padding rows take no part
// in softmax, init, norms, decay or files.
constexpr int padded_vocab(const model& m, const plan& p) { return static_cast<int>(round_up(m.vocab, p.tp)); }

// When tp exceeds the KV heads each is replicated on kv_replicas ranks of tp; otherwise 1.
constexpr int kv_replicas(const model& m, const plan& p) {
  const int kv = kv_heads_of(m);
  return kv > 0 && kv < p.tp && p.tp % kv == 0 ? p.tp / kv : 1;
}

}  // namespace meshpar::inline v0
