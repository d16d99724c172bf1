// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/call.hpp>
#include <meshpar/kernels/adamw.hpp>
#include <meshpar/kernels/elementwise.hpp>
#include <meshpar/train/executor.hpp>

#include <cmath>

namespace meshpar::inline v0 {

// What a step of the optimizer is told and what it tells.
struct optimizer_settings {
  kernels::adamw_settings adam{};
  double decay = 0.1;    // of weights that start at random; gains and biases have none
  double clip_norm = 1;  // the gradient's global norm is brought down to this; 0: not clipped
};
struct step_report {
  double loss = 0;       // mean over the labels of the global batch
  double grad_norm = 0;  // global, before clipping
  bool skipped = false;  // the norm was not finite, so nothing was changed
};

// Sums gradients over the ranks where a parameter is replicated, takes the global norm with each weight counted once,
// clips, and runs AdamW, all on the flat buckets. Element type T, gradients G, master weights A, moments M.
template <class T, class G, class A, class M, class Device>
class optimizer {
 public:
  optimizer(const program& p, Device& device, const arena& memory, int rank, const executor<Device>& bound)
      : program_(p), device_(device), memory_(memory) {
    const mesh& m = p.where.ranks;
    for (const step_reduction& r : p.reductions) groups_.push_back(bound.group_along(r.along));
    for (const flat_bucket& b : p.buckets) counts_here_.push_back(m.position(rank, m.all() - b.split) == 0);
    if (!p.totals.along.empty()) world_ = bound.group_along(p.totals.along);
    const tracer& last = p.traced_block(block_kind::last);
    loss_here_ = m.position(rank, last.shape(first_in(last, space::loss)).invariant) == 0;
    tokens_here_ = m.position(rank, m.all() - p.where.tokens.split()) == 0;
  }

  void clear_gradients() { kernels::fill(gradients(), G{}, program_.elements()); }

  // Sums over the whole batch: of what each rank has counted among its tokens, and of its term of the loss. Ranks that
  // hold the same tokens, or the same loss, count once.
  double sum_over_tokens(double mine) {
    device_.comm->label("number of labels");
    return sum_over_ranks(tokens_here_ ? mine : 0, 0)[0];
  }
  double sum_of_losses(double mine) { return sum_over_ranks(loss_here_ ? mine : 0, 0)[0]; }

  // Needs the gradients of the whole step, this rank's term of the loss, and the divisor that is in the gradients.
  step_report step(double loss, double labels, const optimizer_settings& s) {
    device_.comm->label("gradients");
    for (int i = 0; i < program_.reductions.size(); ++i)
      reduce(program_.reductions[i], groups_[static_cast<std::size_t>(i)]);
    device_.comm->label("loss and gradient norm");
    const double* totals = sum_over_ranks(loss_here_ ? loss : 0, squares());  // in one message
    step_report r{.loss = totals[0] / labels, .grad_norm = std::sqrt(totals[1])};
    r.skipped = !std::isfinite(r.grad_norm);
    if (!r.skipped) update(s, ++applied_, clip_scale(s, r.grad_norm));
    return r;
  }

 private:
  G* gradients() const { return reinterpret_cast<G*>(memory_.at(program_.memory.gradients.offset)); }

  void reduce(const step_reduction& r, const group& along) {
    void* at = memory_.at(r.offset);
    device_.comm->all_reduce(along, at, at, r.count, r.type, r.sum_in, reduction::sum);
  }
  const double* sum_over_ranks(double first, double second) {
    double* totals = reinterpret_cast<double*>(memory_.at(program_.totals.offset));
    totals[0] = first, totals[1] = second;
    if (!program_.totals.along.empty()) reduce(program_.totals, world_);
    return totals;
  }
  // A bucket's squares differ over the axes that split it; elsewhere it is a copy, which the first rank counts.
  double squares() const {
    double total = 0;
    for (int i = 0; i < program_.buckets.size(); ++i) {
      const flat_bucket& b = program_.buckets[i];
      if (counts_here_[static_cast<std::size_t>(i)])
        total += kernels::sum_of_squares(gradients() + b.begin, b.end - b.begin);
    }
    return total;
  }
  static double clip_scale(const optimizer_settings& s, double norm) {
    return s.clip_norm > 0 && norm > s.clip_norm ? s.clip_norm / norm : 1;
  }
  void update(const optimizer_settings& s, long number, double scale) {
    for (const flat_bucket& b : program_.buckets) {
      kernels::adamw_settings adam = s.adam;
      adam.decay = s.decay;
      update_range(b.begin, b.decay_end, adam, number, scale);
      adam.decay = 0;
      update_range(b.decay_end, b.end, adam, number, scale);
    }
  }
  void update_range(std::int64_t begin, std::int64_t end, const kernels::adamw_settings& adam, long number,
                    double scale) {
    const arena_plan& a = program_.memory;
    kernels::adamw(at<T>(a.parameters, begin), at<A>(a.master, begin), at<M>(a.moments[0], begin),
                   at<M>(a.moments[1], begin), gradients() + begin, end - begin, adam, number, scale);
  }
  template <class X>
  X* at(const region& r, std::int64_t element) const {
    return reinterpret_cast<X*>(memory_.at(r.offset)) + element;
  }

  const program& program_;
  Device& device_;
  const arena& memory_;
  std::vector<group> groups_;  // of the reductions
  group world_{};
  std::vector<bool> counts_here_;
  bool loss_here_ = false, tokens_here_ = false;
  long applied_ = 0;  // steps that changed something: what Adam's bias correction counts
};

}  // namespace meshpar::inline v0
