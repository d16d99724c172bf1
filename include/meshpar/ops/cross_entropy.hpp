// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/ops/to.hpp>
#include <meshpar/typing/loss.hpp>
#include <meshpar/typing/reduction.hpp>

namespace meshpar::inline v0 {

// The sum over this rank's tokens of the cross-entropy of logits [seq, batch, vocab] with labels [seq, batch]; a label
// of -1 counts nothing. Where the vocabulary is split, the row's largest logit and the sums over it travel, the logits
// don't; padding of it takes part in nothing. The gradient is written over the logits. n = {rows, width held, logical
// vocabulary}, a = {label smoothing}.
struct cross_entropy_op {
  double smoothing;

  static constexpr void input_grad(tracer& t, const record& r);
  static constexpr operation max_info{.name = "row_max"};  // m from {logits}
  static constexpr operation sums_info{
      .name = "row_sums"};  // {sum of e^(x-m), x at the label, sum of x} from {logits, m, labels}
  static constexpr operation info{.name = "cross_entropy",
                                  .input_grad = &input_grad};  // loss from {logits, m, sums, labels}
  static constexpr operation grad_info{.name = "cross_entropy_grad"};

  static constexpr judged rule(const layout& logits, const layout& labels, const mesh&) {
    const judged per_token = typing::cross_entropy(logits, labels);
    return per_token.holds() ? typing::sum_over(per_token.out, {{dims::seq, dims::batch}, 2}) : per_token;
  }
  // A dim that the plan does not know has no padding.
  static constexpr std::int64_t logical_size(const context& plan, const split_dim& d) {
    const placed_dim* placed = plan.find(d.name);
    return placed != nullptr ? placed->logical : d.local * plan.ranks.size(d.by.axes());
  }
  constexpr int emit(tracer& t, int line, const layout& out, int logits, int labels) const {
    if (!(smoothing >= 0 && smoothing < 1))
      t.refuse({.broken = rule::values_in_range,
                .why = text{} << "cross_entropy: label smoothing is a share of the target, at least 0 and below 1"},
               line);
    const split_dim vocab = t.shape(logits).dims.back();
    const std::int64_t width = vocab.local, rows = t.count(logits) / width;
    const axis_set split = vocab.by.axes();
    const dtype statistics = accumulator_of(t.plan.compute);
    const int m = t.make_raw(rows, statistics), sums = t.make_raw(3 * rows, statistics), loss = t.make(out, dtype::f64),
              per_row = t.make_raw(rows, statistics);
    record r{.op = &max_info,
             .in = values_of(logits),
             .out = values_of(m),
             .n = {rows, width, logical_size(t.plan, vocab)},
             .a = {smoothing}};
    t.add(r, line);
    to_op::emit_all_reduce(t, line, m, rows, split, true);
    r.op = &sums_info, r.in = values_of(logits, m, labels), r.out = values_of(sums);
    t.add(r, line);
    to_op::emit_all_reduce(t, line, sums, 3 * rows, split, false);
    r.op = &info, r.in = values_of(logits, m, sums, labels), r.out = values_of(loss, per_row);
    t.add(r, line);
    return loss;
  }
};

constexpr void cross_entropy_op::input_grad(tracer& t, const record& r) {
  const int d = t.alias(r.in[0], dual(t.shape(r.in[0]), t.plan.ranks));
  record g = r;
  g.op = &grad_info;
  g.in.push_back(static_cast<std::int16_t>(t.grad_of(r.out[0])));
  g.out = values_of(d);
  t.add(g, r.line);
  t.contribute(r.in[0], d);
}

template <class X, class Y>
constexpr auto cross_entropy(X logits, Y labels, double smoothing, int line = __builtin_LINE()) {
  static_assert(decltype(judge<cross_entropy_op>(logits, labels))::ok);
  return apply(cross_entropy_op{smoothing}, line, logits, labels);
}

}  // namespace meshpar::inline v0
