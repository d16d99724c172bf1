// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layers that each operation accepts and a program does not, each beside its nearest correct neighbour.
#include <meshpar/nn/check_layer.hpp>
#include <meshpar/ops/activation.hpp>
#include <meshpar/ops/contract.hpp>

namespace mp = meshpar;
namespace axes = mp::axes;
namespace dims = mp::dims;
using mp::R;

// ---- one block holds its records in a fixed array
template <int Times>
struct repeated {
  constexpr auto forward(const auto&, auto x) const {
    auto y = x;
    for (int i = 0; i < Times; ++i) y = mp::relu(y);
    return y;
  }
};
// told: 145, 144, fix::make_two_layers
static_assert(mp::check_layer<repeated<200>>());  // expect: block_fits_the_trace
static_assert(mp::check_layer<repeated<20>>());

// ---- a file knows a parameter by its name
template <bool Twice>
struct named {
  mp::param<dims::hidden, dims::ffn> up{"weight"};
  mp::param<dims::ffn, dims::hidden> down{Twice ? "weight" : "down"};
  constexpr auto forward(const auto& r, auto x) const {
    const auto u = mp::gelu(mp::contract(dims::hidden, mp::to<R>(x, axes::tp), r[up]));
    return mp::to_layout_of(x, mp::contract(dims::ffn, u, r[down]));
  }
};
// told: fix::name_each_parameter
static_assert(mp::check_layer<named<true>>());  // expect: parameter_named_twice
static_assert(mp::check_layer<named<false>>());
