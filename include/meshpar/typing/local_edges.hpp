// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/typing/refuse.hpp>

namespace meshpar::inline v0 {

// What a local region says of its edges. It is a function of what one rank holds, and never communicates.

// What an operand is over one axis.
struct edge_state {
  state is = state::R;
  dim_name dim{};  // of a split
  constexpr bool operator==(const edge_state&) const = default;
};
namespace edge {
inline constexpr edge_state R{state::R, {}};
inline constexpr edge_state I{state::I, {}};
inline constexpr edge_state P{state::P, {}};
constexpr edge_state split(dim_name d) { return {state::S, d}; }
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
constexpr edge_state edge_at(const layout& l, axis a) {
  for (const split_dim& d : l.dims)
    if (d.by.axes().contains(a)) return edge::split(d.name);
  return {state_at(l, a), {}};
}
constexpr text name_of_state(const edge_state& s) {
  text t;
  if (s.is == state::S) return t << "split(" << name_of(s.dim) << ")";
  return t << letter_of(s.is);
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
  return broken_by(rule::declaration_unsound, fix::change_the_declaration, text{} << what << ": " << why);
}

// What no function of one rank's operands can keep: I is one computation on every rank, so it stands with I alone; a
// piece or a term in gives no whole out; a sum goes through where the region is linear in it and in nothing split.
constexpr verdict sound(const char* what, const local_edges& g, const edge_signature& s) {
  int invariant = s.out == edge::I, owed = 0, split = 0;
  for (int k = 0; k < g.count(); ++k) {
    invariant += s.in[k] == edge::I, owed += s.in[k] == edge::P, split += s.in[k].is == state::S;
    if (s.in[k].is == state::S && place_of_dim(g.inputs[k], s.in[k].dim) < 0)
      return no_dim(what, g.inputs[k].name, s.in[k].dim);
  }
  if (s.out.is == state::S && place_of_dim(g.result, s.out.dim) < 0) return no_dim(what, g.result.name, s.out.dim);
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

}  // namespace typing
}  // namespace meshpar::inline v0
