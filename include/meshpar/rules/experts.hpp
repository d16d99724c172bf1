// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/rules/words.hpp>

namespace meshpar::inline v0 {

constexpr verdict experts_divisible_by_ep(const model& m, const job&, const plan& p) {
  if (m.experts == 0 && (p.ep > 1 || p.etp > 1)) {
    const bool ep = p.ep > 1;
    const remedy r{ep ? fix::set_ep : fix::set_etp, 1};
    text t;
    t << quantity{ep ? "ep" : "etp", ep ? p.ep : p.etp} << " but the model has no experts; " << r;
    if (ep && p.etp > 1) t << " and " << remedy{fix::set_etp, 1};
    return refuse(rule::experts_divisible_by_ep, 0, ep ? p.ep : p.etp, r, t);
  }
  if (divides(p.ep, m.experts)) return {};
  return not_divisible(rule::experts_divisible_by_ep, {"experts", m.experts}, {"ep", p.ep},
                       remedy{fix::set_ep, largest_divisor(m.experts, p.ep)});
}

// A dense model has top_k 0; otherwise each token goes to at least one expert and to none twice.
constexpr verdict top_k_fits_experts(const model& m, const job&, const plan&) {
  const bool dense = m.experts == 0;
  if (m.experts < 0 || (dense ? m.top_k == 0 : m.top_k >= 1 && m.top_k <= m.experts)) return {};
  const remedy r{fix::set_top_k, dense ? 0 : m.top_k < 1 ? 1 : m.experts};
  text t;
  t << quantity{"top_k", m.top_k} << " does not fit " << quantity{"experts", m.experts} << "; " << r;
  return refuse(rule::top_k_fits_experts, m.top_k, m.experts, r, t);
}

// A token that every rank of tp holds would be sent to its experts tp times.
constexpr verdict moe_with_tp_needs_sequence_parallel(const model& m, const job&, const plan& p) {
  if (m.experts <= 0 || p.tp <= 1 || p.sequence_parallel) return {};
  const remedy r{fix::set_sequence_parallel, 1};
  text t;
  t << quantity{"experts", m.experts} << " get each token tp (" << p.tp << ") times; " << r;
  return refuse(rule::moe_with_tp_needs_sequence_parallel, m.experts, p.tp, r, t);
}

// Divisors of a stage for ep and etp, none above its own: the one that fits already is kept, otherwise ep is found
// first. What is found also cuts the experts and their width.
struct expert_cut {
  long ep, etp;
};
constexpr expert_cut cut_that_fits(const model& m, const plan& p, long stage) {
  const auto part = [](long ranks, long of, long from) {
    return largest_that(from < ranks ? from : ranks, [&](long n) { return divides(n, ranks) && divides(n, of); });
  };
  if (divides(p.etp, stage)) return {part(stage / p.etp, m.experts, p.ep), p.etp};
  const long ep = divides(p.ep, stage) ? p.ep : part(stage, m.experts, p.ep);
  return {ep, part(stage / ep, m.ffn, p.etp)};
}

// Attention and experts cut the same ranks of a stage in two ways.
constexpr verdict folding_products_agree(const model& m, const job&, const plan& p) {
  const long ranks = rank_count(p), cut = capped_product(p.ep, p.etp);
  if (p.edp < 0 || cut < 1 || ranks < 1 || ranks > rank_limit) return {};
  const long stage = stage_size(p);
  const bool whole = divides(cut, stage);
  if (whole && (p.edp == 0 || p.edp * cut == stage)) return {};
  const expert_cut fits = whole ? expert_cut{p.ep, p.etp} : cut_that_fits(m, p, stage);
  const long edp = p.edp == 0 ? 0 : stage / (fits.ep * fits.etp);
  remedies all;
  if (fits.ep != p.ep) all << remedy{fix::set_ep, fits.ep};
  if (fits.etp != p.etp) all << remedy{fix::set_etp, fits.etp};
  if (edp != p.edp) all << remedy{fix::set_edp, edp};
  if (!whole) return not_divisible(rule::folding_products_agree, {"dp * cp * tp", stage}, {"ep * etp", cut}, all);
  text t;
  t << quantity{"edp * ep * etp", p.edp * cut} << " is not " << quantity{"dp * cp * tp", stage} << "; " << all.words;
  return refuse(rule::folding_products_agree, p.edp * cut, stage, all.first, t);
}

}  // namespace meshpar::inline v0
