// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/io/text.hpp>
#include <meshpar/ops/host_kinds.hpp>
#include <meshpar/train/initial.hpp>
#include <meshpar/train/optimizer.hpp>

#include <stdexcept>

namespace meshpar::inline v0 {

// The four element types of a plan's precision.
template <class T, class G, class A, class M>
struct element_types {
  using param = T;
  using grad = G;
  using master = A;
  using moments = M;
};

// One rank of a run: a program, its memory, and the step. Types is an element_types; Gemm multiplies matrices.
template <class Types, class Gemm, class Comm>
class rank {
 public:
  using T = typename Types::param;
  using G = typename Types::grad;
  using A = typename Types::master;
  using M = typename Types::moments;
  using device = host<T, Gemm, Comm>;

  // `kinds` is what runs each kind of operation: a table of one's own can time or log every call, or, by extended(),
  // run operations of one's own.
  rank(const program& p, Comm& comm, std::span<const runner<device>> kinds = host_kinds::calls_of<device>)
      : rank(p, comm, arena(p.memory.height), kinds) {}

  // In an arena that is there already, such as one over a user's own memory: of at least p.memory.height bytes, from a
  // multiple of `alignment` on. What it holds is overwritten.
  rank(const program& p, Comm& comm, arena memory, std::span<const runner<device>> kinds = host_kinds::calls_of<device>)
      : what_(runnable(p)),
        number_(comm.rank()),
        device_{&comm, {.seed = p.task.seed}},
        memory_(roomy(std::move(memory), p, comm.rank())),
        executor_(p, device_, memory_, number_, kinds),
        optimizer_(p, device_, memory_, number_, executor_) {
    fill_constants();
    initialise();
  }
  rank(const rank&) = delete;

  int number() const { return number_; }
  const program& plan() const { return what_; }
  const arena& memory() const { return memory_; }
  arena& memory() { return memory_; }
  Comm& comm() { return *device_.comm; }
  executor<device>& calls() { return executor_; }
  step_state& now() { return device_.now; }

  T* parameters() { return at<T>(what_.memory.parameters); }
  const G* gradients() const { return at<G>(what_.memory.gradients); }

  // A parameter where it lies in the arena, by its full name (train/initial.hpp): the elements that this rank holds,
  // row-major and dense in its layout. Whoever writes `value` writes `master` too: the same address where there is no
  // master copy. The gradient is this rank's sum, with the ranks' after step().
  struct held_parameter {
    T* value;
    A* master;
    const G* gradient;
    const layout& shape;
    std::int64_t count;
  };
  held_parameter parameter(const std::string& name) {
    for (const parameter_entry& e : what_.parameters)
      for (int copy = 0; copy < e.copies; ++copy)
        if (full_name(what_, e, copy) == name) {
          const std::int64_t first = e.first + copy * e.stride;
          return {parameters() + first, at<A>(what_.memory.master) + first, gradients() + first, what_.shape(e),
                  e.count};
        }
    throw std::invalid_argument("no parameter is named '" + name + "': for_each_parameter tells the names");
  }

  // Sets every parameter, and its master copy, to value(full name, logical index).
  template <class Value>
  void set_parameters(Value value) {
    T* param = parameters();
    A* master = at<A>(what_.memory.master);
    kernels::fill(param, T{}, what_.elements());
    kernels::fill(master, A{}, what_.elements());
    for_each_parameter(
        what_, number_,
        [&](const parameter_entry& e, std::int64_t flat, const std::string& name, std::int64_t index, std::int64_t) {
          const double v = value(e, name, index);
          master[flat] = A(v);
          param[flat] = T(v);
        });
  }

  // One step over the global batch: ids(sample, position) and label(sample, position) are of global numbers, and a
  // label of -1 counts nothing. The loss and its gradient are divided by the number of labels, which ranks count in the
  // tokens that they hold.
  template <class Ids, class Labels>
  step_report step(std::uint64_t number, Ids ids, Labels label, const optimizer_settings& s) {
    const double labels = accumulate(number, ids, label);
    return optimizer_.step(loss_sum(), labels, s);
  }

  // The first part of a step: a forward and backward pass of every micro-batch. Gradients and loss_sum() are then sums
  // over this rank's tokens, the gradients' seed one over the labels of the global batch, which it returns.
  template <class Ids, class Labels>
  double accumulate(std::uint64_t number, Ids ids, Labels label) {
    const double labels = optimizer_.sum_over_tokens(count(label));
    if (labels == 0) throw std::invalid_argument("step " + std::to_string(number) + ": no token has a label");
    optimizer_.clear_gradients();
    scalars()[0] = 1 / labels;
    scalars()[1] = 0;
    device_.now.step = number;
    device_.comm->step(static_cast<long>(number));
    for (int i = 0; i < micro_batches(what_.task, what_.how); ++i) {
      load(i, ids, label);
      device_.comm->label("forward");
      executor_.forward();
      device_.comm->label("backward");
      executor_.backward();
    }
    return labels;
  }
  double loss_sum() const { return scalars()[1]; }
  double sum_of_losses(double mine) { return optimizer_.sum_of_losses(mine); }

