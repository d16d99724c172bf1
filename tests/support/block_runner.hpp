// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/threads/world.hpp>
#include <meshpar/device/host_gemm.hpp>
#include <meshpar/layout/offset.hpp>
#include <meshpar/ops/block.hpp>
#include <meshpar/ops/host_kinds.hpp>

#include <map>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

// One layer on thread ranks, without a model around it: x and the weights are given by global arrays, every value that
// a record touches has memory of its own and can be looked at afterwards.
namespace block_runner {

namespace mp = meshpar;
using numbers = std::vector<double>;
using device = mp::host<double, mp::plain_gemm, mp::threads>;

// A layer traced under a context, forward and backward.
struct block {
  template <class Layer>
  block(const mp::context& c, const Layer& layer) : plan(c), trace(plan) {
    mp::trace_middle(trace, layer);
    if (!trace.refused()) mp::place_values(trace);
  }
  block(const block&) = delete;
  mp::context plan;
  mp::tracer trace;

  // The n-th record of a kind in a part of the step.
  int find(std::string_view kind, mp::phase when, int n = 0) const {
    for (int i = 0; i < trace.records.size(); ++i)
      if (kind == trace.records[i].op->name && trace.records[i].when == when && n-- == 0) return i;
    throw std::out_of_range("no such record: " + std::string(kind));
  }
  int only(mp::space where) const {
    for (int i = 0; i < trace.values.size(); ++i)
      if (trace.values[i].where == where) return i;
    throw std::out_of_range("no value lives there");
  }
};

// What a run starts from, as whole tensors in row-major order: the layer's input, its weights by name, and the gradient
// of its result as if that were not split (a rank takes its part; where it is P or I, every rank takes it).
struct given {
  numbers x;
  std::map<std::string, numbers> weights;
  numbers dy;
};

// One rank's memory and calls.
class runner {
 public:
  runner(const block& b, mp::threads& comm) : block_(b), rank_(comm.rank()), device_{&comm, {}} {
    memory_.resize(static_cast<std::size_t>(t().values.size()));
    for (int i = 0; i < t().values.size(); ++i)
      here(i).assign(static_cast<std::size_t>(t().values[i].bytes / 8 + 1), 0.0);
  }

  void run(const given& g) {
    load(block_.only(mp::space::input), g.x);
    for (const mp::parameter& p : t().parameters) load(p.id, g.weights.at(p.name));
    play(0, t().forward_records);
    load(block_.only(mp::space::output_grad), g.dy);
    play(t().forward_records, t().records.size());
  }

  int number() const { return rank_; }
  mp::group along(mp::axis_set s) const {
    const mp::mesh& m = t().plan.ranks;
    std::vector<int> members;
    for (int i = 0; i < m.size(s); ++i) members.push_back(m.member(rank_, s, i));
    return device_.comm->group(members);
  }
  mp::threads& comm() const { return *device_.comm; }

  // What this rank holds of a value.
  numbers value(int id) const {
    const numbers& all = memory_[static_cast<std::size_t>(mp::root_of(t(), id))];
    return {all.begin(), all.begin() + t().count(id)};
  }
  numbers result_of(std::string_view kind, mp::phase when, int n = 0) const {
    return value(t().records[block_.find(kind, when, n)].out[0]);
  }
  numbers result() const { return value(block_.only(mp::space::output)); }
  numbers input_grad() const { return value(t().grad_of(block_.only(mp::space::input))); }
  numbers weight_grad(std::string_view name) const {
    for (const mp::parameter& p : t().parameters)
      if (name == p.name) return value(p.grad);
    throw std::out_of_range("no such weight: " + std::string(name));
  }

 private:
  const mp::tracer& t() const { return block_.trace; }
  numbers& here(int id) { return memory_[static_cast<std::size_t>(mp::root_of(t(), id))]; }
  void load(int id, const numbers& whole) {
    for (std::int64_t i = 0; i < t().count(id); ++i)
      here(id)[static_cast<std::size_t>(i)] =
          whole.at(static_cast<std::size_t>(mp::global_index(t().shape(id), t().plan.ranks, rank_, i)));
  }

  void play(int first, int last) {
    for (int i = first; i < last; ++i) run_record(t().records[i]);
  }
  void run_record(const mp::record& r) {
    mp::bound c{.what = &r, .out_type = t().values[r.out[0]].type};
    for (int i = 0; i < r.in.size(); ++i) c.in[i] = here(r.in[i]).data();
    for (int i = 0; i < r.out.size(); ++i) c.out[i] = here(r.out[i]).data();
    for (int i = 0; !r.in.empty() && i < t().shape(r.in[0]).dims.size(); ++i)
      c.first[i] = mp::pieces(t().shape(r.in[0]).dims[i], t().plan.ranks, rank_)[0].global;
    if (!r.along.empty()) {
      c.position = t().plan.ranks.position(rank_, r.along);
      c.ranks = along(r.along);
    }
    for (const mp::runner<device>& k : kinds)
      if (k.kind == r.op) return k.run(device_, c);
    throw std::out_of_range(std::string("no kernel for ") + r.op->name);
  }

  const block& block_;
  int rank_;
  device device_;
  std::vector<numbers> memory_;

 public:
  std::span<const mp::runner<device>> kinds = mp::host_kinds::table<device>;
};

// Runs a layer on every rank of its context and calls look(runner) on each, one rank after the other.
template <class Look>
void run(const block& b, const given& g, Look look, std::span<const mp::runner<device>> kinds = {}) {
  std::mutex one_at_a_time;
  mp::threads_world world(b.trace.plan.ranks.size(), {.time_out = 60});
  world.run([&](mp::threads& comm) {
    runner r(b, comm);
    if (!kinds.empty()) r.kinds = kinds;
    r.run(g);
    const std::lock_guard lock(one_at_a_time);
    look(r);
  });
}

// The same number on every rank: one numbers per rank.
template <class Pick>
std::vector<numbers> on_ranks(const block& b, const given& g, Pick pick,
                              std::span<const mp::runner<device>> kinds = {}) {
  std::vector<numbers> all(static_cast<std::size_t>(b.trace.plan.ranks.size()));
  run(b, g, [&](const runner& r) { all[static_cast<std::size_t>(r.number())] = pick(r); }, kinds);
  return all;
}

}  // namespace block_runner
