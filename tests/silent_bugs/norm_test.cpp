// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The global norm of the gradient, by the ids of docs/silent_bugs.md, on the numbers of the reports: which squares are
// summed over which ranks follows from each parameter's layout.
#include "silent_bugs/one_step.hpp"

#include <doctest/doctest.h>

using namespace silent_bugs;

namespace {

constexpr mp::model m = mp::gpt2_like({.layers = 1, .hidden = 8, .heads = 4, .ffn = 8, .vocab = 8, .seq = 4});
constexpr mp::job j{.global_batch = 2};
using device = rank::device;

// The norm that each rank clips by, if the gradient is zero but for one element of one parameter, which rank r holds as
// mine(r). Terms of a sum that is owed are given as terms.
template <class Mine>
std::vector<double> norms(mp::plan how, const std::string& parameter, Mine mine) {
  how.precision = mp::all_f64;
  const mp::program p(m, j, how, mp::stack<>(m, j));
  REQUIRE(!p.refused());
  std::vector<double> all(static_cast<std::size_t>(mp::world_size(how)));
  mp::threads_world world(static_cast<int>(all.size()), {.time_out = 120});
  world.run([&](mp::threads& comm) {
    device on{&comm, {}};
    const mp::arena memory(p.memory.height);
    const mp::executor<device> calls(p, on, memory, comm.rank(), mp::host_kinds::table<device>);
    mp::optimizer<double, double, double, double, device> optimizer(p, on, memory, comm.rank(), calls);
    auto* gradient = reinterpret_cast<double*>(memory.at(p.memory.gradients.offset));
    std::int64_t first = -1;
    mp::for_each_parameter(
        p, comm.rank(),
        [&](const mp::parameter_entry&, std::int64_t flat, const std::string& name, std::int64_t, std::int64_t) {
          if (name == parameter && first < 0) first = flat;
        });
    gradient[first] = mine(comm.rank());
    all[static_cast<std::size_t>(comm.rank())] = optimizer.step(0, 1, {}).grad_norm;
  });
  return all;
}
using doctest::Approx;

}  // namespace

TEST_CASE("S42 squares of 20 and 100 on two ranks make 10.954, not the mean of two roots, 7.236") {
  const auto found = norms({.tp = 2}, "layers.0.mlp.up", [](int r) { return std::sqrt(r == 0 ? 20.0 : 100.0); });
  for (const double n : found) CHECK(n == Approx(10.954).epsilon(1e-4));
}

TEST_CASE("S43 four pieces of norm 3 make 6: no rank that holds a piece is left out") {
  for (const double n : norms({.tp = 4}, "layers.0.mlp.up", [](int) { return 3.0; })) CHECK(n == Approx(6));
}

TEST_CASE("S43 a copy counts once: the same norm over tp, and over tp and dp") {
  // Of a norm's gain: I over tp, its terms over dp are 1 and 2.
  for (const double n : norms({.tp = 2}, "final_norm.gain", [](int) { return 3.0; })) CHECK(n == Approx(3));
  for (const double n : norms({.dp = 2, .tp = 2}, "final_norm.gain", [](int r) { return r < 2 ? 1.0 : 2.0; }))
    CHECK(n == Approx(3));
  // With sequence parallelism it is R over tp as well, so that four terms are owed.
  const mp::plan sp{.dp = 2, .tp = 2, .sequence_parallel = true};
  for (const double n : norms(sp, "final_norm.gain", [](int r) { return r == 0 ? 3.0 : 0.0; })) CHECK(n == Approx(3));
  // A tied embedding is one parameter of two blocks.
  for (const double n : norms({}, "embedding", [](int) { return 3.0; })) CHECK(n == Approx(3));
}

TEST_CASE("S45 pieces of norm 3 and 4: both ranks clip by 5") {
  CHECK(norms({.tp = 2}, "layers.0.mlp.up", [](int r) { return r == 0 ? 3.0 : 4.0; }) == std::vector<double>{5, 5});
}
