// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/rules/words.hpp>

namespace meshpar::inline v0 {

// KV heads are split over tp, or each is copied on a whole number of its ranks.
constexpr bool kv_heads_fit(long kv_heads, long tp) { return divides(tp, kv_heads) || divides(kv_heads, tp); }

constexpr verdict hidden_divisible_by_heads(const model& m, const job&, const plan&) {
  if (m.head_dim != 0 || divides(m.heads, m.hidden)) return {};
  return not_divisible(rule::hidden_divisible_by_heads, {"hidden", m.hidden}, {"heads", m.heads},
                       remedy{fix::set_hidden, near_multiple(m.hidden, m.heads)});
}

constexpr verdict heads_divisible_by_kv_heads(const model& m, const job&, const plan& p) {
  if (divides(m.kv_heads, m.heads)) return {};
  return not_divisible(rule::heads_divisible_by_kv_heads, {"heads", m.heads}, {"kv_heads", m.kv_heads},
                       remedy{fix::set_kv_heads, largest_that(m.kv_heads < m.heads ? m.kv_heads : m.heads, [&](long n) {
                                return divides(n, m.heads) && kv_heads_fit(n, p.tp);
                              })});
}

// Rotary positions turn pairs of features.
constexpr verdict head_dim_even_for_rotary(const model& m, const job&, const plan&) {
  const int head_dim = head_dim_of(m);
  const bool rounded = m.head_dim == 0 && !divides(m.heads, m.hidden);
  if (m.positions != position_kind::rotary || rounded || head_dim < 1 || head_dim % 2 == 0) return {};
  const remedy r{fix::set_head_dim, near_multiple(head_dim, 2)};
  text t;
  t << quantity{"head_dim", head_dim} << " is odd but rotary turns pairs; " << r;
  return refuse(rule::head_dim_even_for_rotary, head_dim, 2, r, t);
}

}  // namespace meshpar::inline v0
