// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of sums, dims that do not follow each other, and tables, each beside its nearest correct neighbour.
#include <meshpar/ops/embedding.hpp>
#include <meshpar/ops/rotary.hpp>

#include <silent_operations.hpp>

namespace mp = meshpar;
namespace axes = mp::axes;
namespace dims = mp::dims;
using mp::R;

inline constexpr mp::dim<"width"> width;

// ---- (a + b)(c + d) is not ac + bd
struct mlp_weights {
  mp::param<dims::hidden, dims::ffn> up{"up"};
  mp::param<dims::ffn, dims::hidden> down{"down"};
};
struct square_of_a_sum : mlp_weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto u = mp::contract(dims::hidden, mp::to<R>(x, axes::tp), r[up]);
    const auto y = mp::contract(dims::ffn, u, r[down]);
    // told: &own::product_op::info, 'P', 'P', along::tp, fix::to_R_left
    const auto z = own::product(y, y);  // expect: product_of_two_partial_sums
    return mp::to_layout_of(x, z);
  }
};
struct square_of_the_whole : mlp_weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto u = mp::contract(dims::hidden, mp::to<R>(x, axes::tp), r[up]);
    const auto y = mp::to_layout_of(x, mp::contract(dims::ffn, u, r[down]));
    return own::product(y, y);
  }
};
static_assert(mp::check_layer<square_of_a_sum>());
static_assert(mp::check_layer<square_of_the_whole>());

// ---- two dims become one where they stand, or the elements change places
template <class Major, class Minor>
struct merge_op : own::shown_to_types {
  static constexpr mp::judged rule(const mp::layout& x, const mp::mesh& m) {
    return mp::typing::merge_dims(x, Major::name, Minor::name, width.name, m);
  }
};
template <class Major, class Minor>
constexpr auto merge(auto x, Major, Minor) {
  static_assert(decltype(mp::judge<merge_op<Major, Minor>>(x))::ok);
  return mp::apply(merge_op<Major, Minor>{}, 0, x);
}
struct head_weights {
  mp::param<dims::hidden, dims::heads, dims::head_dim> query{"query"};
  mp::param<dims::heads, dims::head_dim, dims::hidden> output{"output"};
};
struct merged_across : head_weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto q = mp::contract(dims::hidden, mp::to<R>(x, axes::tp), r[query]);
    const auto m = merge(q, dims::head_dim, dims::heads);  // expect: dimensions_not_adjacent
    return mp::to_layout_of(x, m);
  }
};
struct merged_in_place : head_weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto q = mp::contract(dims::hidden, mp::to<R>(x, axes::tp), r[query]);
    static_assert(decltype(merge(q, dims::heads, dims::head_dim))::shape().dims.size() == 3);
    return mp::to_layout_of(x, mp::contract(mp::over(dims::heads, dims::head_dim), q, r[output]));
  }
};
static_assert(mp::check_layer<merged_across>());
template <class Layer>
using typed = mp::layer_check<Layer, mp::layer_checks::with_sp<>>;
static_assert(typed<merged_in_place>::ok);

// ---- rotary positions turn features in pairs
struct turned_heads {
  mp::param<dims::hidden, dims::heads, dims::head_dim> query{"query"};
  mp::param<dims::heads, dims::head_dim, dims::hidden> output{"output"};
  constexpr auto forward(const auto& r, auto x) const {
    const auto q = mp::contract(dims::hidden, mp::to<R>(x, axes::tp), r[query]);
    // told: &rotary_op::info, 7, 2, fix::set_head_dim, 8
    const auto turned = mp::rotary(q, 10000);  // expect: dimension_must_be_even, 7
    return mp::to_layout_of(x, mp::contract(mp::over(dims::heads, dims::head_dim), turned, r[output]));
  }
};
constexpr mp::context with_head_dim(int size) {
  mp::model m = mp::layer_checks::sizes;
  m.head_dim = size;
  return mp::context_of(m, mp::layer_checks::work, {.dp = 2, .tp = 4, .sequence_parallel = true});
}
inline constexpr mp::context seven = with_head_dim(7), six = with_head_dim(6);
static_assert(mp::layer_check<turned_heads, seven>::ok);
static_assert(mp::layer_check<turned_heads, six>::ok);

// ---- a rank looks up its own ids only: where the table is cut over the same axis, rows of the others are missing
template <bool Whole>
struct lookup {
  mp::param<dims::vocab, dims::hidden> table{"table"};
  constexpr auto forward(const auto& r, auto x) const {
    const auto ids = own::labels(r);
    if constexpr (Whole) {
      return mp::to_layout_of(x, mp::embedding(r[table], ids));
    } else {
      const auto own_ids = mp::split(ids, dims::seq, axes::tp);
      // told: &embedding_op::info, 'S', 'S', along::tp, fix::to_R
      const auto rows = mp::embedding(r[table], own_ids);  // expect: indices_and_table_share_an_axis
      return mp::to_layout_of(x, rows);
    }
  }
};
static_assert(typed<lookup<false>>::ok);
static_assert(typed<lookup<true>>::ok);
