// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/nn/context_of.hpp>
#include <meshpar/nn/stack.hpp>
#include <meshpar/nn/tied.hpp>

namespace meshpar::inline v0 {

// A parameter of the model, `copies` times over: one for each layer that has the block. Its elements stand in the flat
// arrays of parameters, gradients and optimizer states from `first` on, copies `stride` apart.
struct parameter_entry {
  block_kind kind = block_kind::first;
  int index = 0;  // among the block's parameters
  int copies = 1;
  int bucket = 0;
  std::int64_t count = 0, first = 0, stride = 0;  // elements on one rank
};

// Parameters with one synchronisation set and one set of splitting axes: their gradients are summed over `sync`, the
// axes where each is replicated, in one collective; `split` are the axes over which their squares are to be summed for
// the norm. Everywhere else a value is a copy. Elements [begin, decay_end) are subject to weight decay.
struct flat_bucket {
  axis_set sync{}, split{};
  std::int64_t begin = 0, decay_end = 0, end = 0;
};

// An all-reduce of a step: of a bucket's gradients over the axes where its parameters are replicated, or of the totals
// over the world.
struct step_reduction {
  axis_set along{};
  std::int64_t offset = 0;  // bytes, in the arena
  std::int64_t count = 0;
  dtype type = dtype::f32, sum_in = dtype::f32;
};

// One part of the arena.
struct region {
  std::int64_t offset = 0, bytes = 0;
};

// Where everything of a rank lives.
struct arena_plan {
  region parameters, gradients, master, moments[2], constants, boundaries, boundary_grads[2], ids, labels, scalars,
      saved, transient;
  std::int64_t boundary = 0;  // bytes of one
  std::int64_t height = 0;
};

// Weights that start at random decay; gains and biases don't.
constexpr bool decays(const parameter& p) { return p.start == initial::normal || p.start == initial::residual; }

// A model under a plan: the traced blocks, its parameters in flat buckets, and the arena. The same object in a constant
// expression (to price it) and at run time (to run it).
class program {
 public:
  template <class Stack>
  constexpr program(const model& m, const job& j, const plan& p, const Stack& layers)
      : what(m), task(j), how(p), where(context_of(m, j, p, Stack::own)) {
    for (int k = 0; k < block_kinds && !refused(); ++k) {
      layers.trace(blocks[k], static_cast<block_kind>(k));
      if (!blocks[k].refused()) sizes[k] = place_values(blocks[k]);
    }
    if (refused()) return;
    tracer& last = blocks[static_cast<int>(block_kind::last)];
    last.refuse(tied_parameters_placed_alike(traced_block(block_kind::first), last), 0);
    if (refused()) return;
    list_parameters();
    plan_arena();
    plan_reductions();
  }
  program(const program&) = delete;

  model what;
  job task;
  plan how;
  context where;
  tracer blocks[block_kinds]{tracer(where), tracer(where), tracer(where), tracer(where)};
  block_sizes sizes[block_kinds]{};
  fixed_vector<parameter_entry, block_kinds * tracer::parameter_limit> parameters{};
  fixed_vector<flat_bucket, 8> buckets{};
  arena_plan memory{};
  fixed_vector<step_reduction, 8> reductions{};  // of gradients, in the order of buckets
  // Two numbers of each rank, summed twice in a step: labels before the first micro-batch; the loss and the squares of
  // the gradient at the end. Along nothing where one rank is all.
  step_reduction totals{};

  constexpr bool refused() const { return !refusal().holds(); }
  constexpr const verdict& refusal() const {
    for (const tracer& t : blocks)
      if (t.refused()) return t.refusal;
    return blocks[0].refusal;
  }

  // ---- the order of blocks: first, then (attention, mlp) per layer, then last
  constexpr int block_count() const { return 2 * what.layers + 2; }
  constexpr block_kind kind_of(int block) const {
    if (block == 0) return block_kind::first;
    if (block == block_count() - 1) return block_kind::last;
    return block % 2 == 1 ? block_kind::attention : block_kind::mlp;
  }
  constexpr int layer_of(int block) const { return block == 0 ? 0 : (block - 1) / 2; }
  constexpr const tracer& traced_block(block_kind k) const { return blocks[static_cast<int>(k)]; }
  constexpr const block_sizes& sizes_of(block_kind k) const { return sizes[static_cast<int>(k)]; }
  constexpr int copies(block_kind k) const { return k == block_kind::first || k == block_kind::last ? 1 : what.layers; }
  constexpr std::int64_t elements() const { return buckets.empty() ? 0 : buckets.back().end; }

  constexpr const parameter& declared(const parameter_entry& e) const {
    return traced_block(e.kind).parameters[e.index];
  }
  constexpr const layout& shape(const parameter_entry& e) const { return traced_block(e.kind).shape(declared(e).id); }
  // The entry that a block's parameter is stored in: its own, or that of an earlier block with the same name (tied).
  constexpr const parameter_entry& entry_of(block_kind k, int index) const {
    const parameter& p = traced_block(k).parameters[index];
    for (const parameter_entry& e : parameters)
      if ((e.kind == k && e.index == index) || (is_end(e.kind) && is_end(k) && same_name(declared(e), p))) return e;
    return parameters[0];
  }

