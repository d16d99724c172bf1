// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/rules/words.hpp>

namespace meshpar::inline v0 {

constexpr bool equal_stages(const plan& p) {
  for (int layers : p.stage_layers)
    if (layers != 0) return false;
  return true;
}

constexpr remedy share_layers(const model& m, long chunks) {
  return {fix::set_stage_layers, (m.layers + chunks - 1) / chunks};
}

// Unequal stages where there are layers enough, otherwise fewer stages; how many a rank holds is the schedule's, but
// one where there is no pipeline. Layer counts that were given are shared out anew.
constexpr remedies stage_repair(const model& m, const plan& p) {
  const long chunks = chunk_count(p);
  if (p.pp > 1 && chunks <= m.layers && chunks <= stage_limit) return share_layers(m, chunks);
  const long pp = largest_that(p.pp < m.layers ? p.pp : m.layers, [&](long n) {
    return divides(n * p.virtual_stages, m.layers) && (equal_stages(p) || n * p.virtual_stages <= stage_limit);
  });
  const long each = pp == 1 ? 1 : p.virtual_stages;
  remedies r;
  if (pp != p.pp) r << remedy{fix::set_pp, pp};
  if (each != p.virtual_stages) r << remedy{fix::set_virtual_stages, each};
  if (!equal_stages(p)) r << share_layers(m, pp * each);
  return r;
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
  if (equal_stages(p) || chunks < 1 || m.layers < 1) return {};
  long sum = 0, given = 0;
  bool one_each = true;
  for (int i = 0; i < stage_limit; ++i) {
    const int layers = p.stage_layers[i];
    sum += layers;
    given += layers > 0;
    one_each = one_each && (i < chunks ? layers > 0 : layers == 0);
  }
  if (sum == m.layers && one_each) return {};
  const remedies r = stage_repair(m, p);
  text t;
  if (!one_each) t << "stage_layers names " << given << " stages but the plan has " << chunks << "; " << r.words;
  else t << "stage_layers add up to " << sum << " but layers is " << m.layers << "; " << r.words;
  return refuse(rule::stage_layers_add_up, one_each ? sum : given, one_each ? m.layers : chunks, r.first, t);
}

}  // namespace meshpar::inline v0
