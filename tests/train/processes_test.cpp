// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A run on the processes of mpirun and the same run on threads of one process: the same bits, step by step and rank by
// rank, for every plan of as many ranks as there are processes.
#include <meshpar/meshpar.hpp>
#include <meshpar/mpi.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cstring>

using namespace meshpar;

namespace {

// What one rank has of a run: of each step the bits of loss and gradient norm, and a hash of its parameters after it.
constexpr int steps = 5;
struct trace {
  std::uint64_t loss[steps]{}, norm[steps]{}, weights[steps]{};
  bool operator==(const trace&) const = default;
};

std::uint64_t hash(const void* data, std::size_t bytes) {
  std::uint64_t h = 1469598103934665603u;
  for (std::size_t i = 0; i < bytes; ++i) h = (h ^ static_cast<const unsigned char*>(data)[i]) * 1099511628211u;
  return h;
}

// All ranks' traces, gathered on every rank.
std::vector<trace> train(auto& r) {
  trace t;
  const auto id = [](std::int64_t sample, std::int64_t position) {
    return static_cast<std::int32_t>((sample * 31 + position * position * 7) % 61);
  };
  for (int s = 0; s < steps; ++s) {
    const auto number = static_cast<std::uint64_t>(s) + 1;
    const step_report did = r.step(
        number, [&](auto a, auto b) { return id(a + s, b); }, [&](auto a, auto b) { return id(a + s, b + 1); },
        {.adam = {.learning_rate = 3e-3}, .clip_norm = 0.5});
    t.loss[s] = std::bit_cast<std::uint64_t>(did.loss);
    t.norm[s] = std::bit_cast<std::uint64_t>(did.grad_norm);
    t.weights[s] = hash(r.parameters(), sizeof *r.parameters() * static_cast<std::size_t>(r.plan().elements()));
  }
  std::vector<trace> all(static_cast<std::size_t>(r.comm().size()));
  r.comm().all_gather(r.calls().group_along(r.plan().where.ranks.all()), &t, all.data(), 1, sizeof t);
  return all;
}

constexpr model gpt = gpt2_like({.layers = 2,
                                 .hidden = 32,
                                 .heads = 8,
                                 .ffn = 48,
                                 .vocab = 61,
                                 .seq = 16,
                                 .tied_embeddings = true,
                                 .dropout = 0.1});
constexpr model llama =
    llama_like({.layers = 2, .hidden = 32, .heads = 8, .kv_heads = 2, .ffn = 48, .vocab = 61, .seq = 16});
constexpr job sixteen{.global_batch = 16, .micro_batch = 1, .seed = 5};
constexpr plan plans[] = {{.dp = 2},
                          {.tp = 2},
                          {.tp = 2, .sequence_parallel = true},
                          {.dp = 4},
                          {.tp = 4},
                          {.tp = 4, .sequence_parallel = true},
                          {.dp = 2, .tp = 2},
                          {.dp = 2, .tp = 2, .sequence_parallel = true},
                          {.dp = 8},
                          {.tp = 8},
                          {.dp = 4, .tp = 2, .sequence_parallel = true},
                          {.dp = 2, .tp = 4, .sequence_parallel = true}};

const launch_options& options() {
  static const launch_options o{.time_out = 60};
  return o;
}

void check_equal(const model& m, plan how, const precisions& in) {
  how.precision = in;
  const auto p = std::make_unique<program>(m, sixteen, how, stack<>(m, sixteen));
  CAPTURE(how.dp);
  CAPTURE(how.tp);
  CAPTURE(how.sequence_parallel);
  REQUIRE(with_element_types(in, [&]<class Types>(Types) {
    std::vector<trace> by_processes, by_threads;
    const auto keep = [&](auto& r) { by_processes = train(r); };
    run_processes<Types, plain_gemm, mpi>(*p, keep, options());
    if (options().where.rank != 0) return;
    run_ranks<Types>(*p, [&](auto& r) {
      const auto all = train(r);
      if (r.number() == 0) by_threads = all;
    });
    REQUIRE(by_processes.size() == by_threads.size());
    CHECK(by_threads[0].loss[0] != by_threads[0].loss[steps - 1]);
    for (std::size_t r = 0; r < by_threads.size(); ++r) {
      CAPTURE(r);
      CHECK(std::memcmp(by_threads[r].loss, by_processes[r].loss, sizeof trace{}.loss) == 0);
      CHECK(std::memcmp(by_threads[r].norm, by_processes[r].norm, sizeof trace{}.norm) == 0);
      CHECK(std::memcmp(by_threads[r].weights, by_processes[r].weights, sizeof trace{}.weights) == 0);
    }
  }));
}

}  // namespace

TEST_CASE("loss, gradient norm and every parameter are the same bits on processes and on threads") {
  int compared = 0;
  for (const plan& how : plans)
    if (world_size(how) == options().where.size)
      for (const model& m : {gpt, llama})
        for (const precisions& in : {all_f32, all_f64, mixed_bf16}) check_equal(m, how, in), ++compared;
  CHECK(compared >= 18);
}

namespace {
constexpr plan two{.dp = 2};
}

TEST_CASE("launch is refused when the launched world is not the plan's") {
  using net = decoder<llama, sixteen, two>;
  const auto nothing = [](auto&) {};
  if (options().where.size == 2) launch<net, mpi>(nothing, options());
  else
    CHECK_THROWS_WITH_AS((launch<net, mpi>(nothing, options())), doctest::Contains("are not pp * dp * cp * tp"),
                         std::exception);
  launch_options wrong = options();
  wrong.where.rank = (wrong.where.rank + 1) % wrong.where.size;
  if (wrong.where.size == 2)
    CHECK_THROWS_WITH_AS((launch<net, mpi>(nothing, wrong)), doctest::Contains("start it with the mpirun of"),
                         std::exception);
}
