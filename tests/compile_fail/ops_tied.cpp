// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A model whose two ends declare one parameter, with other dims and with the same.
#include <meshpar/nn/decoder.hpp>

namespace mp = meshpar;
namespace axes = mp::axes;
namespace dims = mp::dims;
using mp::R;

template <class Table>
struct head {
  Table table{"embedding"};
  constexpr auto forward(const auto& r, auto x, auto labels) const {
    return mp::cross_entropy(mp::contract(dims::hidden, mp::to<R>(x, axes::tp), r[table]), labels, 0);
  }
};
template <class Table>
struct with_head : mp::stack<> {
  using mp::stack<>::stack;
  constexpr void trace(mp::tracer& t, mp::block_kind kind) const {
    if (kind == mp::block_kind::last) mp::trace_last(t, head<Table>{});
    else mp::stack<>::trace(t, kind);
  }
};
template <class Table>
struct net {
  static constexpr mp::model what{.layers = 1, .hidden = 16, .heads = 4, .ffn = 32, .vocab = 24, .seq = 8};
  static constexpr mp::job task{.global_batch = 1};
  static constexpr mp::plan how{.tp = 2};
  using layers = with_head<Table>;
  static constexpr layers make_layers() { return layers(what, task); }
};
template <class Net>
struct traced {
  static constexpr mp::verdict result = mp::trace_verdict<Net>;
};
using turned = net<mp::param<dims::hidden, dims::vocab>>;
using alike = net<mp::param<dims::vocab, dims::hidden>>;

// told: fix::declare_it_alike
static_assert(mp::require<traced<turned>>::ok);  // expect: tied_parameters_placed_alike
static_assert(mp::require<traced<alike>>::ok);
