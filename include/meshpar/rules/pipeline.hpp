// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/rules/words.hpp>

namespace meshpar::inline v0 {

constexpr bool equal_stages(const plan& p) {
  for (int layers : p.stage_layers)
    if (layers != 0) return false;
  return true;
}

// Unequal stages where there are layers enough, otherwise fewer stages; how many a rank holds is the schedule's.
constexpr remedy stage_repair(const model& m, const plan& p) {
  const long chunks = chunk_count(p);
  if (chunks <= m.layers && chunks <= stage_limit) return {fix::set_stage_layers, (m.layers + chunks - 1) / chunks};
  if (p.pp == 1) return {fix::set_virtual_stages, 1};
  return {fix::set_pp, largest_that(p.pp < m.layers ? p.pp : m.layers,
                                    [&](long pp) { return divides(pp * p.virtual_stages, m.layers); })};
}

constexpr verdict layers_divisible_by_pp(const model& m, const job&, const plan& p) {
  const long chunks = chunk_count(p);
  if (!equal_stages(p) || divides(chunks, m.layers)) return {};
  return not_divisible(rule::layers_divisible_by_pp, {"layers", m.layers},
                       {p.virtual_stages == 1 ? "pp" : "pp * virtual_stages", chunks}, stage_repair(m, p));
}

// Given layer counts: one for each chunk, none empty, together the model.
constexpr verdict stage_layers_add_up(const model& m, const job&, const plan& p) {
  const long chunks = chunk_count(p);
  if (equal_stages(p) || chunks < 1) return {};
  long sum = 0, given = 0;
  bool one_each = true;
  for (int i = 0; i < stage_limit; ++i) {
    const int layers = p.stage_layers[i];
    sum += layers;
    given += layers > 0;
    one_each = one_each && (i < chunks ? layers > 0 : layers == 0);
  }
  if (sum == m.layers && one_each) return {};
  text t;
  if (!one_each) {
    t << "stage_layers names " << given << " stages but the plan has " << chunks << "; " << stage_repair(m, p);
    return refuse(rule::stage_layers_add_up, given, chunks, stage_repair(m, p), t);
  }
  const remedy r = sum <= INT_MAX ? remedy{fix::set_layers, sum} : stage_repair(m, p);
  t << "stage_layers add up to " << sum << " but layers is " << m.layers << "; " << r;
  return refuse(rule::stage_layers_add_up, sum, m.layers, r, t);
}

}  // namespace meshpar::inline v0
