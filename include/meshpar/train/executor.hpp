// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/error.hpp>
#include <meshpar/layout/offset.hpp>
#include <meshpar/memory/arena.hpp>
#include <meshpar/nn/program.hpp>
#include <meshpar/ops/kinds.hpp>

#include <span>
#include <string>
#include <vector>

namespace meshpar::inline v0 {

// Plays a program on one rank: every record of every block is bound once to memory, group and kernel, and a step is
// then a walk over these calls. It decides nothing and allocates nothing.
template <class Device>
class executor {
 public:
  executor(const program& p, Device& device, const arena& memory, int rank, std::span<const runner<Device>> kinds)
      : program_(p), device_(device), memory_(memory), rank_(rank), kinds_(kinds) {
    for (int b = 0; b < p.block_count(); ++b) bind_block(b);
  }

  void forward() {
    for (const block_calls& b : blocks_) play(b.forward);
  }
  void backward() {
    for (std::size_t b = blocks_.size(); b-- > 0;) play(blocks_[b].backward);
  }

  // This rank's memory of a value of a block.
  void* address(int block, int id) const { return memory_.at(offset_of(block, id)); }

  // The group of this rank along a set of axes.
  group group_along(axis_set s) const {
    std::vector<int> members;
    const mesh& m = program_.where.ranks;
    for (int i = 0; i < m.size(s); ++i) members.push_back(m.member(rank_, s, i));
    return device_.comm->group(members);
  }

 private:
  struct step_call {
    void (*run)(Device&, const bound&);
    bound what;
  };
  struct block_calls {
    std::vector<step_call> forward, backward;
  };

  void play(const std::vector<step_call>& calls) {
    for (const step_call& c : calls) c.run(device_, c.what);
  }

  void bind_block(int block) {
    const tracer& t = program_.traced_block(program_.kind_of(block));
    block_calls calls;
    for (int i = 0; i < t.records.size(); ++i)
      if (!needs_no_call(t.records[i]))
        (i < t.forward_records ? calls.forward : calls.backward).push_back(bind(t, block, i));
    blocks_.push_back(std::move(calls));
  }

  step_call bind(const tracer& t, int block, int index) {
    const record& r = t.records[index];
    bound c{.what = &r, .out_type = t.values[r.out[0]].type, .site = block, .traced = &t, .rank = rank_};
    for (int i = 0; i < r.in.size(); ++i) c.in[i] = address(block, r.in[i]);
    for (int i = 0; i < r.out.size(); ++i) c.out[i] = address(block, r.out[i]);
    const mesh& m = program_.where.ranks;
    if (!r.in.empty())
      for (int i = 0; i < t.shape(r.in[0]).dims.size(); ++i)
        c.first[i] = pieces(t.shape(r.in[0]).dims[i], m, rank_)[0].global;
    if (!r.along.empty()) {
      c.position = m.position(rank_, r.along);
      c.ranks = group_along(r.along);
    }
    if (const verdict v = element_type_served(r); !v.holds()) throw comm_error(v.why.s);
    return {find(*r.op), c};
  }
  auto find(const operation& kind) const {
    if (const runner<Device>* k = find_kind(kinds_, kind)) return k->run;
    throw comm_error(std::string("this device has no kernel for the operation ") + kind.name);
  }

  std::int64_t offset_of(int block, int id) const {
    const block_kind kind = program_.kind_of(block);
    const tracer& t = program_.traced_block(kind);
    const value& v = t.values[root_of(t, id)];
    const arena_plan& a = program_.memory;
    switch (v.where) {
      case space::parameter: return a.parameters.offset + element_of(block, v.parameter) * size_of(v.type);
      case space::gradient: return a.gradients.offset + element_of(block, v.parameter) * size_of(v.type);
      case space::constant: return a.constants.offset + program_.constants_at(kind) + v.offset;
      case space::input: return a.boundaries.offset + (block - 1) * a.boundary;
      case space::output: return a.boundaries.offset + block * a.boundary;
      case space::output_grad: return a.boundary_grads[block % 2].offset;
      case space::input_grad: return a.boundary_grads[(block + 1) % 2].offset;
      case space::saved: return a.saved.offset + program_.saved_at(block) + v.offset;
      case space::transient: return a.transient.offset + v.offset;
      case space::ids: return a.ids.offset;
      case space::labels: return a.labels.offset;
      case space::seed: return a.scalars.offset;
      case space::loss: return a.scalars.offset + 8;
      case space::none: break;
    }
    return a.transient.offset;  // a value that no record touches
  }
  std::int64_t element_of(int block, int parameter) const {
    const parameter_entry& e = program_.entry_of(program_.kind_of(block), parameter);
    return e.first + (e.copies > 1 ? program_.layer_of(block) * e.stride : 0);
  }

  const program& program_;
  Device& device_;
  const arena& memory_;
  int rank_;
  std::span<const runner<Device>> kinds_;
  std::vector<block_calls> blocks_;
};

}  // namespace meshpar::inline v0
