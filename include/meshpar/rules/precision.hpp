// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/rules/words.hpp>

namespace meshpar::inline v0 {

// The types that stand with a type of parameters: the same throughout for f32 and f64. With bf16 the optimizer works in
// f32; gradients may be kept in either, and sums over ranks are taken in f32. These are the combinations that
// train/rank.hpp builds.
constexpr verdict precision_is_supported(const model&, const job&, const plan& plan) {
  const precisions& p = plan.precision;
  const dtype wide = p.param == dtype::f64 ? dtype::f64 : dtype::f32;
  const auto no = [&](const char* field, dtype found) {
    text t;
    t << field << ' ' << name_of(found);
    if (found != p.param) t << " with param " << name_of(p.param);
    t << " is not supported; use " << name_of(wide);
    return refuse(rule::precision_is_supported, size_of(found), size_of(p.param),
                  {wide == dtype::f64 ? fix::use_f64 : fix::use_f32}, t);
  };
  if (p.param == dtype::i32 || p.param == dtype::bytes) return no("param", p.param);
  if (p.grad != wide && p.grad != p.param) return no("grad", p.grad);
  if (p.reduce != wide) return no("reduce", p.reduce);
  if (p.master != wide) return no("master", p.master);
  if (p.moments != wide) return no("moments", p.moments);
  return {};
}

}  // namespace meshpar::inline v0
