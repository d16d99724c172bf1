// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/core/verdict.hpp>
#include <meshpar/ops/context.hpp>
#include <meshpar/ops/param.hpp>
#include <meshpar/ops/record.hpp>

namespace meshpar::inline v0 {

// A parameter as a block uses it: its logical dims are those of its layout.
struct parameter {
  const void* key = nullptr;  // which member of which layer
  const char* scope = "";
  const char* name = "";
  initial start = initial::normal;
  std::int16_t id = no_value;    // its value
  std::int16_t grad = no_value;  // its gradient's value
};

// y += x in another type, or z = x + y of gradients; n = {elements}.
struct accumulate_op {
  static constexpr operation info{.name = "accumulate"};     // out += in
  static constexpr operation narrow_info{.name = "narrow"};  // out = in
  static constexpr operation sum_info{.name = "grad_sum"};   // out = in + in
};

constexpr bool same_word(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) ++a, ++b;
  return *a == *b;
}
// A parameter is known to checkpoints, and to the other end of the model, by its scope and name.
constexpr bool same_name(const parameter& a, const parameter& b) {
  return same_word(a.scope, b.scope) && same_word(a.name, b.name);
}

// Builds the program of one block: values and records, first forward, then backward. Every operation adds its records
// here through add(); nothing here depends on a plan's type, so it is compiled once.
class tracer {
 public:
  constexpr explicit tracer(const context& c) : plan(c) {}

  static constexpr int value_limit = 144, record_limit = 160, parameter_limit = 20;

  const context& plan;
  fixed_vector<value, value_limit> values{};
  fixed_vector<record, record_limit> records{};
  fixed_vector<parameter, parameter_limit> parameters{};
  verdict refusal{};
  int forward_records = 0;  // records [0, forward_records) are the forward pass

  constexpr bool refused() const { return !refusal.holds(); }
  constexpr void refuse(const verdict& v, int line) {
    if (refused()) return;
    refusal = v;
    refusal.line = line;
  }

  // Whether one more has room. What has not is refused, and not made.
  constexpr bool has_room(int used, int limit, const char* what) {
    if (used < limit) return true;
    if (refused()) return false;
    text t;
    t << "one block makes more than " << limit << ' ' << what << ", its backward pass included; make two layers of it";
    refuse({.broken = rule::block_fits_the_trace,
            .left = used + 1,
            .right = limit,
            .why = t,
            .remedy = fix::make_two_layers},
           0);
    return false;
  }

  constexpr const layout& shape(int id) const { return values[id].shape; }
  constexpr std::int64_t count(int id) const { return values[id].shape.local_count(); }

  // A value of a layout; bytes follow from the element type.
  constexpr int make(const layout& l, dtype type, space where = space::none) {
    return push({.shape = l, .type = type, .bytes = l.local_count() * size_of(type), .where = where});
  }
  // Memory without a layout: statistics of `count` elements, or scratch of an operation.
  constexpr int make_raw(std::int64_t elements, dtype type) {
    return push({.type = type, .bytes = elements * size_of(type)});
  }
  // A table that is filled once, before training: a function of its size and one number.
  constexpr int make_constant(std::int64_t elements, dtype type, double argument) {
    for (int i = 0; i < values.size(); ++i)
      if (values[i].where == space::constant && values[i].bytes == elements * size_of(type) &&
          values[i].argument == argument)
        return i;
    return push({.type = type, .bytes = elements * size_of(type), .where = space::constant, .argument = argument});
  }
  // The same memory under another layout.
  constexpr int alias(int id, const layout& l) {
    value v = values[id];
    v.shape = l;
    v.same_as = static_cast<std::int16_t>(id);
    v.made_by = v.parameter = no_value;  // its gradient reaches the parameter through the transition
    return push(v);
  }

  // Adds a record; its results are the values in r.out.
  constexpr void add(record r, int line = 0) {
    if (!has_room(records.size(), record_limit, "operations")) return;
    r.when = now_;
    r.type = plan.compute;
    r.line = line;
    const auto number = static_cast<std::int16_t>(records.size());
    for (const int o : r.out)
      if (value& v = values[o]; v.made_by == no_value) v.made_by = number;
    records.push_back(r);
  }

