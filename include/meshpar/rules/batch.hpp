// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/rules/words.hpp>

namespace meshpar::inline v0 {

// A smaller micro-batch changes memory only, so it is tried before the batch that is learnt from. Where that would be
// larger than any batch there are too many data ranks.
constexpr remedy batch_repair(const job& j, const plan& p) {
  if (divides(p.dp, j.global_batch))
    return {fix::set_micro_batch, largest_divisor(j.global_batch / p.dp, j.micro_batch)};
  const long batch = near_multiple(j.global_batch, capped_product(p.dp, j.micro_batch));
  if (batch == 0) return {fix::set_dp, largest_divisor(j.global_batch, p.dp)};
  return {fix::set_global_batch, batch};
}

constexpr verdict global_batch_divisible(const model&, const job& j, const plan& p) {
  const long piece = capped_product(p.dp, j.micro_batch);
  if (divides(piece, j.global_batch)) return {};
  return not_divisible(rule::global_batch_divisible, {"global_batch", j.global_batch}, {"dp * micro_batch", piece},
                       batch_repair(j, p));
}

}  // namespace meshpar::inline v0
