// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/ops/local.hpp>

#include <cmath>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace meshpar::inline v0 {

// Whether a kernel is what it declares, which types cannot see: check_local<kernel>() runs it on small random numbers
// and returns what is wrong first, or an empty string. On one rank its backward must give the slopes of its forward;
// and for each of its signatures, what two ranks make of their parts must be, put together, what one makes of the
// whole: result and gradients. Nothing communicates, and no rank is a thread.

struct dim_size {
  dim_name name{};
  std::int64_t size = 0;
};

namespace local_detail {

using numbers = std::vector<double>;

// Numbers between -1 and 1, the same in every run.
class dice {
 public:
  double next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state_ >> 33) / 1073741824.0 - 1;
  }
  numbers next(std::int64_t count) {
    numbers v(static_cast<std::size_t>(count));
    for (double& x : v) x = next();
    return v;
  }

 private:
  std::uint64_t state_ = 7;
};

// What every rank of a mesh holds of a whole tensor in a layout; terms of a sum are random.
inline std::vector<numbers> deal(const numbers& whole, const layout& l, const mesh& m, dice& random) {
  std::vector<numbers> held;
  numbers left = whole;
  for (int rank = 0; rank < m.size(); ++rank) {
    numbers mine;
    for (std::int64_t i = 0; i < l.local_count(); ++i) {
      double& rest = left[static_cast<std::size_t>(global_index(l, m, rank, i))];
      const double x = l.owed.empty() || rank + 1 == m.size() ? rest : random.next();
      if (!l.owed.empty()) rest -= x;
      mine.push_back(x);
    }
    held.push_back(mine);
  }
  return held;
}

// The first element at which what the ranks hold is not the whole, or an empty string.
inline std::string differs(const numbers& whole, const std::vector<numbers>& held, const layout& l, const mesh& m) {
  numbers sum(whole.size(), 0.0);
  const auto words = [](std::size_t i, double found, double expected) {
    return "[" + std::to_string(i) + "] is " + std::to_string(found) + ", on one rank " + std::to_string(expected);
  };
  for (int rank = 0; rank < m.size(); ++rank)
    for (std::int64_t i = 0; i < l.local_count(); ++i) {
      const auto at = static_cast<std::size_t>(global_index(l, m, rank, i));
      const double x = held[static_cast<std::size_t>(rank)][static_cast<std::size_t>(i)];
      sum[at] = l.owed.empty() ? x : sum[at] + x;
      if ((l.owed.empty() || rank + 1 == m.size()) &&
          !(std::abs(sum[at] - whole[at]) <= 1e-9 * (1 + std::abs(whole[at]))))
        return words(at, sum[at], whole[at]);
    }
  return {};
}

// One call of a kernel and its pullback, on a mesh of at most two ranks.
template <class K>
class local_run {
 public:
  static constexpr int inputs = K::edges.count();

  local_run(const mesh& m, const std::vector<layout>& in) : trace_(std::make_unique<traced_call>(m)) {
    tracer& t = trace_->t;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      const judged j = local_op<K>::rule(in[I]..., m);
      why = j.no.why.s;
      if (!j.holds()) return;
      (ids_.push_back(t.make(in[I], dtype::f64)), ...);
      y_ = local_op<K>{}.emit(t, 0, j.out, ids_[I]...);
    }(inputs_of<K>{});
    if (!why.empty()) return;
    dy_ = t.make(dual(t.shape(y_), m), dtype::f64);
    t.pull_back(y_, dy_, backward_order::together);
  }
  std::string why;  // the rule refuses; the rest is then not to be called

  const layout& shape(int i) const { return trace_->t.shape(ids_[static_cast<std::size_t>(i)]); }
  const layout& result() const { return trace_->t.shape(y_); }
  layout gradient(int i) const { return dual(shape(i), trace_->c.ranks); }

  // Forward and backward of one rank: its result first, then the gradients of its inputs.
  std::vector<numbers> operator()(int rank, const std::vector<numbers>& in, const numbers& dy) const {
    const tracer& t = trace_->t;
    std::vector<numbers> memory;
    for (const value& v : t.values) memory.emplace_back(static_cast<std::size_t>(v.bytes / 8), std::nan(""));
    for (std::size_t i = 0; i < ids_.size(); ++i) memory[static_cast<std::size_t>(ids_[i])] = in[i];
    memory[static_cast<std::size_t>(dy_)] = dy;
    for (const record& r : t.records) {
      bound c{.what = &r, .traced = &t, .rank = rank};
      for (int i = 0; i < r.in.size(); ++i) c.in[i] = memory[static_cast<std::size_t>(r.in[i])].data();
      for (int i = 0; i < r.out.size(); ++i) c.out[i] = memory[static_cast<std::size_t>(r.out[i])].data();
      r.op->on_host(dtype::f64)(c);
    }
    std::vector<numbers> made{memory[static_cast<std::size_t>(y_)]};
    for (const int id : ids_) made.push_back(memory[static_cast<std::size_t>(t.grad_of(id))]);
    return made;
  }

 private:
  struct traced_call {
    explicit traced_call(const mesh& m) { c.ranks = m, c.compute = c.grad = c.reduce = dtype::f64; }
    context c{};
    tracer t{c};
  };
  std::unique_ptr<traced_call> trace_;
  std::vector<int> ids_;
  int y_ = no_value, dy_ = no_value;
};

