// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/rules/attention.hpp>

namespace meshpar::inline v0 {

// What tp cuts into equal pieces.
constexpr bool tp_cuts_heads(const model& m, long tp) { return divides(tp, m.heads); }
constexpr bool tp_cuts_ffn(const model& m, long tp) { return m.experts > 0 || divides(tp, m.ffn); }
constexpr bool tp_cuts_sequence(const model& m, const plan& p, long tp) {
  return !p.sequence_parallel || p.cp < 1 || !divides(p.cp, m.seq) || divides(tp, m.seq / p.cp);
}

// One repair for all that tp does not divide: the largest smaller tp that suits the whole model.
constexpr remedy smaller_tp(const model& m, const plan& p) {
  return {fix::set_tp, largest_that(p.tp < m.heads ? p.tp : m.heads, [&](long tp) {
            return tp_cuts_heads(m, tp) && tp_cuts_ffn(m, tp) && tp_cuts_sequence(m, p, tp) &&
                   kv_heads_fit(kv_heads_of(m), tp);
          })};
}

constexpr verdict heads_divisible_by_tp(const model& m, const job&, const plan& p) {
  if (tp_cuts_heads(m, p.tp)) return {};
  return not_divisible(rule::heads_divisible_by_tp, {"heads", m.heads}, {"tp", p.tp}, smaller_tp(m, p));
}

constexpr verdict kv_heads_fit_tp(const model& m, const job&, const plan& p) {
  const int kv_heads = kv_heads_of(m);
  if (kv_heads == m.heads || kv_heads_fit(kv_heads, p.tp)) return {};
  const remedy r = smaller_tp(m, p);
  text t;
  t << quantity{"kv_heads", kv_heads} << " and " << quantity{"tp", p.tp} << ": neither divides the other; " << r;
  return refuse(rule::kv_heads_fit_tp, kv_heads, p.tp, r, t);
}

// An expert's width is cut by etp, a dense layer's by tp.
constexpr verdict ffn_divisible_by_tp(const model& m, const job&, const plan& p) {
  if (!tp_cuts_ffn(m, p.tp))
    return not_divisible(rule::ffn_divisible_by_tp, {"ffn", m.ffn}, {"tp", p.tp}, smaller_tp(m, p));
  if (m.experts > 0 && !divides(p.etp, m.ffn))
    return not_divisible(rule::ffn_divisible_by_tp, {"ffn", m.ffn}, {"etp", p.etp},
                         remedy{fix::set_etp, largest_divisor(m.ffn, p.etp)});
  return {};
}

constexpr verdict sequence_divisible_by_tp(const model& m, const job&, const plan& p) {
  if (tp_cuts_sequence(m, p, p.tp)) return {};
  return not_divisible(rule::sequence_divisible_by_tp, {p.cp > 1 ? "seq / cp" : "seq", m.seq / p.cp}, {"tp", p.tp},
                       smaller_tp(m, p));
}

constexpr verdict sequence_parallel_needs_tp(const model&, const job&, const plan& p) {
  if (!p.sequence_parallel || p.tp != 1) return {};
  const remedy r{fix::set_sequence_parallel, 0};
  text t;
  t << "sequence_parallel splits over tp, which is 1; " << r;
  return refuse(rule::sequence_parallel_needs_tp, 1, p.tp, r, t);
}

}  // namespace meshpar::inline v0
