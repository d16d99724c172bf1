// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The words are there, but the states are not in that order.
enum class rule { unlike };
template <rule Rule, char... States>
struct broken;

// told: 'P', 'R'
broken<rule::unlike, 'P', 'R'>* as_told;
broken<rule::unlike, 'R', 'P'> otherwise;  // expect: unlike
