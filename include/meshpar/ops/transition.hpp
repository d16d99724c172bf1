// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/ops/tracer.hpp>
#include <meshpar/typing/transition.hpp>

namespace meshpar::inline v0 {

// The only operation that communicates. A record of a collective has n = {kind, outer, inner elements, ranks, type in
// which sums are taken}: the operand of a gather is [outer][inner], its result [outer][ranks][inner]; a reduce-scatter
// is the reverse; an all-reduce, and a value kept on the first rank, have inner elements in all.
struct to_op {
  static constexpr void input_grad(tracer& t, const record& r);
  static constexpr operation info{.name = "to", .input_grad = &input_grad};

  // The value `id` in the layout `target`: one collective, or a new name for the same memory.
  static constexpr int emit_to(tracer& t, int line, const layout& target, int id);
  static constexpr void emit_all_reduce(tracer& t, int line, int id, std::int64_t elements, axis_set along, bool max);
};

constexpr int to_op::emit_to(tracer& t, int line, const layout& target, int id) {
  const layout from = t.shape(id);
  if (from == target) return id;
  const typing::move step = typing::transition(from, target, t.plan.ranks);
  if (!step.holds()) return t.refuse(step.no, line), id;
  const bool free = step.kind == typing::collective::none;
  const int out = free ? t.alias(id, target) : t.make(target, t.values[id].type);
  std::int64_t outer = 1;
  const int dim = step.to_dim >= 0 ? step.to_dim : step.from_dim;
  for (int i = 0; i < dim; ++i) outer *= target.dims[i].local;  // a collective without a dim: one run
  const int ranks = t.plan.ranks.size(step.along);
  const bool whole = step.kind == typing::collective::all_reduce || step.kind == typing::collective::all_reduce_max ||
                     step.kind == typing::collective::keep_first;
  const std::int64_t larger = t.count(id) > t.count(out) ? t.count(id) : t.count(out);
  t.add({.op = &info,
         .in = values_of(id),
         .out = values_of(out),
         .n = {static_cast<std::int64_t>(step.kind), outer, whole ? t.count(id) : larger / outer / ranks, ranks,
               static_cast<std::int64_t>(t.plan.reduce)},
         .along = step.along},
        line);
  return out;
}

// An all-reduce in place of `elements` statistics, by sum or by max; nothing where the group is one rank.
constexpr void to_op::emit_all_reduce(tracer& t, int line, int id, std::int64_t elements, axis_set along, bool max) {
  const int ranks = t.plan.ranks.size(along);
  if (ranks == 1) return;
  t.add({.op = &info,
         .in = values_of(id),
         .out = values_of(id),
         .n = {static_cast<std::int64_t>(max ? typing::collective::all_reduce_max : typing::collective::all_reduce), 1,
               elements, ranks, static_cast<std::int64_t>(t.values[id].type)},
         .along = along},
        line);
}

// The backward of a transition is the transition between the two gradient layouts.
constexpr void to_op::input_grad(tracer& t, const record& r) {
  const int g = t.grad_of(r.out[0]);
  t.contribute(r.in[0], emit_to(t, r.line, dual(t.shape(r.in[0]), t.plan.ranks), g));
}

}  // namespace meshpar::inline v0
