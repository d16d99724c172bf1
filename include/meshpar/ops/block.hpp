// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/ops/backward.hpp>
#include <meshpar/ops/scope.hpp>
#include <meshpar/typing/loss.hpp>

namespace meshpar::inline v0 {

// Every buffer starts at a multiple of this many bytes: a cache line, and a full vector register.
inline constexpr std::int64_t alignment = 64;
constexpr std::int64_t aligned(std::int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

// What one block needs of the arena beside parameters and boundaries.
struct block_sizes {
  std::int64_t saved = 0;      // from its forward to its backward pass
  std::int64_t transient = 0;  // inside a pass
  std::int64_t constant = 0;
};

// The memory whose owner a value shares.
constexpr int root_of(const tracer& t, int id) {
  int owner = t.values[id].same_as;
  while (owner != no_value) {
    id = owner;
    owner = t.values[id].same_as;
  }
  return id;
}

// Fills made_by and last_use of every owner of memory: the records between which it must live.
constexpr void find_lifetimes(tracer& t) {
  const auto touch = [&t](const value_list& ids, std::int16_t record_number) {
    for (const int id : ids) {
      value& named = t.values[id];
      value& v = named.same_as == no_value ? named : t.values[root_of(t, id)];
      if (v.made_by == no_value) v.made_by = record_number;
      v.last_use = record_number;
    }
  };
  std::int16_t number = 0;
  for (const record& r : t.records) {
    touch(r.in, number);
    touch(r.out, number++);
  }
}

// A value that no earlier stage placed is saved if the forward pass makes it and the backward pass reads it, and
// transient otherwise.
constexpr void choose_spaces(tracer& t) {
  for (value& v : t.values) {
    if (v.where != space::none || v.same_as != no_value || v.made_by == no_value) continue;
    const bool crosses = v.made_by < t.forward_records && v.last_use >= t.forward_records;
    v.where = crosses ? space::saved : space::transient;
  }
}

// Gives each transient value the lowest offset at which it overlaps no value alive at the same time. Values come in
// the order in which records make them, so those that may conflict are the few still alive.
constexpr std::int64_t place_transients(tracer& t) {
  value* alive[tracer::value_limit]{};  // by offset
  int living = 0, i = 0;
  std::int64_t height = 0;
  for (const record& r : t.records) {
    if (i == t.forward_records) living = 0;
    for (const int id : r.out) {
      value& v = t.values[id];
      if (v.where != space::transient || v.same_as != no_value || v.made_by != i) continue;
      std::int64_t offset = 0;
      int at = 0;
      for (; at < living && offset + v.bytes > alive[at]->offset; ++at)
        offset = aligned(alive[at]->offset + alive[at]->bytes);
      v.offset = offset;
      if (offset + v.bytes > height) height = offset + v.bytes;
      for (int k = living++; k > at; --k) alive[k] = alive[k - 1];
      alive[at] = &v;
    }
    int kept = 0;
    for (int k = 0; k < living; ++k)
      if (alive[k]->last_use > i) alive[kept++] = alive[k];
    living = kept;
    ++i;
  }
  return aligned(height);
}

// Places one kind of value one after another.
constexpr std::int64_t place_in_a_row(tracer& t, space where) {
  std::int64_t end = 0;
  for (value& v : t.values) {
    if (v.where != where || v.same_as != no_value) continue;
    v.offset = end;
    end = aligned(end + v.bytes);
  }
  return end;
}

// Aliases take the place of the memory they name.
constexpr void place_aliases(tracer& t) {
  for (value& v : t.values)
    if (v.same_as != no_value) {
      const value& owner = t.values[root_of(t, v.same_as)];
      v.where = owner.where;
      v.offset = owner.offset;
    }
}

// Decides where every value of a traced block lives.
constexpr block_sizes place_values(tracer& t) {
  find_lifetimes(t);
  choose_spaces(t);
  const block_sizes sizes{place_in_a_row(t, space::saved), place_transients(t), place_in_a_row(t, space::constant)};
  place_aliases(t);
  return sizes;
}

// ---- the three kinds of block that a model is made of

// x [seq, batch, hidden] -> the same.
template <class Layer>
constexpr void trace_middle(tracer& t, const Layer& layer, backward_order order = backward_order::together) {
  const int x = t.make(t.plan.stream, t.plan.compute, space::input);
  const int y = layer.forward(traced_scope(t), traced{&t, x}).id;
  if (t.refused()) return;
  t.values[y].where = space::output;
  t.pull_back(y, t.make(dual(t.shape(y), t.plan.ranks), t.plan.compute, space::output_grad), order);
  if (!t.refused()) t.values[root_of(t, t.grad_of(x))].where = space::input_grad;
}

// ids [seq, batch] -> x.
template <class Layer>
constexpr void trace_first(tracer& t, const Layer& layer, backward_order order = backward_order::together) {
  const int ids = t.make(t.plan.tokens, dtype::i32, space::ids);
  const int y = layer.forward(traced_scope(t), traced{&t, ids}).id;
  if (t.refused()) return;
  t.values[y].where = space::output;
  t.pull_back(y, t.make(dual(t.shape(y), t.plan.ranks), t.plan.compute, space::output_grad), order);
}

// x, labels [seq, batch] -> the sum of the loss over this rank's tokens. Its gradient, the seed, is one over the number
// of labels of the global batch: a loss may only be seeded where it is P or I over every axis.
template <class Layer>
constexpr void trace_last(tracer& t, const Layer& layer, backward_order order = backward_order::together) {
  const int x = t.make(t.plan.stream, t.plan.compute, space::input);
  const int labels = t.make(t.plan.tokens, dtype::i32, space::labels);
  const int loss = layer.forward(traced_scope(t), traced{&t, x}, traced{&t, labels}).id;
  if (t.refused()) return;
  if (const judged j = typing::seed(t.shape(loss), t.plan.ranks); !j.holds()) return t.refuse(j.no, 0);
  t.values[loss].where = space::loss;
  t.pull_back(loss, t.make(dual(t.shape(loss), t.plan.ranks), t.values[loss].type, space::seed), order);
  if (!t.refused()) t.values[root_of(t, t.grad_of(x))].where = space::input_grad;
}

}  // namespace meshpar::inline v0
