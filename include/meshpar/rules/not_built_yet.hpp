// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/rules/words.hpp>

namespace meshpar::inline v0 {

// What the plan can already say but nothing runs yet. A line goes away with each feature.
constexpr verdict feature_not_built_yet(const model& m, const job&, const plan& p) {
  const struct {
    bool asked;
    quantity what;
    remedy without;
  } features[] = {
      {p.pp > 1, {"pp", p.pp}, {fix::set_pp, 1}},
      {p.virtual_stages > 1, {"virtual_stages", p.virtual_stages}, {fix::set_virtual_stages, 1}},
      {p.cp > 1, {"cp", p.cp}, {fix::set_cp, 1}},
      {m.experts > 0, {"experts", m.experts}, {fix::set_experts, 0}},
      {p.ep > 1, {"ep", p.ep}, {fix::set_ep, 1}},
      {p.etp > 1, {"etp", p.etp}, {fix::set_etp, 1}},
      {p.zero > 0, {"zero", p.zero}, {fix::set_zero, 0}},
      {p.recompute != recompute_kind::none, {"recompute", static_cast<int>(p.recompute)}, {fix::set_recompute, 0}}};
  text t;
  long unnamed = 0;
  verdict v;
  for (const auto& f : features) {
    if (!f.asked) continue;
    if (v.holds()) v = refuse(rule::feature_not_built_yet, f.what.n, f.without.value, f.without, {});
    if (t.size() > 60) ++unnamed;
    else (t.empty() ? t << "not built yet: " : t << ", ") << f.what;
  }
  if (unnamed > 0) t << " and " << unnamed << " more";
  if (!v.holds()) v.why = t;
  return v;
}

}  // namespace meshpar::inline v0
