// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/rules/words.hpp>

namespace meshpar::inline v0 {

// The type that the optimizer works in, and what sums over ranks are taken in where nothing else is asked for.
constexpr dtype wide_type(const precisions& p) { return p.param == dtype::f64 ? dtype::f64 : dtype::f32; }
constexpr bool is_floating(dtype t) { return t != dtype::i32 && t != dtype::bytes; }

// The types that train well beside a type of parameters: the same throughout for f32 and f64; with bf16 the optimizer
// works in f32 and gradients are kept in either.
constexpr verdict precision_is_supported(const model&, const job&, const plan& plan) {
  const precisions& p = plan.precision;
  const dtype wide = wide_type(p);
  const remedy r{wide == dtype::f64 ? fix::use_f64 : fix::use_f32};
  const auto no = [&](const char* field, dtype found) {
    text t;
    t << field << ' ' << name_of(found);
    if (found != p.param) t << " with param " << name_of(p.param);
    t << " is not supported; " << r;
    return refuse(rule::precision_is_supported, size_of(found), size_of(p.param), r, t);
  };
  if (!is_floating(p.param)) return no("param", p.param);
  if (p.grad != wide && p.grad != p.param) return no("grad", p.grad);
  if (!is_floating(p.reduce)) return no("reduce", p.reduce);
  if (p.master != wide) return no("master", p.master);
  if (p.moments != wide) return no("moments", p.moments);
  return {};
}

}  // namespace meshpar::inline v0