inline double dot(const numbers& a, const numbers& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace local_detail

// Dims have the sizes that are given, and otherwise even ones from 4 on. The kernel must take f64.
template <class K>
std::string check_local(std::initializer_list<dim_size> sizes = {}) {
  static_assert(local_detail::function_of<K, true>(dtype::f64) != nullptr, "check_local runs a kernel in f64");
  using local_detail::numbers;
  constexpr int inputs = K::edges.count();
  std::vector<dim_size> known(sizes);
  const auto size_of_dim = [&](dim_name d) {
    for (const dim_size& s : known)
      if (s.name == d) return s.size;
    known.push_back({d, static_cast<std::int64_t>(4 + 2 * known.size())});
    return known.back().size;
  };
  const auto layouts = [&](const edge_signature& s, const mesh& m) {
    std::vector<layout> all;
    for (int k = 0; k < inputs; ++k) {
      layout l;
      for (int i = 0; i < 6 && K::edges.inputs[k].dims[i].code != 0; ++i) {
        const dim_name d(K::edges.inputs[k].dims[i].code);
        l.dims.push_back(make_dim(d, size_of_dim(d), m, s.in[k] == edge::split(d) ? m.all() : axis_set{}));
      }
      if (s.in[k] == edge::P) l = with_owed(l, m.all(), m);
      if (s.in[k] == edge::I) l = with_invariant(l, m.all(), m);
      all.push_back(l);
    }
    return all;
  };
  const std::string name = std::string(K::name) + ": ";
  local_detail::dice random;

  const mesh one;
  const local_detail::local_run<K> whole(one, layouts(edge_signature{}, one));
  if (!whole.why.empty()) return whole.why;
  std::vector<numbers> x, step;
  for (int i = 0; i < inputs; ++i) x.push_back(random.next(whole.shape(i).local_count()));
  for (const numbers& v : x) step.push_back(random.next(static_cast<std::int64_t>(v.size())));
  const numbers dy = random.next(whole.result().local_count());
  const std::vector<numbers> expected = whole(0, x, dy);
  for (int i = 0; i < inputs; ++i) {  // slopes, one input at a time
    const auto at = static_cast<std::size_t>(i);
    const auto moved = [&](double h) {
      std::vector<numbers> there = x;
      for (std::size_t k = 0; k < there[at].size(); ++k) there[at][k] += h * step[at][k];
      return local_detail::dot(whole(0, there, dy)[0], dy);
    };
    const double slope = (moved(1e-5) - moved(-1e-5)) / 2e-5, said = local_detail::dot(expected[at + 1], step[at]);
    if (!(std::abs(slope - said) <= 1e-6 * (1 + std::abs(slope))))
      return name + "forward rises by " + std::to_string(slope) + " along " + K::edges.inputs[i].name +
             ", its backward says " + std::to_string(said);
  }

  for (int i = 0; i < typing::signature_count; ++i) {
    const edge_signature s = typing::signature_of(K::edges, i);
    if (s.where.empty()) continue;
    axis a = axes::dp;
    while (!s.where.contains(a)) a.id = static_cast<std::uint8_t>(a.id + 1) % axis_limit;
    const mesh two{extent{a, 2}};
    const local_detail::local_run<K> parts(two, layouts(s, two));
    if (!parts.why.empty()) return parts.why;
    std::string given = name + "with";
    std::vector<std::vector<numbers>> dealt;
    for (int k = 0; k < inputs; ++k) {
      given += std::string(k > 0 ? ", " : " ") + K::edges.inputs[k].name + " " + typing::name_of_state(s.in[k]).s;
      dealt.push_back(local_detail::deal(x[static_cast<std::size_t>(k)], parts.shape(k), two, random));
    }
    const std::vector<numbers> seeds = local_detail::deal(dy, dual(parts.result(), two), two, random);
    std::vector<std::vector<numbers>> made(static_cast<std::size_t>(inputs + 1));
    for (int rank = 0; rank < 2; ++rank) {
      std::vector<numbers> mine;
      for (const auto& d : dealt) mine.push_back(d[static_cast<std::size_t>(rank)]);
      const std::vector<numbers> m = parts(rank, mine, seeds[static_cast<std::size_t>(rank)]);
      for (std::size_t k = 0; k < m.size(); ++k) made[k].push_back(m[k]);
    }
    given += std::string(", ") + K::edges.result.name + " " + state_of(parts.result(), a).s + ": ";
    if (const std::string d = local_detail::differs(expected[0], made[0], parts.result(), two); !d.empty())
      return given + K::edges.result.name + d;
    for (int k = 0; k < inputs; ++k)
      if (const std::string d = local_detail::differs(expected[static_cast<std::size_t>(k + 1)],
                                                      made[static_cast<std::size_t>(k + 1)], parts.gradient(k), two);
          !d.empty())
        return given + "the gradient of " + K::edges.inputs[k].name + d;
  }
  return {};
}

}  // namespace meshpar::inline v0
