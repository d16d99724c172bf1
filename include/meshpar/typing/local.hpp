// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/typing/placement.hpp>
#include <meshpar/typing/transition.hpp>

namespace meshpar::inline v0 {

// What a local region says of its edges. It is a function of what one rank holds, and never communicates.

// What an operand is over one axis.
struct edge_state {
  typing::state is = typing::state::replicated;
  dim_name dim{};  // of a split
  constexpr bool operator==(const edge_state&) const = default;
};
namespace edge {
inline constexpr edge_state R{typing::state::replicated, {}};
inline constexpr edge_state I{typing::state::invariant, {}};
inline constexpr edge_state P{typing::state::owed, {}};
constexpr edge_state split(dim_name d) { return {typing::state::split, d}; }
}  // namespace edge

inline constexpr int local_inputs = 5;

// An operand by its name in messages and its dims, in memory order.
struct local_operand {
  const char* name = nullptr;
  dim_name dims[6]{};
};

// Over one axis: inputs in these states give a result in that one. Over the axes of `where` only.
struct edge_signature {
  edge_state in[local_inputs]{};
  edge_state out{};
  axis_set where{0x7fff};
};

// `splits` are the dims that the region may get a piece of: over an axis that splits such a dim, operands that have it
// are split there and the others R; the result is split there if it has the dim, and otherwise P, a term of a sum.
// `along` says anything else. All R gives R, and all I gives I, where nothing else is said.
struct local_edges {
  local_operand inputs[local_inputs]{};
  local_operand result{};
  dim_name splits[6]{};
  edge_signature along[4]{};

