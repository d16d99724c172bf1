// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/typing/states.hpp>

namespace meshpar::inline v0::typing {

// Whether the dims k stand in x from position `at` on, in that order.
constexpr bool stand_at(int at, const layout& x, const over& k) {
  if (at < 0 || at + k.size() > x.dims.size()) return false;
  for (int i = 0; i < k.size(); ++i)
    if (!(x.dims[at + i].name == k[i])) return false;
  return true;
}

constexpr verdict contracted_missing(const char* operand, const layout& x, const over& k, bool trailing) {
  for (dim_name d : k)
    if (x.find(d) < 0) return no_dim("contract", operand, d);
  return broken_by(rule::dimension_missing, fix::name_another_dimension,
                   text{} << "contract: " << name_of(k[0]) << " is not " << (trailing ? "last" : "first or last")
                          << " in " << operand << ' ' << name_of(x));
}

// x [kept..., k...] . w [k..., new...] or w [new..., k...] -> [kept..., new...]: a sum over the dims k, which both hold
// alike. Where k is split the result owes a sum. Refused: unlike states (states.hpp), a dim name twice in the result.
constexpr judged contract(const layout& x, const layout& w, const over& k) {
  const int kept = x.dims.size() - k.size(), rest = w.dims.size() - k.size();
  if (!stand_at(kept, x, k)) return {{}, contracted_missing("the left operand", x, k, true)};
  const bool leads = stand_at(0, w, k);
  if (!leads && !stand_at(rest, w, k)) return {{}, contracted_missing("the right operand", w, k, false)};
  const int w_k = leads ? 0 : rest, w_new = leads ? k.size() : 0;
  axis_set met;
  for (int i = 0; i < k.size(); ++i) {
    const split_dim &a = x.dims[kept + i], &b = w.dims[w_k + i];
    if (!same(a, b)) return {{}, unlike("contract", x, kept + i, w, w_k + i)};
    met = met | a.by.axes();
  }
  if (verdict v = multiply("contract", x, w, met); !v.holds()) return {{}, v};
  judged r;
  for (int i = 0; i < kept; ++i) r.out.dims.push_back(x.dims[i]);
  for (int i = 0; i < rest; ++i) {
    const split_dim& d = w.dims[w_new + i];
    if (r.out.find(d.name) >= 0)
      return {{},
              broken_by(rule::dimension_appears_twice, fix::rename_one_dimension,
                        text{} << "contract: " << name_of(d.name)
                               << " would stand twice in the result; contract over it or rename it on one side")};
    r.out.dims.push_back(d);
  }
  r.out.owed = x.owed | w.owed | met;
  r.out.invariant = x.invariant;
  return r;
}

// x [batched..., kept..., k] . w [batched..., k, new...] -> [batched..., kept..., new...], one product for each index
// of the batched dims (experts), which both hold alike and which stand first in both.
constexpr judged contract_each(const layout& x, const layout& w, const over& batched, const over& k) {
  if (!stand_at(0, x, batched)) return {{}, no_dim("contract_each", "the left operand", batched[0])};
  if (!stand_at(0, w, batched)) return {{}, no_dim("contract_each", "the right operand", batched[0])};
  layout xs{{}, x.owed, x.invariant, x.maximum}, ws{{}, w.owed, w.invariant, w.maximum}, out;
  for (int i = 0; i < batched.size(); ++i) {
    if (!same(x.dims[i], w.dims[i])) return {{}, unlike("contract_each", x, i, w, i)};
    out.dims.push_back(x.dims[i]);
  }
  for (int i = batched.size(); i < x.dims.size(); ++i) xs.dims.push_back(x.dims[i]);
  for (int i = batched.size(); i < w.dims.size(); ++i) ws.dims.push_back(w.dims[i]);
  const judged each = contract(xs, ws, k);
  if (!each.holds()) return each;
  for (const split_dim& d : each.out.dims) out.dims.push_back(d);
  out.owed = each.out.owed, out.invariant = each.out.invariant;
  return {out, {}};
}

}  // namespace meshpar::inline v0::typing
