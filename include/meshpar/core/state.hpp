// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
namespace meshpar::inline v0 {

// What the ranks along an axis hold of a value: the same, used independently (R) or as one logical computation (I), a
// term of a sum that is owed (P), a piece (S), something of which the maximum is pending (M). none: no one of these.
enum class state : unsigned char { none, R, I, P, S, M };

constexpr char letter_of(state s) { return "-RIPSM"[static_cast<int>(s)]; }

}  // namespace meshpar::inline v0