  constexpr int count() const {
    int n = 0;
    while (n < local_inputs && inputs[n].name != nullptr) ++n;
    return n;
  }
};

namespace typing {

constexpr int place_of_dim(const local_operand& o, dim_name d) {
  for (int i = 0; i < 6; ++i)
    if (o.dims[i] == d) return i;
  return -1;
}
constexpr edge_state state_at(const layout& l, axis a) {
  if (l.owed.contains(a)) return edge::P;
  if (l.invariant.contains(a)) return edge::I;
  for (const split_dim& d : l.dims)
    if (d.by.axes().contains(a)) return edge::split(d.name);
  return edge::R;
}
constexpr text name_of_state(const edge_state& s) {
  text t;
  switch (s.is) {
    case state::owed: return t << "P";
    case state::invariant: return t << "I";
    case state::split: return t << "split(" << name_of(s.dim) << ")";
    default: return t << "R";
  }
}

// (Names are copied by their code: g++ 12 takes another copy of an unused one for a modification of its constant.)
// The number of signatures that a region has, and each of them, in the order in which they are tried.
inline constexpr int signature_count = 4 + 6 + 2;
constexpr edge_signature signature_of(const local_edges& g, int i) {
  edge_signature s;
  if (i < 4) {
    s = g.along[i];
    if (s.where.contains(axes::tp)) s.where = s.where | axes::kv_rep;  // as users name it
  }
  if (i >= 4 && i < 10) {
    const dim_name d(g.splits[i - 4].code);
    if (d == dim_name{}) return s;
    for (int k = 0; k < g.count(); ++k) s.in[k] = place_of_dim(g.inputs[k], d) >= 0 ? edge::split(d) : edge::R;
    s.out = place_of_dim(g.result, d) >= 0 ? edge::split(d) : edge::P;
  }
  if (i == signature_count - 1) {
    for (edge_state& x : s.in) x = edge::I;
    s.out = edge::I;
  }
  return s;
}

constexpr verdict unsound(const char* what, const text& why) {
  return broken_by(rule::declaration_unsound, text{} << what << ": " << why);
}

// What no function of one rank's operands can keep: I is one computation on every rank, so it stands with I alone; a
// piece or a term in gives no whole out; a sum goes through where the region is linear in it and in nothing split.
constexpr verdict sound(const char* what, const local_edges& g, const edge_signature& s) {
  int invariant = s.out == edge::I, owed = 0, split = 0;
  for (int k = 0; k < g.count(); ++k) {
    invariant += s.in[k] == edge::I, owed += s.in[k] == edge::P, split += s.in[k].is == state::split;
    if (s.in[k].is == state::split && place_of_dim(g.inputs[k], s.in[k].dim) < 0)
      return no_dim(what, g.inputs[k].name, s.in[k].dim);
  }
  if (s.out.is == state::split && place_of_dim(g.result, s.out.dim) < 0) return no_dim(what, g.result.name, s.out.dim);
  if (invariant != 0 && invariant != g.count() + 1)
    return unsound(what, text{} << "I beside another state; declare all I, or R and use to<> outside");
  if (owed + split > 0 && s.out == edge::R)
    return unsound(what, text{} << "R from a " << (split > 0 ? "piece" : "term of a sum")
                                << " takes communication; declare " << g.result.name << " as P, and sum it outside");
  if (owed > 0 && split > 0) return unsound(what, text{} << "P beside a split; P multiplies only R, so sum it outside");
  if (owed > 0 && !(s.out == edge::P))
    return unsound(what, text{} << g.result.name << " is no term of a sum, an input is; declare it as P");
  return {};
}
constexpr verdict sound(const char* what, const local_edges& g) {
  for (int i = 0; i < 4; ++i)
    if (const verdict v = sound(what, g, signature_of(g, i)); !v.holds()) return v;
  for (int i = 0; i < 6; ++i) {
    const dim_name d(g.splits[i].code);
    bool known = d == dim_name{};
    for (int k = 0; k < g.count(); ++k) known = known || place_of_dim(g.inputs[k], d) >= 0;
    if (!known) return unsound(what, text{} << "it splits " << name_of(d) << ", which no input has");
  }
  return {};
}

// The operands of a call.
struct operands {
  fixed_vector<layout, local_inputs> at{};
  mesh ranks{};
  constexpr void add(const layout& l) { at.push_back(l); }
  constexpr void add(const mesh& m) { ranks = m; }
};

// Operands have the declared dims; what two of them share has one size, and one order where it is split alike.
constexpr verdict shapes_as_declared(const char* what, const local_edges& g, const operands& x) {
  for (int k = 0; k < g.count(); ++k) {
    const layout& l = x.at[k];
    if (!l.maximum.empty()) return pending_maximum(what, l);
    int n = 0;
    for (; n < 6 && !(g.inputs[k].dims[n] == dim_name{}); ++n)
      if (n >= l.dims.size() || !(l.dims[n].name == g.inputs[k].dims[n]))
        return no_dim(what, g.inputs[k].name, g.inputs[k].dims[n]);
    if (n != l.dims.size())
      return broken_by(rule::dimension_missing, text{} << what << ": " << g.inputs[k].name << " is " << name_of(l)
                                                       << ", declared with " << n << " dims");
    for (int i = 0; i < n; ++i)
      for (int other = 0; other < k; ++other)
        if (const int at = x.at[other].find(l.dims[i].name); at >= 0) {
          const split_dim &a = x.at[other].dims[at], &b = l.dims[i];
          if (x.at[other].global_size(at, x.ranks) != l.global_size(i, x.ranks)) return sizes_differ(what, a, b);
          if (a.by.axes() == b.by.axes() && !(a.by == b.by)) return split_differently(what, a, b);
        }
  }
  return {};
}

// What a move costs, so that the cheapest is proposed: a slice, then a collective, then what takes two.
constexpr int repair_cost(const edge_state& from, const edge_state& to) {
  if (to.is == state::split) return from == edge::R ? 3 : 8;
  return to == edge::R ? 4 : to == edge::I ? 5 : 8;
}

// The signature nearest to what the operands are, told by its first operand that is not so.
constexpr verdict not_as_declared(const char* what, const local_edges& g, const operands& x, axis a) {
  int best = 0, least = 100;
  for (int i = 0; i < signature_count; ++i) {
    const edge_signature s = signature_of(g, i);
    if (!s.where.contains(a)) continue;
    int far = 0;
    for (int k = 0; k < g.count(); ++k)
      if (const edge_state is = state_at(x.at[k], a); !(is == s.in[k])) far += repair_cost(is, s.in[k]);
    if (far < least) least = far, best = i;
  }
  const edge_signature s = signature_of(g, best);
  int k = 0;
  while (state_at(x.at[k], a) == s.in[k]) ++k;
  const char* name = g.inputs[k].name;
  text t;
  t << what << ": " << name << " is " << state_of(x.at[k], a) << " over " << name_of(a) << ", declared "
    << name_of_state(s.in[k]);
  for (int other = 0; other < g.count() && s.in[k].is != state::split; ++other)
    if (s.in[other].is == state::split) {
      t << " where " << g.inputs[other].name << " is " << name_of_state(s.in[other]);
      break;
    }
  t << "; ";
  switch (s.in[k].is) {
    case state::replicated: return mended_by(fix::to_R, name, a, rule::edge_not_as_declared, t);
    case state::invariant: return mended_by(fix::to_I, name, a, rule::edge_not_as_declared, t);
    case state::split:
      t << "split(" << name << ", dims::" << name_of(s.in[k].dim) << ", axes::" << name_of(a) << ')';
      return broken_by(rule::edge_not_as_declared, t);
    default: return broken_by(rule::edge_not_as_declared, t << "leave its sum owed");
  }
}

// The layouts at the edges of a region: over each axis of the mesh the first signature that the operands match.
constexpr judged local(const char* what, const local_edges& g, const operands& x) {
  if (const verdict v = sound(what, g); !v.holds()) return {{}, v};
  if (x.at.size() != g.count())
    return {{},
            broken_by(rule::edge_not_as_declared,
                      text{} << what << " takes " << g.count() << " inputs, here are " << x.at.size(), x.at.size(),
                      g.count())};
  if (const verdict v = shapes_as_declared(what, g, x); !v.holds()) return {{}, v};
  judged r;
  axis_set split[6]{};
  for (const extent& e : x.ranks.extents) {
    const axis a = e.along;
    bool found = false;
    for (int i = 0; i < signature_count && !found; ++i) {
      const edge_signature s = signature_of(g, i);
      found = s.where.contains(a);
      for (int k = 0; k < g.count() && found; ++k) found = state_at(x.at[k], a) == s.in[k];
      if (!found) continue;
      if (s.out == edge::P) r.out.owed = r.out.owed | a;
      if (s.out == edge::I) r.out.invariant = r.out.invariant | a;
      if (s.out.is == state::split)
        split[place_of_dim(g.result, s.out.dim)] = split[place_of_dim(g.result, s.out.dim)] | a;
    }
    if (!found) return {{}, not_as_declared(what, g, x, a)};
  }
  for (int i = 0; i < 6 && !(g.result.dims[i] == dim_name{}); ++i) {
    const dim_name d(g.result.dims[i].code);
    if (r.out.find(d) >= 0)
      return {{},
              broken_by(rule::dimension_appears_twice,
                        text{} << what << ": " << g.result.name << " has " << name_of(d) << " twice")};
    placed p{.no =
                 broken_by(rule::dimension_missing, text{} << what << ": no input has " << name_of(d)
                                                           << ", so its size in " << g.result.name << " is not known")};
    for (const layout& l : x.at)
      if (const int at = l.find(d); at >= 0) {
        p = l.dims[at].by.axes() == split[i] ? placed{l.dims[at], {}}
                                             : place(d, l.global_size(at, x.ranks), split[i], x.ranks);
        if (l.dims[at].by.axes() == split[i]) break;
      }
    if (!p.holds()) return {{}, p.no};
    r.out.dims.push_back(p.dim);
  }
  return r;
}

}  // namespace typing
}  // namespace meshpar::inline v0
