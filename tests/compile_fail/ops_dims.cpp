// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layers of a user with one mistake each in dims and their splits, each beside its nearest correct neighbour.
#include <meshpar/nn/check_layer.hpp>
#include <meshpar/ops/activation.hpp>
#include <meshpar/ops/attention.hpp>
#include <meshpar/ops/contract.hpp>
#include <meshpar/ops/norm.hpp>

namespace mp = meshpar;
namespace axes = mp::axes;
namespace dims = mp::dims;
using mp::R;

inline constexpr mp::dim<"width"> width;  // no plan knows its size

struct weights {
  mp::param<dims::hidden, dims::ffn> up{"up"};
  mp::param<dims::hidden, dims::ffn> gate{"gate"};
  mp::param<dims::ffn, dims::hidden> down{"down"};
  mp::param<dims::hidden, dims::head_dim> narrow{"narrow"};
  mp::param<dims::head_dim, dims::hidden> widen{"widen"};
  mp::param<dims::hidden> gain{"gain"};
  mp::param<dims::hidden, width> unknown{"unknown"};
};

// ---- both operands must hold the contracted dim alike
struct split_against_whole : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto u = mp::gelu(mp::contract(dims::hidden, mp::to<R>(x, axes::tp), r[up]));
    const auto whole = mp::to<R>(r[down], axes::tp);
    // told: &contract_op::info, 'S', 'R', along::tp, fix::to_R_left
    const auto y = mp::contract(dims::ffn, u, whole);  // expect: dimension_split_differently
    return mp::to_layout_of(x, y);
  }
};
struct whole_against_whole : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto u = mp::gelu(mp::contract(dims::hidden, mp::to<R>(x, axes::tp), r[up]));
    const auto whole = mp::to<R>(r[down], axes::tp);
    const auto y = mp::contract(dims::ffn, mp::to<R>(u, axes::tp), whole);
    return mp::to_layout_of(x, y);
  }
};
static_assert(mp::check_layer<split_against_whole>());
static_assert(mp::check_layer<whole_against_whole>());

// ---- and so must the operands of an elementwise product
struct gate_split_otherwise : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::to<R>(x, axes::tp);
    const auto g = mp::contract(dims::hidden, h, mp::to<R>(r[gate], axes::tp));
    // told: &swiglu_op::info, 'R', 'S', along::tp, fix::to_R_right
    const auto u = mp::swiglu(g, mp::contract(dims::hidden, h, r[up]));  // expect: dimension_split_differently
    return mp::to_layout_of(x, mp::contract(dims::ffn, u, r[down]));
  }
};
struct gate_split_alike : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::to<R>(x, axes::tp);
    const auto u = mp::swiglu(mp::contract(dims::hidden, h, r[gate]), mp::contract(dims::hidden, h, r[up]));
    return mp::to_layout_of(x, mp::contract(dims::ffn, u, r[down]));
  }
};
static_assert(mp::check_layer<gate_split_otherwise>());
static_assert(mp::check_layer<gate_split_alike>());

// ---- a contraction over a dim that an operand lacks
struct wrong_dim : weights {
  constexpr auto forward(const auto& r, auto x) const {
    // told: &contract_op::info, fix::name_another_dimension
    const auto u = mp::contract(dims::ffn, mp::to<R>(x, axes::tp), r[up]);  // expect: dimension_missing
    return mp::to_layout_of(x, mp::contract(dims::ffn, mp::gelu(u), r[down]));
  }
};
static_assert(mp::check_layer<wrong_dim>());

// ---- a parameter over a dim of no known size
struct unknown_dim : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::to<R>(x, axes::tp);
    // told: fix::give_it_a_size
    const auto w = r[unknown];  // expect: dimension_missing
    const auto u = mp::contract(dims::hidden, h, w);
    return mp::to_layout_of(x, mp::contract(width, u, r[widen]));
  }
};
struct known_dim : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto u = mp::contract(dims::hidden, mp::to<R>(x, axes::tp), r[narrow]);
    return mp::to_layout_of(x, mp::contract(dims::head_dim, u, r[widen]));
  }
};
static_assert(mp::check_layer<unknown_dim>());
static_assert(mp::check_layer<known_dim>());

// ---- a norm needs its dim whole
struct norm_of_split_hidden : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::split(mp::to<R>(x, axes::tp), dims::hidden, axes::tp);
    const auto g = mp::split(r[gain], dims::hidden, axes::tp);
    // told: &rms_norm_kind::info, 22, 0, 'S', along::tp, fix::to_R
    const auto y = mp::rms_norm(dims::hidden, h, g, 1e-5);  // expect: dimension_must_be_whole
    return mp::to_layout_of(x, mp::to<R>(y, axes::tp));
  }
};
struct norm_of_whole_hidden : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::split(mp::to<R>(x, axes::tp), dims::hidden, axes::tp);
    const auto y = mp::rms_norm(dims::hidden, mp::to<R>(h, axes::tp), r[gain], 1e-5);
    return mp::to_layout_of(x, y);
  }
};
static_assert(mp::check_layer<norm_of_split_hidden>());
static_assert(mp::check_layer<norm_of_whole_hidden>());

