// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The smallest whole program: a layer, a model, a plan, and eight ranks that train on a text.
//   hello_plan FILE
#include <meshpar/meshpar.hpp>

#include <cstdio>
#include <stdexcept>

namespace mp = meshpar;
using namespace mp::names;

struct mlp {  // a layer: parameters, then forward
  mp::param<dims::hidden, dims::ffn> up{"up"};
  mp::param<dims::ffn, dims::hidden> down{"down"};

  constexpr auto forward(const auto& r, auto x) const {
    auto h = mp::to<mp::R>(x, axes::tp);
    auto y = mp::contract(dims::ffn, mp::gelu(mp::contract(dims::hidden, h, r[up])), r[down]);
    return mp::to_layout_of(x, y);
  }
};

inline constexpr mp::model tiny{.layers = 4, .hidden = 64, .heads = 4, .ffn = 128, .vocab = 256, .seq = 64};
inline constexpr mp::job batch16{.global_batch = 16, .micro_batch = 2};
inline constexpr mp::plan eight{.dp = 2, .tp = 4, .sequence_parallel = true};

using net = mp::decoder<tiny, batch16, eight, mp::replace<mp::mlp, mlp>>;
static_assert(mp::fits<net, mp::h200>);
static_assert(mp::cost_of<net>.forward.count(mp::collective::all_gather, axes::tp) == 2 * tiny.layers + 1);

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw std::runtime_error("give one argument, a text: hello_plan FILE");
    const auto text = mp::read_text(argv[1]);
    mp::launch<net>([&](auto& rank) {
      mp::trainer trainer(rank, text);
      trainer.run({.steps = 50, .learning_rate = 3e-3}, [&](const mp::trained_step& step) {
        if (rank.number() == 0 && step.number % 10 == 0)
          std::printf("step %ld loss %.3f\n", step.number, step.report.loss);
      });
    });
  } catch (const std::exception& e) {
    std::fprintf(stderr, "hello_plan: %s\n", e.what());
    return 1;
  }
}
