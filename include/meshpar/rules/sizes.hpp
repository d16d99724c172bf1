// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/rules/words.hpp>

namespace meshpar::inline v0 {

// Every size and extent is at least 1; the fields for which 0 means something may be 0.
constexpr verdict positive_sizes(const model& m, const job& j, const plan& p) {
  struct bounded {
    quantity q;
    long least;
    fix field;
  };
  const bounded fields[] = {{{"layers", m.layers}, 1, fix::set_layers},
                            {{"hidden", m.hidden}, 1, fix::set_hidden},
                            {{"heads", m.heads}, 1, fix::set_heads},
                            {{"ffn", m.ffn}, 1, fix::set_ffn},
                            {{"vocab", m.vocab}, 1, fix::set_vocab},
                            {{"seq", m.seq}, 1, fix::set_seq},
                            {{"global_batch", j.global_batch}, 1, fix::set_global_batch},
                            {{"micro_batch", j.micro_batch}, 1, fix::set_micro_batch},
                            {{"pp", p.pp}, 1, fix::set_pp},
                            {{"dp", p.dp}, 1, fix::set_dp},
                            {{"cp", p.cp}, 1, fix::set_cp},
                            {{"tp", p.tp}, 1, fix::set_tp},
                            {{"ep", p.ep}, 1, fix::set_ep},
                            {{"etp", p.etp}, 1, fix::set_etp},
                            {{"virtual_stages", p.virtual_stages}, 1, fix::set_virtual_stages},
                            {{"kv_heads", m.kv_heads}, 0, fix::set_kv_heads},
                            {{"head_dim", m.head_dim}, 0, fix::set_head_dim},
                            {{"experts", m.experts}, 0, fix::set_experts},
                            {{"top_k", m.top_k}, 0, fix::set_top_k},
                            {{"edp", p.edp}, 0, fix::set_edp}};
  const bounded* first = nullptr;
  listing below_0{20}, below_1{40};
  for (const bounded& f : fields) {
    if (f.q.n >= f.least) continue;
    if (first == nullptr) first = &f;
    (f.least == 0 ? below_0 : below_1).add(f.q);
  }
  if (first == nullptr) return {};
  const long broken = below_0.names + below_1.names;
  text t;
  if (below_1.names > 0) t << below_1 << " must be at least 1";
  if (below_0.names > 0)
    t << (below_1.names > 0 ? ", " : "") << below_0 << (below_1.names > 0 ? "" : " must be") << " at least 0";
  if (broken == 1) t << "; " << remedy{first->field, first->least} << " or more";
  else t << "; set each to that or more";
  return refuse(rule::positive_sizes, first->q.n, first->least, {first->field, first->least}, t);
}

// x with at most six decimals.
constexpr text decimal(double x) {
  text t;
  if (!(x == x)) return t << "not a number";
  if (x < 0) t << '-';
  if (x < 0) x = -x;
  if (x > 1e12) return t << "above 1e12";
  const long millionths = static_cast<long>(x * 1e6 + 0.5);
  t << millionths / 1000000;
  long rest = millionths % 1000000;
  if (rest != 0) t << '.';
  for (long digit = 100000; rest != 0; rest %= digit, digit /= 10) t << rest / digit;
  return t;
}

// The axis with the most ranks, as long as the others allow.
constexpr remedy fewer_ranks(const plan& p) {
  const struct {
    fix field;
    long ranks;
  } axes[] = {{fix::set_pp, p.pp}, {fix::set_dp, p.dp}, {fix::set_cp, p.cp}, {fix::set_tp, p.tp}};
  int widest = 0;
  for (int i = 1; i < 4; ++i)
    if (axes[i].ranks > axes[widest].ranks) widest = i;
  long others = 1;
  for (int i = 0; i < 4; ++i)
    if (i != widest) others = capped_product(others, axes[i].ranks);
  return {axes[widest].field, others < rank_limit ? rank_limit / others : 1};
}

// Probabilities lie in [0, 1), what is divided by or raised to a power is above 0, zero is one of its four stages, and
// every extent is an int.
constexpr verdict values_in_range(const model& m, const job& j, const plan& p) {
  listing names{20}, repairs{20};
  verdict v;
  const auto outside = [&](const char* name, double value, const char* range, remedy r) {
    if (v.holds())
      v = refuse(rule::values_in_range, value > -1e12 && value < 1e12 ? static_cast<long>(value) : 0, 0, r,
                 text{} << " must be " << range);
    names.add(text{} << name << " (" << decimal(value) << ')');
    repairs.add(r);
  };
  if (!(m.dropout >= 0 && m.dropout < 1)) outside("dropout", m.dropout, "at least 0 and below 1", {fix::set_dropout});
  if (!(j.label_smoothing >= 0 && j.label_smoothing < 1))
    outside("label_smoothing", j.label_smoothing, "at least 0 and below 1", {fix::set_label_smoothing});
  if (!(m.norm_eps > 0 && m.norm_eps < 1e12))
    outside("norm_eps", m.norm_eps, "above 0 and finite", {fix::set_norm_eps_to_1e_minus, 5});
  if (!(m.rope_theta > 0 && m.rope_theta < 1e12))
    outside("rope_theta", m.rope_theta, "above 0 and finite", {fix::set_rope_theta, 10000});
  const long ranks = rank_count(p);
  if (ranks > rank_limit) outside("the number of ranks", static_cast<double>(ranks), "at most 2^30", fewer_ranks(p));
  if (p.tp > 0 && m.vocab > 0 && round_up(m.vocab, p.tp) > INT_MAX)
    outside("vocab padded over tp", static_cast<double>(round_up(m.vocab, p.tp)), "below 2^31",
            {fix::set_vocab, near_multiple(m.vocab, p.tp)});
  if (p.zero < 0 || p.zero > 3) outside("zero", p.zero, "0, 1, 2 or 3", {fix::set_zero, p.zero < 0 ? 0 : 3});
  if (v.holds()) return v;
  text t;
  t << names;
  if (names.names == 1) t << v.why;
  else t << " are out of range";
  v.why = t << "; " << repairs;
  return v;
}

}  // namespace meshpar::inline v0
