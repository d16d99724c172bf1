// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/nn/check_layer.hpp>
#include <meshpar/ops/activation.hpp>
#include <meshpar/ops/contract.hpp>
#include <meshpar/ops/norm.hpp>
#include <meshpar/ops/sum.hpp>

namespace mp = meshpar;
namespace axes = mp::axes;
namespace dims = mp::dims;
using mp::R;

inline constexpr mp::dim<"odd"> odd;

// expect: partial_sum_in_a_nonlinearity, tp
// expect: dimension_missing
// expect: sum_of_unlike_states, tp
// expect: dimension_must_be_whole, 22, tp
// expect: split_does_not_divide, 5, 4
struct five_mistakes {
  mp::param<dims::hidden, dims::ffn> up{"up"};
  mp::param<dims::ffn, dims::hidden> down{"down"};
  mp::param<dims::hidden, odd> narrow{"narrow"};
  mp::param<dims::hidden> gain{"gain"};
  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::to<R>(x, axes::tp);
    const auto y = mp::contract(dims::ffn, mp::contract(dims::hidden, h, r[up]), r[down]);
    const auto a = mp::gelu(y);
    const auto b = mp::contract(dims::ffn, h, r[up]);
    const auto c = mp::bias(y, r[gain]);
    const auto g = mp::split(r[gain], dims::hidden, axes::tp);
    const auto d = mp::rms_norm(dims::hidden, mp::split(h, dims::hidden, axes::tp), g, 1e-5);
    const auto e = mp::split(mp::contract(dims::hidden, h, r[narrow]), odd, axes::tp);
    return mp::sum(mp::sum(mp::sum(a, b), mp::sum(c, d)), e);
  }
};
static_assert(mp::check_layer<five_mistakes, mp::size<odd, 5>>());
