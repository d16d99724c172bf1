// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/chunk.hpp>
#include <meshpar/nn/program.hpp>

namespace meshpar::inline v0 {

using typing::collective;

// Calls of one collective along one set of axes, and the bytes that reach a rank in them.
struct traffic {
  collective kind = collective::none;
  axis_set along{};
  std::int64_t calls = 0, bytes = 0;
  constexpr bool operator==(const traffic&) const = default;
};

// What a part of a step costs one rank.
struct part_cost {
  fixed_vector<traffic, 24> sent{};
  std::int64_t flops = 0;

  constexpr void add(const traffic& t, std::int64_t times = 1) {
    for (traffic& known : sent)
      if (known.kind == t.kind && known.along == t.along) {
        known.calls += t.calls * times;
        known.bytes += t.bytes * times;
        return;
      }
    sent.push_back({t.kind, t.along, t.calls * times, t.bytes * times});
  }
  constexpr void add(const part_cost& other, std::int64_t times = 1) {
    for (const traffic& t : other.sent) add(t, times);
    flops += other.flops * times;
  }
  // Calls of a collective whose group lies along exactly these axes.
  constexpr std::int64_t count(collective kind, axis_set along) const {
    for (const traffic& t : sent)
      if (t.kind == kind && t.along == along) return t.calls;
    return 0;
  }
  constexpr std::int64_t bytes(axis_set along) const {
    std::int64_t n = 0;
    for (const traffic& t : sent)
      if (t.along == along) n += t.bytes;
    return n;
  }
  constexpr std::int64_t bytes() const {
    std::int64_t n = 0;
    for (const traffic& t : sent) n += t.bytes;
    return n;
  }
  constexpr bool operator==(const part_cost&) const = default;
};

// A step of one rank, priced by interpreting its program without data.
struct step_cost {
  part_cost forward, backward;  // of one micro-batch
  part_cost finish;             // reductions of gradients, and of totals before the first micro-batch and at the end
  part_cost whole;              // of the step
  std::int64_t persistent = 0;  // bytes at rest between steps: weights, gradients, optimizer states
  std::int64_t height = 0;      // of the arena
  std::int64_t top = 0;         // one past the last byte of the highest value: height without the alignment at its end
  std::int64_t peak_live = 0;   // the most bytes that are at rest or hold something that will be read
  constexpr bool operator==(const step_cost&) const = default;
};

// Bytes that reach the rank at `position` of a group of n: what a gather or a scatter of the others brings, and for an
// all-reduce the others' terms of the own chunk, then the finished chunks of the others. Over all ranks these are the
// bytes that rings send (Thakur et al. 2005), and each rank's own where n divides the count.
constexpr std::int64_t bytes_received(collective kind, std::int64_t outer, std::int64_t inner, int n, int position,
                                      std::int64_t element) {
  const std::int64_t mine = chunk_of(inner, n, position).size();
  switch (kind) {
    case collective::all_gather:
    case collective::reduce_scatter: return (n - 1) * outer * inner * element;
    case collective::all_reduce:
    case collective::all_reduce_max: return ((n - 1) * mine + inner - mine) * element;
    default: return 0;
  }
}

constexpr bool communicates(collective k) {
  return k == collective::all_gather || k == collective::reduce_scatter || k == collective::all_reduce ||
         k == collective::all_reduce_max;
}

// The records [first, last) of a block, on a rank.
constexpr part_cost price_records(const tracer& t, int first, int last, int rank) {
  part_cost c;
  const mesh& m = t.plan.ranks;
  for (int i = first; i < last; ++i) {
    const record& r = t.records[i];
    if (r.op->flops != nullptr) c.flops += r.op->flops(r);
    if (r.op != &to_op::info) continue;
    const collective kind = static_cast<collective>(r.n[0]);
    if (communicates(kind))
      c.add(traffic{kind, r.along, 1,
                    bytes_received(kind, r.n[1], r.n[2], static_cast<int>(r.n[3]), m.position(rank, r.along),
                                   size_of(t.values[r.out[0]].type))});
  }
  return c;
}

constexpr bool is_activation(space s) {
  return s == space::saved || s == space::transient || s == space::input || s == space::output ||
         s == space::output_grad || s == space::input_grad;
}

constexpr bool is_owner(const value& v) { return v.same_as == no_value && v.made_by != no_value; }

// The most bytes of activations that are alive at one record of a pass over a block. A value is alive from the record
// that makes it, or from the start if the pass is given it, to the last that reads it, or to the end if the pass
// returns it or leaves it to the backward pass.
constexpr std::int64_t peak_alive(const tracer& t, bool backward) {
  const int begin = backward ? t.forward_records : 0, end = backward ? t.records.size() : t.forward_records;
  std::int64_t change[tracer::record_limit + 1]{};
  for (const value& v : t.values) {
    if (!is_owner(v) || !is_activation(v.where) || v.last_use < begin || v.made_by >= end) continue;
    const bool given = v.made_by < begin || v.where == space::input || v.where == space::output_grad;
    const bool left = v.last_use >= end || v.where == space::input_grad || (v.where == space::output && !backward);
    change[given ? begin : v.made_by] += v.bytes;
    change[left ? end : v.last_use + 1] -= v.bytes;
  }
  std::int64_t alive = 0, peak = 0;
  for (int i = begin; i < end; ++i) {
    alive += change[i];
    peak = alive > peak ? alive : peak;
  }
  return peak;
}

// What waits for the backward pass of a block: values that it saves, and its input if it reads that again.
constexpr std::int64_t kept(const tracer& t) {
  std::int64_t n = 0;
  for (const value& v : t.values)
    if (is_owner(v) && (v.where == space::saved || v.where == space::input) && v.last_use >= t.forward_records)
      n += v.bytes;
  return n;
}

// The same over a step: beside what is at rest, a pass over a block finds what all blocks before it have kept.
constexpr std::int64_t peak_live(const program& p, std::int64_t at_rest) {
  std::int64_t below = 0, most = 0;
  for (int b = 0; b < p.block_count(); ++b) {
    const tracer& t = p.traced_block(p.kind_of(b));
    const std::int64_t f = peak_alive(t, false), g = peak_alive(t, true);
    const std::int64_t here = below + (f > g ? f : g);
    most = here > most ? here : most;
    below += kept(t);
  }
  return at_rest + most;
}

// Values are placed upwards, the saved ones of all blocks below the transient ones of any.
constexpr std::int64_t end_of_values(const program& p) {
  const arena_plan& a = p.memory;
  std::int64_t end = a.saved.offset;
  for (int b = 0; b < p.block_count(); ++b)
    for (const value& v : p.traced_block(p.kind_of(b)).values) {
      if (v.made_by == no_value || (v.where != space::saved && v.where != space::transient)) continue;
      const std::int64_t start = v.where == space::saved ? a.saved.offset + p.saved_at(b) : a.transient.offset;
      if (const std::int64_t e = start + v.offset + v.bytes; e > end) end = e;
    }
  return end;
}

constexpr traffic price_reduction(const step_reduction& r, const mesh& m, int rank) {
  return {
      collective::all_reduce, r.along, 1,
      bytes_received(collective::all_reduce, 1, r.count, m.size(r.along), m.position(rank, r.along), size_of(r.type))};
}

// Prices one step of one rank.
constexpr step_cost price(const program& p, int rank = 0) {
  step_cost c;
  for (int k = 0; k < block_kinds; ++k) {
    const tracer& t = p.blocks[k];
    const int copies = p.copies(static_cast<block_kind>(k));
    c.forward.add(price_records(t, 0, t.forward_records, rank), copies);
    c.backward.add(price_records(t, t.forward_records, t.records.size(), rank), copies);
  }
  for (const step_reduction& r : p.reductions) c.finish.add(price_reduction(r, p.where.ranks, rank));
  if (!p.totals.along.empty()) c.finish.add(price_reduction(p.totals, p.where.ranks, rank), 2);
  const int times = micro_batches(p.task, p.how);
  c.whole.add(c.forward, times);
  c.whole.add(c.backward, times);
  c.whole.add(c.finish);
  c.persistent = p.memory.constants.offset;
  c.height = p.memory.height;
  c.top = end_of_values(p);
  const std::int64_t tokens = p.memory.ids.bytes + p.memory.labels.bytes + p.memory.scalars.bytes;
  c.peak_live = peak_live(p, c.persistent + p.memory.constants.bytes + tokens);
  return c;
}

}  // namespace meshpar::inline v0
