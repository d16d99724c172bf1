// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/layout/offset.hpp>
#include <meshpar/typing/typing.hpp>

#include <cmath>
#include <optional>
#include <random>
#include <vector>

// A brute-force model of a few ranks: a global tensor is dealt out to them as a layout says, each rank runs the plain
// local operation on what it holds, and what they hold is put together again as the layout of the result says. The
// layout of a rule is right when value and gradients agree with the operation on the global tensors.
namespace meshpar::test {

namespace ty = meshpar::typing;

// A number with a derivative, so that no gradient in these tests is written by hand.
struct dual_number {
  double v = 0, d = 0;
  dual_number(double value = 0, double slope = 0) : v(value), d(slope) {}
};
using num = dual_number;
inline num operator+(num a, num b) { return {a.v + b.v, a.d + b.d}; }
inline num operator-(num a, num b) { return {a.v - b.v, a.d - b.d}; }
inline num operator*(num a, num b) { return {a.v * b.v, a.d * b.v + a.v * b.d}; }
inline num operator/(num a, num b) { return {a.v / b.v, (a.d * b.v - a.v * b.d) / (b.v * b.v)}; }
inline num exp(num a) { return {std::exp(a.v), a.d * std::exp(a.v)}; }
inline num tanh(num a) { return {std::tanh(a.v), a.d * (1 - std::tanh(a.v) * std::tanh(a.v))}; }
inline num sqrt(num a) { return {std::sqrt(a.v), a.d / (2 * std::sqrt(a.v))}; }

// A dense row-major array.
struct array {
  std::vector<std::int64_t> shape;
  std::vector<num> at;
  explicit array(std::vector<std::int64_t> s = {}) : shape(std::move(s)) {
    at.resize(static_cast<std::size_t>(count()));
  }
  std::int64_t count() const {
    std::int64_t n = 1;
    for (std::int64_t s : shape) n *= s;
    return n;
  }
  num& operator[](std::int64_t i) { return at[static_cast<std::size_t>(i)]; }
  const num& operator[](std::int64_t i) const { return at[static_cast<std::size_t>(i)]; }
  std::int64_t size(std::size_t i) const { return shape[i]; }
};

inline std::vector<std::int64_t> local_shape(const layout& l) {
  std::vector<std::int64_t> s;
  for (const split_dim& d : l.dims) s.push_back(d.local);
  return s;
}
inline std::vector<std::int64_t> global_shape(const layout& l, const mesh& m) {
  std::vector<std::int64_t> s;
  for (int i = 0; i < l.dims.size(); ++i) s.push_back(l.global_size(i, m));
  return s;
}

using ranks = std::vector<array>;  // what each rank holds

// Deals a global tensor out. Terms of a pending sum are random, of both signs, and the same wherever another axis
// replicates them; terms of a pending maximum are below it but for one.
inline ranks deal(const array& global, const layout& l, const mesh& m, std::mt19937& random) {
  ranks out(static_cast<std::size_t>(m.size()), array(local_shape(l)));
  const int terms = m.size(l.owed), candidates = m.size(l.maximum);
  std::uniform_int_distribution<int> some(-4, 4);
  for (std::int64_t g = 0; g < global.count(); ++g) {
    std::vector<double> part(static_cast<std::size_t>(terms));
    double left = global[g].v;
    for (int i = 1; i < terms; ++i) left -= part[static_cast<std::size_t>(i)] = some(random);
    part[0] = left;
    std::vector<double> below(static_cast<std::size_t>(candidates));
    for (double& b : below) b = -1.0 - (some(random) + 4);
    below[random() % below.size()] = 0;
    for (int r = 0; r < m.size(); ++r) {
      const place_of p = owner(l, m, r, g);
      if (p.rank != r) continue;
      array& mine = out[static_cast<std::size_t>(r)];
      mine[p.local] = part[static_cast<std::size_t>(m.position(r, l.owed))];
      if (!l.maximum.empty()) mine[p.local] = global[g].v + below[static_cast<std::size_t>(m.position(r, l.maximum))];
    }
  }
  return out;
}

inline bool near(double a, double b) { return std::abs(a - b) <= 1e-9 * (1 + std::abs(a) + std::abs(b)); }

// Puts together what the ranks hold; nothing if it is not in that layout (shapes that differ, replicas that differ).
inline std::optional<array> collect(const ranks& held, const layout& l, const mesh& m) {
  array global(global_shape(l, m));
  for (int r = 0; r < m.size(); ++r)
    if (held[static_cast<std::size_t>(r)].shape != local_shape(l)) return std::nullopt;
  const axis_set copies = m.all() - l.split() - l.owed - l.maximum;
  for (num& x : global.at) x = l.maximum.empty() ? 0.0 : -1e300;
  for (int r = 0; r < m.size(); ++r) {
    const int first = m.member(r, copies, 0);
    for (std::int64_t i = 0; i < l.local_count(); ++i) {
      const double mine = held[static_cast<std::size_t>(r)][i].v;
      if (!near(mine, held[static_cast<std::size_t>(first)][i].v)) return std::nullopt;
      if (first != r) continue;
      num& to = global[global_index(l, m, r, i)];
      to = l.maximum.empty() ? to.v + mine : std::max(to.v, mine);
    }
  }
  return global;
}

inline bool same_value(const std::optional<array>& a, const array& b) {
  if (!a || a->shape != b.shape) return false;
  for (std::int64_t i = 0; i < b.count(); ++i)
    if (!near((*a)[i].v, b[i].v)) return false;
  return true;
}

inline array random_array(std::vector<std::int64_t> shape, std::mt19937& random) {
  array a(std::move(shape));
  std::uniform_int_distribution<int> some(1, 4);
  for (num& x : a.at) x = some(random) * (random() % 2 == 0 ? 1.0 : -1.0);
  return a;
}

// ---- every layout of a tensor on a mesh

// l with one more factor over n ranks at place `at` of the list of dim d.
inline layout split_at(layout l, int d, int at, factor f, int n) {
  factor_list by;
  for (int k = 0; k <= l.dims[d].by.size(); ++k) {
    if (k == at) by.push_back(f);
    if (k < l.dims[d].by.size()) by.push_back(l.dims[d].by[k]);
  }
  l.dims[d].local /= n;
  l.dims[d].by = by;
  return l;
}

// A zigzag factor cuts what its majors left into two pieces a rank.
inline bool pieces_fit(const split_dim& d, const mesh& m) {
  std::int64_t held = d.local;
  for (int i = d.by.size() - 1; i >= 0; --i) {
    if (d.by[i].by == order::zigzag && held % 2 != 0) return false;
    held *= m.size(d.by[i].along);
  }
  return true;
}

// All layouts of the dims with these global sizes: over each axis R, I, P or split on any dim that it divides; two axes
// on one dim in both orders; cp in zigzag order too if asked for.
inline std::vector<layout> all_layouts(const std::vector<split_dim>& whole, const mesh& m, bool zigzag = false) {
  layout start;
  for (const split_dim& d : whole) start.dims.push_back(d);
  std::vector<layout> found{start};
  const auto extend = [zigzag](const layout& l, const mesh& over_mesh, axis a, std::vector<layout>& to) {
    to.push_back(l);
    layout i = l, p = l;
    i.invariant = i.invariant | a, p.owed = p.owed | a;
    to.push_back(i), to.push_back(p);
    for (int d = 0; d < l.dims.size(); ++d) {
      const int n = over_mesh.size(a);
      for (const order by : {order::contiguous, order::zigzag}) {
        if (by == order::zigzag && !(zigzag && a == axes::cp)) continue;
        if (l.dims[d].local % n != 0) continue;
        for (int at = 0; at <= l.dims[d].by.size(); ++at)
          if (const layout s = split_at(l, d, at, {a, by}, n); pieces_fit(s.dims[d], over_mesh)) to.push_back(s);
      }
    }
  };
  for (const extent& e : m.extents) {
    std::vector<layout> next;
    for (const layout& l : found) extend(l, m, e.along, next);
    found = std::move(next);
  }
  return found;
}

}  // namespace meshpar::test
