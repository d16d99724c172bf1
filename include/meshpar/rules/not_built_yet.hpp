// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/rules/precision.hpp>

namespace meshpar::inline v0 {

constexpr const char* name_of(recompute_kind r) {
  return r == recompute_kind::full ? "full" : r == recompute_kind::selective ? "selective" : "none";
}

// What the plan can already say but nothing runs yet. A line goes away with each feature.
constexpr verdict feature_not_built_yet(const model& m, const job&, const plan& p) {
  const dtype reduce = p.precision.reduce, wide = wide_type(p.precision);
  const struct {
    bool asked;
    const char* name;
    long n;
    const char* word;  // in place of n
    remedy without;
  } features[] = {{p.pp > 1, "pp", p.pp, nullptr, {fix::set_pp, 1}},
                  {p.virtual_stages > 1, "virtual_stages", p.virtual_stages, nullptr, {fix::set_virtual_stages, 1}},
                  {p.cp > 1, "cp", p.cp, nullptr, {fix::set_cp, 1}},
                  {m.experts > 0, "experts", m.experts, nullptr, {fix::set_experts, 0}},
                  {p.ep > 1, "ep", p.ep, nullptr, {fix::set_ep, 1}},
                  {p.etp > 1, "etp", p.etp, nullptr, {fix::set_etp, 1}},
                  {p.zero > 0, "zero", p.zero, nullptr, {fix::set_zero, 0}},
                  {p.recompute != recompute_kind::none, "recompute", 0, name_of(p.recompute), {fix::set_recompute}},
                  {is_floating(reduce) && reduce != wide,
                   "reduce",
                   0,
                   name_of(reduce),
                   {wide == dtype::f64 ? fix::use_f64 : fix::use_f32}}};
  listing asked{36};
  verdict v;
  for (const auto& f : features) {
    if (!f.asked) continue;
    if (v.holds()) v = refuse(rule::feature_not_built_yet, f.n, f.without.value, f.without, {});
    text what;
    what << f.name << " (";
    asked.add((f.word != nullptr ? what << f.word : what << f.n) << ')');
  }
  if (v.holds()) return v;
  v.why << "not built yet: " << asked << "; ";
  if (asked.names == 1) v.why << remedy{v.remedy, v.repair};
  else v.why << "leave them out";
  return v;
}

}  // namespace meshpar::inline v0