// ---- only the last axes of a split can be gathered
struct gather_of_the_first_axis : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto w = mp::split(r[down], dims::ffn, axes::dp);  // ffn over tp, then dp
    // told: &to_op::info, 'S', 'S', along::dp, fix::to_R
    const auto g = mp::to<R>(w, axes::tp);  // expect: only_a_suffix_can_be_gathered
    const auto u = mp::contract(dims::hidden, mp::to<R>(x, axes::tp), r[up]);
    return mp::to_layout_of(x, mp::contract(dims::ffn, u, g));
  }
};
struct gather_of_the_last_axis : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto w = mp::split(r[down], dims::ffn, axes::dp);
    const auto g = mp::to<R>(w, axes::dp);
    const auto u = mp::contract(dims::hidden, mp::to<R>(x, axes::tp), r[up]);
    return mp::to_layout_of(x, mp::contract(dims::ffn, u, g));
  }
};
static_assert(mp::check_layer<gather_of_the_first_axis>());
static_assert(mp::check_layer<gather_of_the_last_axis>());

// ---- one `to`, one collective
struct two_moves_at_once : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto all = mp::to<R>(mp::to<R>(x, axes::tp), axes::dp);
    const auto y = mp::contract(dims::ffn, mp::contract(dims::hidden, all, r[up]), r[down]);
    // told: &to_op::info, 'R', 'S', along::dp, fix::one_axis_at_a_time
    return mp::to_layout_of(x, y);  // expect: not_one_collective
  }
};
struct one_move_after_the_other : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto all = mp::to<R>(mp::to<R>(x, axes::tp), axes::dp);
    const auto y = mp::contract(dims::ffn, mp::contract(dims::hidden, all, r[up]), r[down]);
    return mp::to_layout_of(x, mp::split(y, dims::batch, axes::dp));
  }
};
static_assert(mp::check_layer<two_moves_at_once>());
static_assert(mp::check_layer<one_move_after_the_other>());

// ---- a dim that the axis does not divide
struct indivisible_split : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto u = mp::contract(dims::hidden, mp::to<R>(x, axes::tp), r[unknown]);
    // told: &to_op::info, 10, 4, along::tp, fix::set_extent, 2
    const auto s = mp::split(u, width, axes::tp);  // expect: split_does_not_divide
    return mp::to_layout_of(x, mp::to<R>(mp::gelu(s), axes::tp));
  }
};
struct divisible_split : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::to<R>(x, axes::tp);
    const auto s = mp::split(h, dims::hidden, axes::tp);
    return mp::to_layout_of(x, mp::to<R>(s, axes::tp));
  }
};
struct divisible_splits : weights {  // a layer may split what the model's own sizes let it
  constexpr auto forward(const auto& r, auto x) const {
    const auto samples = mp::split(mp::to<R>(x, axes::tp), dims::batch, axes::tp);
    const auto u = mp::to<R>(mp::gelu(mp::contract(dims::hidden, samples, r[narrow])), axes::tp);
    const auto s = mp::split(u, dims::head_dim, axes::tp);
    return mp::to_layout_of(x, mp::contract(dims::head_dim, s, mp::split(r[widen], dims::head_dim, axes::tp)));
  }
};
static_assert(mp::check_layer<indivisible_split, mp::size<width, 10>>());
static_assert(mp::check_layer<divisible_split>());
static_assert(mp::check_layer<divisible_splits>());

// ---- each query head finds its KV head on its own rank
struct heads : weights {
  mp::param<dims::hidden, dims::heads, dims::head_dim> query{"query"};
  mp::param<dims::hidden, dims::kv_heads, dims::head_dim> key{"key"};
  mp::param<dims::heads, dims::head_dim, dims::hidden> output{"output"};
};
struct keys_on_every_rank : heads {
  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::to<R>(x, axes::tp);
    const auto q = mp::contract(dims::hidden, h, r[query]);
    const auto k = mp::to<R>(mp::contract(dims::hidden, h, r[key]), axes::tp);
    // told: &attention_op::info, 2, 2, 'S', 'R', along::tp, fix::split_further
    const auto o = mp::attention(q, k, k, 0);  // expect: heads_and_kv_heads_disagree
    return mp::to_layout_of(x, mp::contract(mp::over(dims::heads, dims::head_dim), o, r[output]));
  }
};
struct keys_beside_their_queries : heads {
  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::to<R>(x, axes::tp);
    const auto q = mp::contract(dims::hidden, h, r[query]);
    const auto k = mp::contract(dims::hidden, h, r[key]);
    const auto o = mp::attention(q, k, k, 0);
    return mp::to_layout_of(x, mp::contract(mp::over(dims::heads, dims::head_dim), o, r[output]));
  }
};
static_assert(mp::check_layer<keys_on_every_rank>());
static_assert(mp::check_layer<keys_beside_their_queries>());
