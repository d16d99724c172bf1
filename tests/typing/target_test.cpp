// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/typing/typing.hpp>

#include <doctest/doctest.h>

#include <initializer_list>

using namespace meshpar;
namespace ty = meshpar::typing;
using enum ty::collective;

namespace {

constexpr mesh m{extent{axes::dp, 2}, extent{axes::tp, 2}, extent{axes::kv_rep, 2}};
constexpr axis_set tp = whole_axis(axes::tp);
constexpr split_dim batch = make_dim(dims::batch, 8, m, axes::dp), hidden = make_dim(dims::hidden, 32, m);
constexpr layout split_seq = make_layout(make_dim(dims::seq, 64, m, tp), batch, hidden);
constexpr layout whole = make_layout(make_dim(dims::seq, 64, m), batch, hidden);

// A block with sequence parallelism: gather, column, row, scatter. Both parts of tp move in one collective.
static_assert(ty::replicate(split_seq, tp, m) == whole);
static_assert(ty::transition(split_seq, whole, m).kind == all_gather);
static_assert(ty::transition(split_seq, whole, m).along == tp && ty::transition(split_seq, whole, m).from_dim == 0);
constexpr layout up = make_layout(hidden, make_dim(dims::ffn, 128, m, tp));
constexpr layout down = make_layout(make_dim(dims::ffn, 128, m, tp), hidden);
constexpr judged h = ty::contract(whole, up, ty::over{{dims::hidden}, 1});
constexpr judged y = ty::contract(ty::nonlinear(h.out, "gelu").out, down, ty::over{{dims::ffn}, 1});
static_assert(y.out == with_owed(whole, tp, m));
static_assert(ty::transition(y.out, ty::like(y.out, split_seq), m).kind == reduce_scatter);
// Without it: Megatron's f and g.
constexpr layout duplicated = ty::invariant(whole, tp, m);
static_assert(ty::transition(duplicated, whole, m).kind == none);
static_assert(ty::transition(dual(whole, m), dual(duplicated, m), m).kind == all_reduce);
static_assert(ty::transition(y.out, duplicated, m).kind == all_reduce);
static_assert(ty::transition(dual(duplicated, m), dual(y.out, m), m).kind == none);

}  // namespace

TEST_CASE("targets take what the mesh has and leave the rest") {
  CHECK(ty::replicate(whole, axes::cp, m) == whole);
  CHECK(ty::invariant(whole, axes::cp, m) == whole);
  CHECK(ty::owed(whole, tp, m).owed == tp);
  CHECK(ty::invariant(y.out, tp, m) == duplicated);
  CHECK(ty::split(whole, dims::seq, tp, m).out == split_seq);
  CHECK(ty::split(y.out, dims::seq, tp, m).out == split_seq);
  CHECK(ty::split(split_seq, dims::seq, tp, m).out == split_seq);
  CHECK(ty::split(whole, dims::seq, axes::cp, m).out == whole);
  CHECK(name_of(ty::split(split_seq, dims::hidden, tp, m).out) == "[seq 64, batch 4/dp, hidden 8/tp]");
  CHECK(ty::split(whole, dims::vocab, tp, m).no.broken == rule::dimension_missing);
  const mesh wide{extent{axes::tp, 6}};
  CHECK(ty::split(make_layout(make_dim(dims::seq, 64, wide)), dims::seq, axes::tp, wide).no.repair == 4);
}

TEST_CASE("bytes of a ring") {
  const auto sent = [](ty::collective kind, std::int64_t bytes, axis_set along, std::int64_t element) {
    return ty::bytes_sent({kind, along, 0, 0, {}}, bytes, m, element);
  };
  CHECK(sent(all_gather, 100, tp, 4) == 300);
  CHECK(sent(reduce_scatter, 400, tp, 4) == 300);
  CHECK(sent(all_reduce, 400, tp, 4) == 600);
  CHECK(sent(all_to_all, 400, tp, 4) == 300);
  for (const ty::collective free : {none, slice, zero_pad, keep_first}) CHECK(sent(free, 400, tp, 4) == 0);
  CHECK(sent(all_reduce, 400, axes::cp, 4) == 0);
  // Ten elements on four ranks: chunks of 3, 3, 2, 2.
  std::int64_t total = 0, most = 0;
  for (int position = 0; position < 4; ++position) {
    const std::int64_t one = ty::bytes_sent_by(position, {all_reduce, tp, -1, -1, {}}, 80, m, 8);
    total += one, most = one > most ? one : most;
  }
  CHECK(total == 2 * 3 * 80);
  CHECK(sent(all_reduce, 80, tp, 8) == most);
  CHECK(most == 8 * (20 - 2 - 2));
  CHECK(sent(all_reduce, 88, tp, 8) == 8 * (22 - 3 - 2));  // chunks of 3, 3, 3, 2: no rank spares the 2 twice
  CHECK(sent(all_reduce, 8, tp, 8) == 16);
}

TEST_CASE("the most that a rank sends is what bytes_sent says") {
  for (const axis_set along : {axis_set(axes::dp), tp, m.all()})
    for (std::int64_t elements = 0; elements < 40; ++elements) {
      const ty::move t{all_reduce, along, -1, -1, {}};
      std::int64_t most = 0;
      for (int p = 0; p < m.size(along); ++p) {
        const std::int64_t one = ty::bytes_sent_by(p, t, elements * 4, m, 4);
        most = one > most ? one : most;
      }
      CHECK(ty::bytes_sent(t, elements * 4, m, 4) == most);
    }
}

TEST_CASE("each part of a fused weight is its own contraction") {
  const fused qkv{make_dim(dims::heads, 8, m, tp), make_dim(dims::kv_heads, 2, m, axes::tp),
                  make_dim(dims::kv_heads, 2, m, axes::tp)};
  const layout rows = make_layout(hidden);
  const ty::over k{{dims::hidden}, 1};
  CHECK(name_of(ty::contract_part(whole, rows, qkv, 0, k).out) == "[seq 64, batch 4/dp, heads 2/tp]");
  CHECK(name_of(ty::contract_part(whole, rows, qkv, 2, k).out) == "[seq 64, batch 4/dp, kv_heads 1/tp]");
  CHECK_FALSE(ty::contract_part(split_seq, rows, qkv, 0, k).holds());
}
