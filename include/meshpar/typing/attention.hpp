// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/typing/states.hpp>

namespace meshpar::inline v0::typing {

// x is [seq, batch, h, head_dim] with h one of the two kinds of heads.
constexpr verdict is_heads(const char* what, const char* operand, const layout& x, dim_name h) {
  const dim_name names[] = {dims::seq, dims::batch, h, dims::head_dim};
  for (int i = 0; i < 4; ++i)
    if (x.dims.size() != 4 || !(x.dims[i].name == names[i])) return no_dim(what, operand, names[i]);
  if (!x.maximum.empty()) return pending_maximum(what, x);
  if (!x.dims[3].by.empty()) return not_whole(what, x.dims[3]);
  return {};
}

// Rotation of pairs of head_dim by global positions, which the layout of seq gives: seq may be split. Linear, so every
// state is kept.
constexpr judged rotary(const layout& x) {
  const bool kv = x.find(dims::kv_heads) >= 0;
  if (verdict v = is_heads("rotary", "the operand", x, kv ? dim_name(dims::kv_heads) : dim_name(dims::heads));
      !v.holds())
    return {{}, v};
  if (x.dims[3].local % 2 != 0)
    return {{},
            broken_by(rule::dimension_must_be_even, fix::set_head_dim,
                      text{} << "rotary turns pairs of head_dim, but head_dim is " << static_cast<long>(x.dims[3].local)
                             << "; make it even",
                      x.dims[3].local, 2, x.dims[3].local + 1)};
  return {x, {}};
}

// The axes by which q's heads are split further than k's, or a refusal: k's list is a prefix of q's.
constexpr verdict heads_agree(const layout& q, const layout& k) {
  const split_dim &h = q.dims[2], &kv = k.dims[2];
  factor_list rest = h.by;
  while (rest.size() > kv.by.size()) rest.pop_back();
  const bool further = h.by.size() > kv.by.size();
  if (!(rest == kv.by))
    return located(at(differing(h.by, kv.by), q, k),
                   broken_by(rule::heads_and_kv_heads_disagree, fix::split_alike,
                             text{} << "attention: heads are over " << name_of(h.by) << ", kv_heads over "
                                    << name_of(kv.by) << ", not its first axes; split them alike",
                             h.local, kv.local));
  const bool some = further && kv.local != 1;
  if (!some && h.local % kv.local == 0) return {};
  const text t = text{} << "attention: " << static_cast<long>(h.local) << " heads (" << name_of(h.by)
                        << (some ? ") use only some of " : ") are no multiple of ") << static_cast<long>(kv.local)
                        << " kv_heads (" << name_of(kv.by) << (some ? "); split kv_heads further" : ")");
  const verdict v =
      broken_by(rule::heads_and_kv_heads_disagree, some ? fix::split_further : fix::none, t, h.local, kv.local);
  return some ? located(at(differing(h.by, kv.by), q, k), v) : v;
}

// q, k or v as attention with q takes it: seq whole, and its other dims and states as q's.
constexpr verdict serves(const layout& x, const layout& q) {
  if (!x.dims[0].by.empty()) return not_whole("attention", x.dims[0]);
  for (int i = 0; i < 4; i += i == 1 ? 2 : 1)
    if (!same(q.dims[i], x.dims[i])) return unlike("attention", q, i, x, i);
  return q.invariant == x.invariant ? verdict{} : invariant_mixed("attention", q, x);
}

// Causal softmax attention, q [seq, batch, heads, head_dim], k and v [seq, batch, kv_heads, head_dim] -> as q. The
// sequence is whole; heads are split as kv_heads are, and possibly further over axes where k and v are R (their
// gradients are then owed there). Linear in v, which may be P where q and k are R.
constexpr judged attention(const layout& q, const layout& k, const layout& v) {
  if (verdict no = is_heads("attention", "q", q, dims::heads); !no.holds()) return {{}, no};
  if (verdict no = is_heads("attention", "k", k, dims::kv_heads); !no.holds()) return {{}, no};
  if (verdict no = is_heads("attention", "v", v, dims::kv_heads); !no.holds()) return {{}, no};
  if (!q.owed.empty() || !k.owed.empty()) return {{}, owed_sum("attention", q.owed.empty() ? k : q)};
  if (verdict no = serves(q, q); !no.holds()) return {{}, no};
  if (verdict no = serves(k, q); !no.holds()) return {{}, no};
  if (verdict no = serves(v, q); !no.holds()) return {{}, no};
  if (!same(k.dims[2], v.dims[2])) return {{}, unlike("attention", k, 2, v, 2)};
  if (verdict no = multiply("attention", q, v, v.split()); !no.holds()) return {{}, no};
  layout out = q;
  out.owed = v.owed;
  return {out, heads_agree(q, k)};
}

}  // namespace meshpar::inline v0::typing
