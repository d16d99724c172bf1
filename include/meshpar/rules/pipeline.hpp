// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/rules/words.hpp>

namespace meshpar::inline v0 {

constexpr bool equal_stages(const plan& p) {
  for (int layers : p.stage_layers)
    if (layers != 0) return false;
  return true;
}

constexpr verdict layers_divisible_by_pp(const model& m, const job&, const plan& p) {
  const int chunks = chunk_count(p);
  if (!equal_stages(p) || divides(chunks, m.layers)) return {};
  return not_divisible(rule::layers_divisible_by_pp, {"layers", m.layers},
                       {p.virtual_stages == 1 ? "pp" : "pp * virtual_stages", chunks},
                       {fix::set_stage_layers, (m.layers + chunks - 1) / chunks});
}

// Given layer counts: one for each chunk, none empty, together the model.
constexpr verdict stage_layers_add_up(const model& m, const job&, const plan& p) {
  if (equal_stages(p)) return {};
  const int chunks = chunk_count(p);
  long sum = 0;
  int given = 0;
  for (int i = 0; i < stage_limit; ++i) {
    sum += p.stage_layers[i];
    if (p.stage_layers[i] > 0 && given == i) ++given;
  }
  if (sum == m.layers && given == chunks) return {};
  text t;
  if (given != chunks) {
    t << "stage_layers names " << given << " non-empty stages, the plan has " << chunks << "; give one number each";
    return refuse(rule::stage_layers_add_up, given, chunks, {fix::set_stage_layers}, t);
  }
  const remedy r{fix::set_layers, sum};
  t << "stage_layers add up to " << sum << " but layers is " << m.layers << "; " << r;
  return refuse(rule::stage_layers_add_up, sum, m.layers, r, t);
}

}  // namespace meshpar::inline v0