  constexpr int find_parameter(const void* key) const {
    for (int i = 0; i < parameters.size(); ++i)
      if (parameters[i].key == key) return i;
    return no_value;
  }
  constexpr int use_parameter(const void* key, const char* scope, const char* name, initial start, const layout& l) {
    if (const int known = find_parameter(key); known != no_value) {
      if (!(shape(parameters[known].id) == l)) refuse_states(name);
      return parameters[known].id;
    }
    if (!has_room(parameters.size(), parameter_limit, "parameters")) return 0;
    for (const parameter& p : parameters)
      if (same_name(p, {.scope = scope, .name = name})) refuse_name(name);
    const int id = make(l, plan.compute, space::parameter);
    const int grad = make(dual(l, plan.ranks), plan.grad, space::gradient);
    values[id].parameter = values[grad].parameter = static_cast<std::int16_t>(parameters.size());
    parameters.push_back({key, scope, name, start, static_cast<std::int16_t>(id), static_cast<std::int16_t>(grad)});
    return id;
  }

  // The number of a place of this block where dropout happens.
  constexpr int next_site() { return sites_++; }

  // ---- for pullbacks

  // The gradient that has reached a value so far, or no_value.
  constexpr int grad_of(int id) const { return grads_[id] - 1; }
  // Whether somebody wants the gradient of a value: indices have none.
  constexpr bool wants_grad(int id) const { return values[id].type != dtype::i32; }
  // Adds a term to a value's gradient. Its layout is dual to the value's by the transition and product rules.
  constexpr void contribute(int id, int term) {
    if (!wants_grad(id)) return;
    if (values[id].parameter != no_value) return deliver(id, term);
    if (grads_[id] == 0) {
      grads_[id] = static_cast<std::int16_t>(term + 1);
      return;
    }
    const int total = make(values[term].shape, values[term].type);
    add({.op = &accumulate_op::sum_info,
         .in = values_of(grad_of(id), term),
         .out = values_of(total),
         .n = {count(term)}});
    grads_[id] = static_cast<std::int16_t>(total + 1);
  }
  // A forward value for use in the backward pass: a gathered value is not kept, its shard is, and is gathered again.
  constexpr int need(int id);

  // Where a weight gradient is written: a parameter's own gradient, to which it is added over micro-batches and uses;
  // or, where that has a narrower type or the weight is no parameter, a fresh value, wide enough, to be delivered.
  constexpr int grad_target(int id) {
    const int p = values[id].parameter;
    const dtype wide = accumulator_of(plan.compute);
    if (p != no_value && values[parameters[p].grad].type == wide) return parameters[p].grad;
    return make(dual(shape(id), plan.ranks), wide);
  }
  constexpr bool adds(int target) const { return values[target].parameter != no_value; }
  constexpr void deliver(int id, int term) {
    const int p = values[id].parameter;
    if (p == no_value) return contribute(id, narrowed(term, values[id].type));
    if (term == parameters[p].grad) return;
    add({.op = &accumulate_op::info,
         .in = values_of(term),
         .out = values_of(parameters[p].grad),
         .n = {count(term), static_cast<std::int64_t>(values[term].type)}});
  }

  // A term in an element type.
  constexpr int narrowed(int term, dtype type) {
    if (values[term].type == type) return term;
    const int out = make(shape(term), type);
    add({.op = &accumulate_op::narrow_info, .in = values_of(term), .out = values_of(out), .n = {count(term)}});
    return out;
  }

  // Traces the backward pass of all forward records, the gradient of `result` being the value `seed`.
  constexpr void pull_back(int result, int seed, backward_order order);

 private:
  constexpr int push(const value& v) {
    if (values.count < value_limit || has_room(values.count, value_limit, "values")) values.push_back(v);
    return values.count - 1;
  }
  constexpr void pull_back_one(int i, phase p);
  constexpr void refuse_name(const char* name) {
    text t;
    t << "two parameters of one layer are named '" << name << "'; give each a name of its own";
    refuse({.broken = rule::parameter_named_twice, .why = t, .remedy = fix::name_each_parameter}, 0);
  }

  constexpr void refuse_states(const char* name) {
    text t;
    t << "parameter '" << name << "' is used as I and as R in one layer; use it in one state, r[p] or r(p, x)";
    refuse({.broken = rule::parameter_in_two_states, .why = t, .remedy = fix::use_it_in_one_state}, 0);
  }

  phase now_ = phase::forward;
  int sites_ = 0;
  std::int16_t grads_[value_limit]{};     // value -> gradient value + 1
  std::int16_t gathered_[value_limit]{};  // value -> value gathered again in backward + 1
};

}  // namespace meshpar::inline v0
