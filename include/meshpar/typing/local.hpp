// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/typing/local_edges.hpp>
#include <meshpar/typing/placement.hpp>

namespace meshpar::inline v0::typing {

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
      return broken_by(
          rule::dimension_missing, fix::change_the_declaration,
          text{} << what << ": " << g.inputs[k].name << " is " << name_of(l) << ", declared with " << n << " dims");
    for (int i = 0; i < n; ++i)
      for (int other = 0; other < k; ++other)
        if (const int at = x.at[other].find(l.dims[i].name); at >= 0) {
          const split_dim &a = x.at[other].dims[at], &b = l.dims[i];
          if (x.at[other].global_size(at, x.ranks) != l.global_size(i, x.ranks)) return sizes_differ(what, a, b);
          if (a.by.axes() == b.by.axes() && !(a.by == b.by)) return split_differently(what, a, b, x.at[other], l);
        }
  }
  return {};
}

// What a move costs, so that the cheapest is proposed: a slice, then a collective, then what takes two.
constexpr int repair_cost(const edge_state& from, const edge_state& to) {
  if (to.is == state::S) return from == edge::R ? 3 : 8;
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
      if (const edge_state is = edge_at(x.at[k], a); !(is == s.in[k])) far += repair_cost(is, s.in[k]);
    if (far < least) least = far, best = i;
  }
  const edge_signature s = signature_of(g, best);
  int k = 0;
  while (edge_at(x.at[k], a) == s.in[k]) ++k;
  const char* name = g.inputs[k].name;
  const standing where{a, state_at(x.at[k], a), s.in[k].is};
  text t;
  t << what << ": " << name << " is " << state_of(x.at[k], a) << " over " << name_of(a) << ", declared "
    << name_of_state(s.in[k]);
  for (int other = 0; other < g.count() && s.in[k].is != state::S; ++other)
    if (s.in[other].is == state::S) {
      t << " where " << g.inputs[other].name << " is " << name_of_state(s.in[other]);
      break;
    }
  t << "; ";
  switch (s.in[k].is) {
    case state::R: return mended_by(fix::to_R, name, where, rule::edge_not_as_declared, t);
    case state::I: return mended_by(fix::to_I, name, where, rule::edge_not_as_declared, t);
    case state::S:
      t << "split(" << name << ", dims::" << name_of(s.in[k].dim) << ", axes::" << name_of(a) << ')';
      return located(where, broken_by(rule::edge_not_as_declared, fix::split_it, t));
    default:
      return located(where, broken_by(rule::edge_not_as_declared, fix::leave_its_sum_owed, t << "leave its sum owed"));
  }
}

// The layouts at the edges of a region: over each axis of the mesh the first signature that the operands match.
constexpr judged local(const char* what, const local_edges& g, const operands& x) {
  if (const verdict v = sound(what, g); !v.holds()) return {{}, v};
  if (x.at.size() != g.count())
    return {{},
            broken_by(rule::edge_not_as_declared, fix::none,
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
      for (int k = 0; k < g.count() && found; ++k) found = edge_at(x.at[k], a) == s.in[k];
      if (!found) continue;
      if (s.out == edge::P) r.out.owed = r.out.owed | a;
      if (s.out == edge::I) r.out.invariant = r.out.invariant | a;
      if (s.out.is == state::S) split[place_of_dim(g.result, s.out.dim)] = split[place_of_dim(g.result, s.out.dim)] | a;
    }
    if (!found) return {{}, not_as_declared(what, g, x, a)};
  }
  for (int i = 0; i < 6 && !(g.result.dims[i] == dim_name{}); ++i) {
    const dim_name d(g.result.dims[i].code);
    if (r.out.find(d) >= 0)
      return {{},
              broken_by(rule::dimension_appears_twice, fix::change_the_declaration,
                        text{} << what << ": " << g.result.name << " has " << name_of(d) << " twice")};
    placed p{.no = broken_by(rule::dimension_missing, fix::change_the_declaration,
                             text{} << what << ": no input has " << name_of(d) << ", so its size in " << g.result.name
                                    << " is not known")};
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

}  // namespace meshpar::inline v0::typing