  // Where the saved values of a block begin, within the region.
  constexpr std::int64_t saved_at(int block) const {
    const std::int64_t head = sizes_of(block_kind::first).saved, a = sizes_of(block_kind::attention).saved,
                       f = sizes_of(block_kind::mlp).saved;
    return block == 0 ? 0 : head + (block - 1) / 2 * (a + f) + ((block - 1) % 2 == 1 ? a : 0);
  }
  constexpr std::int64_t constants_at(block_kind k) const {
    std::int64_t at = 0;
    for (int i = 0; i < static_cast<int>(k); ++i) at += sizes[i].constant;
    return at;
  }

 private:
  static constexpr bool is_end(block_kind k) { return k == block_kind::first || k == block_kind::last; }
  static constexpr std::int64_t padded(std::int64_t count) { return (count + 31) / 32 * 32; }

  // Whether the other end of the model has declared the parameter: the two are tied.
  constexpr bool listed(block_kind k, int index) const {
    for (const parameter_entry& e : parameters)
      if (is_end(e.kind) && is_end(k) && same_name(declared(e), traced_block(k).parameters[index])) return true;
    return false;
  }
  constexpr int bucket_of(const layout& l) {
    const axis_set sync = l.replicated(where.ranks), split = l.split();
    for (int i = 0; i < buckets.size(); ++i)
      if (buckets[i].sync == sync && buckets[i].split == split) return i;
    buckets.push_back({.sync = sync, .split = split});
    return buckets.size() - 1;
  }
  constexpr void list_parameters() {
    for (int k = 0; k < block_kinds; ++k)
      for (int i = 0; i < blocks[k].parameters.size(); ++i) {
        const block_kind kind = static_cast<block_kind>(k);
        if (listed(kind, i)) continue;
        const std::int64_t count = blocks[k].count(blocks[k].parameters[i].id);
        const int bucket = bucket_of(blocks[k].shape(blocks[k].parameters[i].id));
        parameters.push_back({kind, i, copies(kind), bucket, count, 0, padded(count)});
      }
    std::int64_t at = 0;
    for (int b = 0; b < buckets.size(); ++b) {
      buckets[b].begin = at;
      at = place(b, true, at);
      buckets[b].decay_end = at;
      at = place(b, false, at);
      const std::int64_t whole = std::int64_t{32} * where.ranks.size(buckets[b].sync);
      at = buckets[b].end = buckets[b].begin + (at - buckets[b].begin + whole - 1) / whole * whole;
    }
  }
  constexpr std::int64_t place(int bucket, bool decaying, std::int64_t at) {
    for (parameter_entry& e : parameters) {
      if (e.bucket != bucket || decays(declared(e)) != decaying) continue;
      e.first = at;
      at += e.stride * e.copies;
    }
    return at;
  }

  constexpr region take(std::int64_t bytes) {
    const region r{memory.height, bytes};
    memory.height = aligned(memory.height + bytes);
    return r;
  }
  constexpr void plan_arena() {
    const precisions& p = how.precision;
    const std::int64_t n = elements(), tokens = where.tokens.local_count();
    memory.parameters = take(n * size_of(p.param));
    memory.gradients = take(n * size_of(p.grad));
    memory.master = has_master_copy(p) ? take(n * size_of(p.master)) : memory.parameters;
    for (region& r : memory.moments) r = take(n * size_of(p.moments));
    memory.constants = take(constants_at(block_kind::last) + sizes_of(block_kind::last).constant);
    memory.boundary = aligned(where.stream.local_count() * size_of(where.compute));
    memory.boundaries = take(memory.boundary * (block_count() - 1));
    for (region& r : memory.boundary_grads) r = take(memory.boundary);
    memory.ids = take(tokens * size_of(dtype::i32));
    memory.labels = take(tokens * size_of(dtype::i32));
    memory.scalars = take(alignment * 2);
    memory.saved = take(saved_at(block_count() - 1) + sizes_of(block_kind::last).saved);
    std::int64_t most = 0;
    for (const block_sizes& s : sizes) most = s.transient > most ? s.transient : most;
    memory.transient = take(most);
  }
  constexpr void plan_reductions() {
    const precisions& p = how.precision;
    for (const flat_bucket& b : buckets)
      if (!b.sync.empty())
        reductions.push_back(
            {b.sync, memory.gradients.offset + b.begin * size_of(p.grad), b.end - b.begin, p.grad, p.reduce});
    // The totals have a cache line of their own.
    totals = {where.ranks.all(), memory.scalars.offset + alignment, 2, dtype::f64, dtype::f64};
  }
};

}  // namespace meshpar::inline v0
