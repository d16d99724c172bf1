// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/rules/words.hpp>

namespace meshpar::inline v0 {

// A smaller micro-batch changes memory only, so it is tried before the batch that is learnt from.
constexpr remedy batch_repair(const job& j, const plan& p) {
  if (divides(p.dp, j.global_batch))
    return {fix::set_micro_batch, largest_divisor(j.global_batch / p.dp, j.micro_batch)};
  return {fix::set_global_batch, round_up(j.global_batch, 1L * p.dp * j.micro_batch)};
}

constexpr verdict global_batch_divisible(const model&, const job& j, const plan& p) {
  const long piece = 1L * p.dp * j.micro_batch;
  if (divides(piece, j.global_batch)) return {};
  return not_divisible(rule::global_batch_divisible, {"global_batch", j.global_batch}, {"dp*micro_batch", piece},
                       batch_repair(j, p));
}

}  // namespace meshpar::inline v0
