// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/config/plan.hpp>
#include <meshpar/core/require.hpp>
#include <meshpar/mesh/of_plan.hpp>
#include <meshpar/ops/context.hpp>

namespace meshpar::inline v0 {

// `size<width, 8>` among the parts of a decoder gives a dim of the user's own its size, whole on every rank;
// `size<width, 8, axes::tp>` splits it over tp.
template <auto Dim, std::int64_t Size, auto... By>
struct size {
  static constexpr placed_dim placement{Dim, Size, Size, (axis_set{} | ... | whole_axis(By))};
};
using own_dims = fixed_vector<placed_dim, 8>;

// The sizes among the parts of a decoder.
template <class Part>
constexpr void take_size([[maybe_unused]] own_dims& own) {
  if constexpr (requires { Part::placement; }) own.push_back(Part::placement);
}
template <class... Parts>
constexpr own_dims own_dims_among() {
  own_dims own;
  (take_size<Parts>(own), ...);
  return own;
}

// What a plan makes of a model's dims. Here and nowhere else is said what tensor and sequence parallelism split: tp
// splits the width of the MLP, heads and the vocabulary; KV heads over the part of tp that they can fill; and, with
// sequence parallelism, the positions of the residual stream between blocks.
constexpr context context_of(const model& m, const job& j, const plan& p, const own_dims& own = own_dims()) {
  context c;
  c.ranks = mesh_of(m, p);
  const axis_set tp = whole_axis(axes::tp) & c.ranks.all();
  const axis_set kv = kv_replicas(m, p) < p.tp ? axis_set(axes::tp) & c.ranks.all() : axis_set{};
  const int vocab = padded_vocab(m, p);
  const placed_dim placement[] = {
      {dims::hidden, m.hidden, m.hidden, {}},
      {dims::ffn, m.ffn, m.ffn, tp},
      {dims::heads, m.heads, m.heads, tp},
      {dims::kv_heads, kv_heads_of(m), kv_heads_of(m), kv},
      {dims::head_dim, head_dim_of(m), head_dim_of(m), {}},
      {dims::vocab, vocab, m.vocab, tp},
      {dims::positions, m.seq, m.seq, {}},
  };
  for (const placed_dim& d : placement) c.placement.push_back(d);
  for (const placed_dim& d : own) c.placement.push_back({d.name, d.size, d.logical, d.by & c.ranks.all()});

  const order how = p.zigzag ? order::zigzag : order::contiguous;
  const split_dim batch = make_dim(dims::batch, std::int64_t{j.micro_batch} * p.dp, c.ranks, axes::dp);
  c.tokens = make_layout(make_dim(dims::seq, m.seq, c.ranks, axes::cp, how), batch);
  c.stream =
      make_layout(make_dim(dims::seq, m.seq, c.ranks, p.sequence_parallel ? axes::cp | tp : axis_set(axes::cp), how),
                  batch, make_dim(dims::hidden, m.hidden, c.ranks));
  if (!p.sequence_parallel) c.stream = with_invariant(c.stream, tp, c.ranks);
  c.compute = p.precision.param;
  c.grad = p.precision.grad;
  c.reduce = p.precision.reduce;
  return c;
}

// The sizes among the parts of a decoder, each of a dim that has no other: of two sizes one would be ignored.
template <class... Parts>
struct sizes_of_own_dims {
  static constexpr bool is_placed(dim_name d) {
    const context ours = context_of({}, {}, {});
    return ours.find(d) != nullptr || ours.stream.find(d) >= 0;
  }
  static constexpr verdict judge() {
    own_dims before;
    for (const placed_dim& d : own_dims_among<Parts...>()) {
      text t;
      t << "size<" << name_of(d.name) << ", " << static_cast<long>(d.size) << ">: ";
      if (is_placed(d.name))
        return {.broken = rule::dimension_appears_twice,
                .left = d.size,
                .why = t << "model, job and plan say how large " << name_of(d.name)
                         << " is; set it there, or take another dim",
                .remedy = fix::name_another_dimension};
      for (const placed_dim& other : before)
        if (other.name == d.name)
          return {.broken = rule::dimension_appears_twice,
                  .left = d.size,
                  .right = other.size,
                  .why = t << "another size makes it " << static_cast<long>(other.size) << "; leave one of them out",
                  .remedy = fix::leave_one_out};
      before.push_back(d);
    }
    return {};
  }
  static constexpr verdict result = judge();
};
template <class... Parts>
struct own_sizes {
  static constexpr own_dims all = own_dims_among<Parts...>();
  static_assert(decltype(ruling<sizes_of_own_dims<Parts...>>())::ok);
};

}  // namespace meshpar::inline v0
