// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "simulator.hpp"

#include <functional>
#include <string>

namespace meshpar::test {

// What a local operation may know beside its operands: where it runs, and the layouts of the operands (positions).
struct context {
  mesh m;
  int rank = 0;
  std::vector<layout> in;
  const std::vector<ranks>* held = nullptr;  // what all ranks hold, for an operation with reductions inside
  std::int64_t position(std::size_t operand, int dim, std::int64_t local) const {
    return global_index(in[operand].dims[dim], m, rank, local);
  }
  std::int64_t global_size(std::size_t operand, int dim) const { return in[operand].global_size(dim, m); }
};

struct operand {
  std::vector<split_dim> dims;  // whole
  bool gradient = true;
  int indices_below = 0;  // above 0: data are indices below it, and P of them is left out
};

// An operation on dense arrays; nothing where local shapes do not fit.
struct operation {
  std::string name;
  std::vector<operand> in;
  std::function<judged(const std::vector<layout>&)> rule;
  std::function<std::optional<array>(const std::vector<array>&, const context&)> local;
};

// Gradients of <seed, f(x)>, by forward differentiation of every input element.
inline std::vector<array> pull_back(const operation& op, std::vector<array> x, const array& seed, const context& c) {
  std::vector<array> g;
  for (std::size_t k = 0; k < x.size(); ++k) {
    g.emplace_back(x[k].shape);
    if (!op.in[k].gradient) continue;
    for (std::int64_t i = 0; i < x[k].count(); ++i) {
      x[k][i].d = 1;
      const array y = *op.local(x, c);
      x[k][i].d = 0;
      for (std::int64_t j = 0; j < y.count(); ++j) g[k][i].v += seed[j].v * y[j].d;
    }
  }
  return g;
}

// One random instance of an operation: global operands, its value, a gradient of the result, its gradients.
struct instance {
  std::vector<array> x;
  array y, seed;
  std::vector<array> gradients;
};
inline instance draw(const operation& op, std::mt19937& random) {
  instance t;
  context c;
  for (const operand& o : op.in) {
    layout l;
    for (const split_dim& d : o.dims) l.dims.push_back(d);
    c.in.push_back(l);
    array a = random_array(local_shape(l), random);
    if (o.indices_below > 0)
      for (num& v : a.at) v = static_cast<double>(random() % static_cast<unsigned>(o.indices_below));
    t.x.push_back(a);
  }
  t.y = *op.local(t.x, c);
  t.seed = random_array(t.y.shape, random);
  t.gradients = pull_back(op, t.x, t.seed, c);
  return t;
}

// The local operation on every rank, or nothing where shapes do not fit.
inline std::optional<ranks> run(const operation& op, const std::vector<ranks>& x, const mesh& m,
                                const std::vector<layout>& in) {
  ranks y;
  for (int r = 0; r < m.size(); ++r) {
    std::vector<array> mine;
    for (const ranks& one : x) mine.push_back(one[static_cast<std::size_t>(r)]);
    std::optional<array> out = op.local(mine, {m, r, in, &x});
    if (!out) return std::nullopt;
    y.push_back(std::move(*out));
  }
  return y;
}

// Whether the gradients come out right when the result has layout `out`: its gradient is dealt out in dual(out), and
// the gradient of each operand must be found in the dual of its layout.
inline bool gradients_agree(const operation& op, const instance& t, const std::vector<ranks>& x, const mesh& m,
                            const std::vector<layout>& in, const layout& out, std::mt19937& random) {
  const ranks seed = deal(t.seed, dual(out, m), m, random);
  std::vector<ranks> g(x.size());
  for (int r = 0; r < m.size(); ++r) {
    std::vector<array> mine;
    for (const ranks& one : x) mine.push_back(one[static_cast<std::size_t>(r)]);
    std::vector<array> back = pull_back(op, mine, seed[static_cast<std::size_t>(r)], {m, r, in, &x});
    for (std::size_t k = 0; k < x.size(); ++k) g[k].push_back(std::move(back[k]));
  }
  for (std::size_t k = 0; k < x.size(); ++k)
    if (op.in[k].gradient && !same_value(collect(g[k], dual(in[k], m), m), t.gradients[k])) return false;
  return true;
}

// What a whole table came to.
struct tally {
  int legal = 0, refused = 0, no_result = 0;  // no_result: refused, and local shapes do not even fit
  std::vector<std::string> wrong;
};

inline std::string words(const operation& op, const std::vector<layout>& in) {
  std::string s = op.name + ":";
  for (const layout& l : in) s += std::string(" ") + name_of(l).c_str();
  return s;
}

// Canonical: every axis of the mesh appears at most once, and nothing else appears.
inline bool canonical(const layout& l, const mesh& m) {
  std::vector<axis_set> uses{l.owed, l.invariant, l.maximum};
  for (const split_dim& d : l.dims)
    for (int i = 0; i < d.by.size(); ++i) uses.push_back(d.by[i].along);
  axis_set seen;
  for (const axis_set s : uses) {
    if (!(seen & s).empty() || !m.all().contains(s)) return false;
    seen = seen | s;
  }
  for (int i = l.dims.size(); i < decltype(l.dims)::capacity; ++i)
    if (!(l.dims.items[i] == split_dim{})) return false;
  return true;
}

// One combination of layouts. Legal: value and gradients agree with the rule's layout. Refused: there is no layout at
// all of the result with which value and gradients agree in every trial.
inline void judge(const operation& op, const mesh& m, const std::vector<layout>& in, tally& t, unsigned seed) {
  const judged j = op.rule(in);
  std::mt19937 random(seed);
  std::vector<instance> trials{draw(op, random), draw(op, random)};
  std::vector<std::vector<ranks>> x;
  std::vector<ranks> y;
  for (const instance& one : trials) {
    x.emplace_back();
    for (std::size_t k = 0; k < in.size(); ++k) x.back().push_back(deal(one.x[k], in[k], m, random));
    std::optional<ranks> held = run(op, x.back(), m, in);
    if (!held) {
      if (j.holds()) t.wrong.push_back(words(op, in) + " is legal, but local shapes do not fit");
      ++t.refused, ++t.no_result;
      return;
    }
    y.push_back(std::move(*held));
  }
  const auto agrees = [&](const layout& out) {
    for (std::size_t k = 0; k < trials.size(); ++k) {
      if (!same_value(collect(y[k], out, m), trials[k].y)) return false;
      if (!gradients_agree(op, trials[k], x[k], m, in, out, random)) return false;
    }
    return true;
  };
  if (j.holds()) {
    ++t.legal;
    if (!canonical(j.out, m)) t.wrong.push_back(words(op, in) + " -> a layout that is not canonical");
    if (!agrees(j.out)) t.wrong.push_back(words(op, in) + " -> " + name_of(j.out).c_str() + " is wrong");
    return;
  }
  ++t.refused;
  if (j.no.why.empty() || j.no.why.size() > 200)
    t.wrong.push_back(words(op, in) + " is refused in no or too many words: " + j.no.why.c_str());
  const std::vector<std::int64_t>& shape = trials[0].y.shape;
  std::vector<split_dim> whole;
  for (std::size_t i = 0; i < shape.size(); ++i) whole.push_back({dim_name(i + 1), shape[i], {}});
  for (const layout& out : all_layouts(whole, m, true))
    if (local_shape(out) == y[0][0].shape && agrees(out)) {
      t.wrong.push_back(words(op, in) + " is refused (" + j.no.why.c_str() + "), but " + name_of(out).c_str() +
                        " is right");
      return;
    }
}

// Every combination of layouts of the operands; with `one_in` above 1, all legal ones and a random share of the others.
inline tally judge_all(const operation& op, const mesh& m, unsigned one_in = 1, bool zigzag = false) {
  tally t;
  std::vector<std::vector<layout>> choices;
  for (const operand& o : op.in) {
    choices.push_back(all_layouts(o.dims, m, zigzag));
    if (o.indices_below > 0) std::erase_if(choices.back(), [](const layout& l) { return !l.owed.empty(); });
  }
  std::vector<std::size_t> at(choices.size());
  std::mt19937 random(7);
  for (unsigned n = 0;; ++n) {
    std::vector<layout> in;
    for (std::size_t k = 0; k < at.size(); ++k) in.push_back(choices[k][at[k]]);
    if (one_in == 1 || random() % one_in == 0 || op.rule(in).holds()) judge(op, m, in, t, n);
    std::size_t k = 0;
    while (k < at.size() && ++at[k] == choices[k].size()) at[k++] = 0;
    if (k == at.size()) return t;
  }
}

}  // namespace meshpar::test
