// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layers of a user with one mistake each in the states of a tensor, each beside its nearest correct neighbour.
#include <meshpar/nn/check_layer.hpp>
#include <meshpar/ops/activation.hpp>
#include <meshpar/ops/contract.hpp>
#include <meshpar/ops/norm.hpp>
#include <meshpar/ops/sum.hpp>

namespace mp = meshpar;
namespace axes = mp::axes;
namespace dims = mp::dims;
using mp::R;

struct weights {
  mp::param<dims::hidden, dims::ffn> up{"up"};
  mp::param<dims::ffn, dims::hidden> down{"down"};
  mp::param<dims::hidden, dims::head_dim> narrow{"narrow"};
  mp::param<dims::head_dim, dims::hidden> widen{"widen"};
  mp::param<dims::hidden> shift{"shift"};
};

// ---- a nonlinear function of a sum that is still owed
struct activation_before_the_sum : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::to<R>(x, axes::tp);
    const auto y = mp::contract(dims::ffn, mp::contract(dims::hidden, h, r[up]), r[down]);
    // told: &activation_op::info, 'P', along::tp, fix::to_R
    const auto z = mp::gelu(y);  // expect: partial_sum_in_a_nonlinearity
    return mp::to_layout_of(x, z);
  }
};
struct activation_after_the_sum : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::to<R>(x, axes::tp);
    const auto y = mp::contract(dims::ffn, mp::contract(dims::hidden, h, r[up]), r[down]);
    return mp::gelu(mp::to_layout_of(x, y));
  }
};
static_assert(mp::check_layer<activation_before_the_sum>());
static_assert(mp::check_layer<activation_after_the_sum>());

// ---- the rows of a matrix split over tp, then ReLU
struct rows_then_relu : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::to<R>(x, axes::tp);
    const auto rows = mp::split(r[narrow], dims::hidden, axes::tp);
    const auto y = mp::contract(dims::hidden, mp::split(h, dims::hidden, axes::tp), rows);
    // told: &activation_op::info, 'P', along::tp, fix::to_R
    const auto z = mp::relu(y);  // expect: partial_sum_in_a_nonlinearity
    return mp::to_layout_of(x, mp::contract(dims::head_dim, z, r[widen]));
  }
};
struct rows_summed_then_relu : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::to<R>(x, axes::tp);
    const auto rows = mp::split(r[narrow], dims::hidden, axes::tp);
    const auto y = mp::contract(dims::hidden, mp::split(h, dims::hidden, axes::tp), rows);
    const auto z = mp::relu(mp::to<R>(y, axes::tp));
    return mp::to_layout_of(x, mp::contract(dims::head_dim, z, r[widen]));
  }
};
static_assert(mp::check_layer<rows_then_relu>());
static_assert(mp::check_layer<rows_summed_then_relu>());

// ---- the forgotten to<R>: under sequence parallelism tp splits seq and ffn, without it I meets R
struct forgotten_gather : weights {
  constexpr auto forward(const auto& r, auto x) const {
    // told: &contract_op::info, 'S', 'S', along::tp, fix::to_R_left
    const auto u = mp::gelu(mp::contract(dims::hidden, x, r[up]));  // expect: axis_on_two_dimensions
    return mp::to_layout_of(x, mp::contract(dims::ffn, u, r[down]));
  }
};
struct with_the_gather : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto u = mp::gelu(mp::contract(dims::hidden, mp::to<R>(x, axes::tp), r[up]));
    return mp::to_layout_of(x, mp::contract(dims::ffn, u, r[down]));
  }
};
static_assert(mp::check_layer<forgotten_gather>());
static_assert(mp::check_layer<with_the_gather>());

// ---- a replicated parameter beside an invariant stream: its gradient would be summed over copies of the same work
struct replicated_beside_invariant : weights {
  constexpr auto forward(const auto& r, auto x) const {
    // told: &bias_op::info, 'I', 'R', along::tp, fix::to_R_left
    return mp::bias(x, r[shift]);  // expect: invariant_mixed
  }
};
struct invariant_beside_invariant : weights {
  constexpr auto forward(const auto& r, auto x) const { return mp::bias(x, r(shift, x)); }
};
static_assert(mp::check_layer<replicated_beside_invariant>());
static_assert(mp::check_layer<invariant_beside_invariant>());