  // The forward pass alone, without dropout, over one micro-batch; the loss is the sum over this rank's tokens.
  template <class Ids, class Labels>
  double evaluate(int micro_batch, Ids ids, Labels label) {
    scalars()[1] = 0;
    device_.now.training = false;
    load(micro_batch, ids, label);
    device_.comm->label("evaluation");
    executor_.forward();
    device_.now.training = true;
    return scalars()[1];
  }

 private:
  template <class X>
  X* at(const region& r) const {
    return reinterpret_cast<X*>(memory_.at(r.offset));
  }
  double* scalars() const { return at<double>(what_.memory.scalars); }

  static const program& runnable(const program& p) {
    if (p.refused()) throw std::logic_error(p.refusal().why.c_str());
    const precisions& has = p.how.precision;
    if (has.param != dtype_of<T> || has.grad != dtype_of<G> || has.master != dtype_of<A> || has.moments != dtype_of<M>)
      throw std::logic_error("the element types of this rank are not those of the plan's precision");
    return p;
  }
  static arena roomy(arena memory, const program& p, int number) {
    const std::string given = "rank " + std::to_string(number) + ": the memory given to it ";
    if (memory.size() < p.memory.height)
      throw std::invalid_argument(given + "has " + std::to_string(memory.size()) + " bytes, its program needs " +
                                  std::to_string(p.memory.height));
    if (const auto past = reinterpret_cast<std::uintptr_t>(memory.at(0)) % alignment; past != 0)
      throw std::invalid_argument(given + "starts " + std::to_string(past) + " bytes past a multiple of " +
                                  std::to_string(alignment) + "; align it to that");
    return memory;
  }
  void initialise() {
    set_parameters([this](const parameter_entry& e, const std::string& name, std::int64_t index) {
      return initial_value(what_, what_.declared(e), kernels::name_hash(name.c_str()), index);
    });
    for (const region& r : what_.memory.moments) kernels::fill(at<M>(r), M{}, what_.elements());
    optimizer_.clear_gradients();
  }
  void fill_constants() {
    for (int k = 0; k < block_kinds; ++k) {
      const tracer& t = what_.blocks[k];
      for (const record& r : t.records)
        if (r.op == &rotary_op::info) {
          using S = accumulator_t<T>;
          const std::int64_t at_byte =
              what_.memory.constants.offset + what_.constants_at(static_cast<block_kind>(k)) + t.values[r.in[1]].offset;
          S* table = reinterpret_cast<S*>(memory_.at(at_byte));
          kernels::rotary_tables(table, table + r.n[4] * r.n[2] / 2, r.n[4], r.n[2], r.a[0]);
        }
    }
  }
  // A token of the vocabulary, or a label of -1 (none). Anything else would be a row of zeros or a target that nobody
  // has.
  std::int32_t known(std::int32_t token, std::int32_t least, std::int64_t sample, std::int64_t position) const {
    if (token >= least && token < what_.what.vocab) return token;
    throw std::out_of_range("token " + std::to_string(token) + " (sample " + std::to_string(sample) + ", position " +
                            std::to_string(position) + ") is not in the vocabulary of " +
                            std::to_string(what_.what.vocab) + ": set vocab above the largest token");
  }
  // f(sample, position) for each token that this rank holds of a micro-batch, [seq, batch]. Both are global.
  template <class F>
  void for_each_token(int micro_batch, F f) const {
    const layout& l = what_.where.tokens;
    const std::int64_t first = first_sample(micro_batch);
    for (std::int64_t s = 0; s < l.dims[0].local; ++s)
      for (std::int64_t b = 0; b < l.dims[1].local; ++b)
        f(first + global_index(l.dims[1], what_.where.ranks, number_, b),
          global_index(l.dims[0], what_.where.ranks, number_, s));
  }
  std::int64_t first_sample(int micro_batch) const {
    return std::int64_t{micro_batch} * what_.where.tokens.global_size(1, what_.where.ranks);
  }
  // The labels of this rank's tokens.
  template <class Labels>
  double count(Labels label) const {
    double labels = 0;
    for (int i = 0; i < micro_batches(what_.task, what_.how); ++i)
      for_each_token(i, [&](std::int64_t sample, std::int64_t position) { labels += label(sample, position) >= 0; });
    return labels;
  }
  template <class Ids, class Labels>
  void load(int micro_batch, Ids ids, Labels label) {
    device_.now.first_sample = first_sample(micro_batch);
    auto* id_out = at<std::int32_t>(what_.memory.ids);
    auto* label_out = at<std::int32_t>(what_.memory.labels);
    for_each_token(micro_batch, [&](std::int64_t sample, std::int64_t position) {
      *id_out++ = known(ids(sample, position), 0, sample, position);
      *label_out++ = known(label(sample, position), -1, sample, position);
    });
  }

  const program& what_;
  int number_;
  device device_;
  arena memory_;
  executor<device> executor_;
  optimizer<T, G, A, M, device> optimizer_;
};

// Calls f(element_types<...>) with the types of a precision; false when no such combination is built.
template <class F>
bool with_element_types(const precisions& p, F f) {
  if (p == all_f32) return f(element_types<float, float, float, float>{}), true;
  if (p == all_f64) return f(element_types<double, double, double, double>{}), true;
  if (p == mixed_bf16) return f(element_types<bf16, float, float, float>{}), true;
  if (p == mixed_bf16_grads) return f(element_types<bf16, bf16, float, float>{}), true;
  return false;
}

}  // namespace meshpar::inline v0
