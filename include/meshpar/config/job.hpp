// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
namespace meshpar::inline v0 {

// What is learnt in a step. micro_batch counts the sequences that one data rank takes at a time; it changes memory,
// never the result.
struct job {
  int global_batch = 0;  // sequences of one step, over all ranks
  int micro_batch = 1;
  unsigned long long seed = 1;  // of weights, dropout masks and data order
  double label_smoothing = 0;   // the probability that is spread evenly over the vocabulary
  constexpr bool operator==(const job&) const = default;
};

}  // namespace meshpar::inline v0