struct replicated_gain : weights {
  constexpr auto forward(const auto& r, auto x) const {
    // told: &rms_norm_kind::info, 'I', 'R', along::tp, fix::to_R_left
    return mp::rms_norm(dims::hidden, x, r[shift], 1e-5);  // expect: invariant_mixed
  }
};
struct invariant_gain : weights {
  constexpr auto forward(const auto& r, auto x) const { return mp::rms_norm(dims::hidden, x, r(shift, x), 1e-5); }
};
static_assert(mp::check_layer<replicated_gain>());
static_assert(mp::check_layer<invariant_gain>());

// ---- a bias added before the sum is added once per rank
struct bias_before_the_sum : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto u = mp::gelu(mp::contract(dims::hidden, mp::to<R>(x, axes::tp), r[up]));
    const auto y = mp::contract(dims::ffn, u, r[down]);
    // told: &bias_op::info, 'P', 'R', along::tp, fix::to_R_left
    const auto z = mp::bias(y, r[shift]);  // expect: sum_of_unlike_states
    return mp::to_layout_of(x, z);
  }
};
struct bias_after_the_sum : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto u = mp::gelu(mp::contract(dims::hidden, mp::to<R>(x, axes::tp), r[up]));
    const auto y = mp::to_layout_of(x, mp::contract(dims::ffn, u, r[down]));
    return mp::bias(y, r(shift, y));
  }
};
static_assert(mp::check_layer<bias_before_the_sum>());
static_assert(mp::check_layer<bias_after_the_sum>());

// ---- so is any other whole tensor
struct whole_plus_partial : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::to<R>(x, axes::tp);
    const auto y = mp::contract(dims::ffn, mp::contract(dims::hidden, h, r[up]), r[down]);
    // told: &sum_op::info, 'P', 'R', along::tp, fix::to_R_left
    const auto z = mp::sum(y, h);  // expect: sum_of_unlike_states
    return mp::to_layout_of(x, z);
  }
};
struct partial_plus_partial : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::to<R>(x, axes::tp);
    const auto y = mp::contract(dims::ffn, mp::contract(dims::hidden, h, r[up]), r[down]);
    return mp::to_layout_of(x, mp::sum(y, y));
  }
};
static_assert(mp::check_layer<whole_plus_partial>());
static_assert(mp::check_layer<partial_plus_partial>());

// ---- a partial sum multiplies only what is replicated
struct partial_times_split : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::to<R>(x, axes::tp);
    const auto y = mp::contract(dims::ffn, mp::contract(dims::hidden, h, r[up]), r[down]);
    // told: &contract_op::info, 'P', 'S', along::tp, fix::to_R_left
    const auto u = mp::contract(dims::hidden, y, r[up]);  // expect: partial_sum_meets_a_split
    return mp::to_layout_of(x, mp::contract(dims::ffn, u, r[down]));
  }
};
struct partial_times_whole : weights {
  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::to<R>(x, axes::tp);
    const auto y = mp::contract(dims::ffn, mp::contract(dims::hidden, h, r[up]), r[down]);
    const auto u = mp::contract(dims::hidden, y, r[narrow]);
    return mp::to_layout_of(x, mp::contract(dims::head_dim, u, r[widen]));
  }
};
static_assert(mp::check_layer<partial_times_split>());
static_assert(mp::check_layer<partial_times_whole>());

// ---- the result of a layer joins the residual stream
struct sum_left_owed : weights {
  constexpr auto forward(const auto& r, auto x) const {
    return mp::contract(dims::ffn, mp::contract(dims::hidden, mp::to<R>(x, axes::tp), r[up]), r[down]);
  }
};
struct sum_paid : weights {
  constexpr auto forward(const auto& r, auto x) const { return mp::to_layout_of(x, sum_left_owed{}.forward(r, x)); }
};
// told: 'P', 'S', along::tp, fix::to_layout_of
static_assert(mp::check_layer<sum_left_owed>());  // expect: not_one_collective
static_assert(mp::check_layer<sum_paid>());
