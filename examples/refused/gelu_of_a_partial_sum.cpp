// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Refused: the plan splits ffn over tp, so the product over it owes a sum, and gelu of a part of a sum is not the gelu.
#include <meshpar/meshpar.hpp>

namespace mp = meshpar;
using namespace mp::names;

struct mlp {
  mp::param<dims::hidden, dims::ffn> up{"up"};
  mp::param<dims::ffn, dims::hidden> down{"down"};

  constexpr auto forward(const auto& r, auto x) const {
    auto h = mp::to<mp::R>(x, axes::tp);
    auto y = mp::contract(dims::ffn, mp::contract(dims::hidden, h, r[up]), r[down]);
    return mp::to_layout_of(x, mp::gelu(y));
  }
};

inline constexpr mp::model tiny{.layers = 4, .hidden = 64, .heads = 4, .ffn = 128, .vocab = 256, .seq = 64};
inline constexpr mp::job batch16{.global_batch = 16, .micro_batch = 2};
inline constexpr mp::plan eight{.dp = 2, .tp = 4, .sequence_parallel = true};

using net = mp::decoder<tiny, batch16, eight, mp::replace<mp::mlp, mlp>>;
static_assert(sizeof(net) > 0);
