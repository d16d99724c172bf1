// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/rules/pipeline.hpp>

namespace meshpar::inline v0 {

// What each schedule asks of a plan. What it does not ask is allowed: 1F1B takes fewer micro-batches than stages, and
// pays in idle time only.
struct schedule_needs {
  const char* name;
  int fewest_chunks, most_chunks;  // virtual stages of a rank
  int micro_batches_per_rank;      // at least as many micro-batches for each rank of pp
  bool both_ends;                  // it starts at both ends of the pipeline, with half of the micro-batches each
};
constexpr schedule_needs needs_of(schedule_kind s) {
  constexpr schedule_needs table[] = {
      {"gpipe", 1, 1, 0, false},     {"one_f_one_b", 1, 1, 0, false}, {"interleaved", 2, INT_MAX, 1, false},
      {"zb_h1", 1, 1, 0, false},     {"zb_v", 2, 2, 0, false},        {"dualpipe", 1, 1, 2, true},
      {"dualpipe_v", 2, 2, 2, false}};
  return table[static_cast<int>(s)];
}

// Without a pipeline nothing is scheduled, and a rank is one stage.
constexpr verdict virtual_stages_fit_schedule(const model&, const job&, const plan& p) {
  const schedule_needs s = needs_of(p.schedule);
  const bool alone = p.pp == 1;
  const long fewest = alone ? 1 : s.fewest_chunks, most = alone ? 1 : s.most_chunks;
  if (p.pp < 1 || p.virtual_stages < 1 || (p.virtual_stages >= fewest && p.virtual_stages <= most)) return {};
  const remedy r{fix::set_virtual_stages, p.virtual_stages < fewest ? fewest : most};
  text t;
  t << quantity{"virtual_stages", p.virtual_stages};
  if (alone) t << " without a pipeline: pp is 1; " << r;
  else t << " but schedule " << s.name << " has " << fewest << (fewest < most ? " or more; " : "; ") << r;
  return refuse(rule::virtual_stages_fit_schedule, p.virtual_stages, r.value, r, t);
}

// Smaller micro-batches where that gives enough of them, otherwise a larger batch, otherwise no pipeline.
template <class Predicate>
constexpr remedies more_micro_batches(const job& j, const plan& p, long wanted, Predicate enough) {
  const long samples = j.global_batch / p.dp;
  const long smaller = largest_that(j.micro_batch, [&](long n) { return samples % n == 0 && enough(samples / n); });
  if (enough(samples / smaller)) return remedy{fix::set_micro_batch, smaller};
  const long batch = capped_product(capped_product(p.dp, j.micro_batch), wanted);
  if (batch <= INT_MAX) return remedy{fix::set_global_batch, batch};
  remedies r = remedy{fix::set_pp, 1};
  if (p.virtual_stages > 1) r << remedy{fix::set_virtual_stages, 1};
  return r;
}

constexpr verdict micro_batches_fit_schedule(const model&, const job& j, const plan& p) {
  const long piece = capped_product(p.dp, j.micro_batch);
  if (p.pp <= 1 || piece == 0 || j.global_batch < 1 || !divides(piece, j.global_batch)) return {};
  const schedule_needs s = needs_of(p.schedule);
  const long count = j.global_batch / piece, least = capped_product(s.micro_batches_per_rank, p.pp);
  const auto enough = [&](long n) { return n >= least && (!s.both_ends || n % 2 == 0); };
  if (enough(count)) return {};
  const remedies r = more_micro_batches(j, p, count < least ? least : count + 1, enough);
  text t;
  t << "schedule " << s.name << " needs ";
  if (count >= least) t << "micro-batches in pairs";
  else t << quantity{s.micro_batches_per_rank > 1 ? "2 * pp" : "pp", least} << " micro-batches";
  t << ", not " << count << "; " << r.words;
  return refuse(rule::micro_batches_fit_schedule, count, count < least ? least : 2, r.first, t);
}

// The largest even pp below that cuts the layers equally, otherwise the next one with unequal stages.
constexpr remedies even_pp(const model& m, const plan& p) {
  const long most = p.pp - 1 < m.layers ? p.pp - 1 : m.layers;
  const long equal = largest_that(most, [&](long n) { return n % 2 == 0 && divides(n, m.layers); });
  if (equal_stages(p) && equal > 1) return remedy{fix::set_pp, equal};
  const long even = (most < stage_limit ? most : stage_limit) / 2 * 2, pp = even > 1 ? even : 1;
  remedies r = remedy{fix::set_pp, pp};
  if (pp > 1 || !equal_stages(p)) r << share_layers(m, pp);
  return r;
}

// Each rank holds a stage of either direction, counted from its end: rank i and rank pp - 1 - i are a pair.
constexpr verdict pp_is_even_for_dualpipe(const model& m, const job&, const plan& p) {
  if (p.pp <= 1 || p.pp % 2 == 0 || !needs_of(p.schedule).both_ends) return {};
  const remedies r = even_pp(m, p);
  text t;
  t << quantity{"pp", p.pp} << " is odd but schedule " << needs_of(p.schedule).name << " pairs its ranks; " << r.words;
  return refuse(rule::pp_is_even_for_dualpipe, p.pp, 2, r.first, t);
}

}  // namespace meshpar::inline v0
