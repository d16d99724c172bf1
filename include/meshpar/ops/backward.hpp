// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/ops/transition.hpp>

namespace meshpar::inline v0 {

constexpr int tracer::need(int id) {
  if (now_ == phase::forward) return id;
  const value v = values[id];
  if (v.same_as != no_value) {
    const int whole = need(v.same_as);
    return whole == v.same_as ? id : alias(whole, v.shape);
  }
  if (v.made_by == no_value || v.made_by >= forward_records) return id;
  const record made = records[v.made_by];
  if (made.op != &to_op::info || made.n[0] != static_cast<std::int64_t>(typing::collective::all_gather)) return id;
  if (gathered_[id] == 0)
    gathered_[id] = static_cast<std::int16_t>(to_op::emit_to(*this, made.line, v.shape, need(made.in[0])) + 1);
  return gathered_[id] - 1;
}

constexpr void tracer::pull_back_one(int i, phase p) {
  const record& r = records[i];  // records never move
  const auto part = p == phase::input_grad ? r.op->input_grad : r.op->weight_grad;
  bool reached = false;
  for (const int o : r.out) reached = reached || grads_[o] != 0;
  if (part == nullptr || !reached || refused()) return;
  now_ = p;
  part(*this, r);
}

constexpr void tracer::pull_back(int result, int seed, backward_order order) {
  forward_records = records.size();
  grads_[result] = static_cast<std::int16_t>(seed + 1);
  for (int i = forward_records - 1; i >= 0; --i) {
    pull_back_one(i, phase::input_grad);
    if (order == backward_order::together) pull_back_one(i, phase::weight_grad);
  }
  if (order == backward_order::together) return;
  for (int i = forward_records - 1; i >= 0; --i) pull_back_one(i, phase::weight_grad);
}

}  // namespace meshpar::inline v0
