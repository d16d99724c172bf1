// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/rules/words.hpp>

namespace meshpar::inline v0 {

// Each rank holds one piece of the sequence, or in zigzag order an early and a late one.
constexpr verdict sequence_divisible_by_cp(const model& m, const job&, const plan& p) {
  const bool two = p.zigzag && p.cp > 1;
  const long pieces = two ? 2L * p.cp : p.cp;
  if (divides(pieces, m.seq)) return {};
  const long seq = near_multiple(m.seq, pieces);
  return not_divisible(rule::sequence_divisible_by_cp, {"seq", m.seq}, {two ? "2 * cp" : "cp", pieces},
                       seq > 0 ? remedy{fix::set_seq, seq} : remedy{fix::set_cp, 1});
}

// Exchanging heads for sequence gives each rank of cp a part of the heads that tp left.
constexpr verdict heads_divisible_by_cp(const model& m, const job&, const plan& p) {
  if (p.context_exchange != exchange_kind::heads || p.cp <= 1) return {};
  const auto cut = [&](int heads, long cp) { return divides(cp * p.tp, heads); };
  const int kv_heads = kv_heads_of(m);
  if (cut(m.heads, p.cp) && cut(kv_heads, p.cp)) return {};
  const bool query = !cut(m.heads, p.cp);
  return not_divisible(rule::heads_divisible_by_cp, {query ? "heads" : "kv_heads", query ? m.heads : kv_heads},
                       {"tp * cp", 1L * p.tp * p.cp},
                       remedy{fix::set_cp, largest_that(p.cp < m.heads ? p.cp : m.heads, [&](long cp) {
                                return cut(m.heads, cp) && cut(kv_heads, cp);
                              })});
}

}  // namespace meshpar::inline v0
