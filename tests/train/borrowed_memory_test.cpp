// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ranks that live in a user's own memory, and parameters read and written where they lie, by name.
#include "harness.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <memory>

using namespace meshpar_test;

namespace {

constexpr model tiny =
    llama_like({.layers = 2, .hidden = 16, .heads = 4, .kv_heads = 2, .ffn = 32, .vocab = 24, .seq = 8});
constexpr job batch4{.global_batch = 4};
constexpr plan tp2{.tp = 2, .sequence_parallel = true, .precision = all_f64};
constexpr token_data tokens{24, 8};

// A user's allocation, full of what was there before.
struct allocation {
  explicit allocation(std::int64_t n) : bytes(static_cast<std::size_t>(n) + 256), memory(bytes.data()) {
    std::memset(memory, 0xEE, bytes.size());
    while (reinterpret_cast<std::uintptr_t>(memory) % 64 != 0) ++memory;
  }
  std::vector<unsigned char> bytes;
  unsigned char* memory;
};

template <class Rank>
std::vector<double> train_two_steps(Rank& r) {
  std::vector<double> seen;
  for (int k = 0; k < 2; ++k) {
    const step_report report = r.step(
        static_cast<std::uint64_t>(k), [&](long s, long q) { return tokens.id(k, s, q); },
        [&](long s, long q) { return tokens.label(k, s, q); }, settings);
    seen.push_back(report.loss), seen.push_back(report.grad_norm);
  }
  for (std::int64_t i = 0; i < r.plan().elements(); ++i) seen.push_back(static_cast<double>(r.parameters()[i]));
  return seen;
}
// f(rank, communicator) on the ranks of a program.
template <class F>
void on_ranks(const program& p, F f) {
  threads_world world(p.where.ranks.size());
  world.run([&](threads& comm) { f(comm); });
}
using rank_f64 = rank<f64_types, plain_gemm, threads>;
using bf16_types = element_types<bf16, float, float, float>;
using rank_bf16 = rank<bf16_types, plain_gemm, threads>;

}  // namespace

TEST_CASE("a rank in a user's memory trains to the same bits, and writes nothing beyond its height") {
  const program p(tiny, batch4, tp2, stack<>(tiny, batch4));
  std::vector<std::vector<double>> usual(2), borrowed(2);
  on_ranks(p, [&](threads& comm) {
    rank_f64 r(p, comm);
    usual[static_cast<std::size_t>(comm.rank())] = train_two_steps(r);
  });
  on_ranks(p, [&](threads& comm) {
    allocation own(p.memory.height);
    {
      rank_f64 r(p, comm, arena(own.memory, p.memory.height));
      CHECK(r.memory().at(0) == own.memory);
      borrowed[static_cast<std::size_t>(comm.rank())] = train_two_steps(r);
    }
    for (const unsigned char* at = own.memory + p.memory.height; at != own.bytes.data() + own.bytes.size(); ++at)
      REQUIRE(*at == 0xEE);
    CHECK(*own.memory != 0xEE);  // still there when the rank is gone
  });
  CHECK(usual == borrowed);
}

TEST_CASE("memory that is too small or not aligned is refused in one line, before anything is written") {
  const program p(tiny, batch4, {.precision = all_f64}, stack<>(tiny, batch4));
  allocation own(p.memory.height);
  on_ranks(p, [&](threads& comm) {
    const std::string needs = std::to_string(p.memory.height), has = std::to_string(p.memory.height - 1);
    CHECK_THROWS_WITH_AS(rank_f64(p, comm, arena(own.memory, p.memory.height - 1)),
                         ("rank 0: the memory given to it has " + has + " bytes, its program needs " + needs).c_str(),
                         std::invalid_argument);
    CHECK_THROWS_WITH_AS(rank_f64(p, comm, arena(own.memory + 8, p.memory.height)),
                         "rank 0: the memory given to it starts 8 bytes past a multiple of 64; align it to that",
                         std::invalid_argument);
    CHECK_THROWS_AS(rank_f64(p, comm, arena()), std::invalid_argument);
  });
  for (const unsigned char b : own.bytes) REQUIRE(b == 0xEE);
}

TEST_CASE("a parameter lies in the arena under its full name, and its gradient too") {
  const program p(tiny, batch4, tp2, stack<>(tiny, batch4));
  on_ranks(p, [&](threads& comm) {
    allocation own(p.memory.height);
    rank_f64 r(p, comm, arena(own.memory, p.memory.height));
    train_two_steps(r);
    std::map<std::string, std::int64_t> seen;
    for_each_parameter(
        p, comm.rank(),
        [&](const parameter_entry&, std::int64_t flat, const std::string& name, std::int64_t, std::int64_t) {
          const auto held = r.parameter(name);
          const std::int64_t i = held.value <= r.parameters() + flat ? r.parameters() + flat - held.value : -1;
          REQUIRE((i >= 0 && i < held.count));
          REQUIRE(held.master + i == r.parameters() + flat);  // no copy in f64
          REQUIRE(held.gradient + i == r.gradients() + flat);
          ++seen[name];
        });
    for (const auto& [name, count] : seen) CHECK(count == r.parameter(name).count);
    const auto up = r.parameter("layers.1.mlp.up");
    CHECK(reinterpret_cast<unsigned char*>(up.value) >= own.memory);
    CHECK(reinterpret_cast<unsigned char*>(up.value + up.count) <= own.memory + p.memory.height);
    CHECK(up.shape.dims[up.shape.find(dims::ffn)].local == tiny.ffn / 2);
    CHECK_THROWS_WITH_AS(r.parameter("layers.2.mlp.up"),
                         "no parameter is named 'layers.2.mlp.up': for_each_parameter tells the names",
                         std::invalid_argument);
  });
}

TEST_CASE("weights copied into place by name are those of set_parameters") {
  const program p(tiny, batch4, {.tp = 2, .precision = mixed_bf16}, stack<>(tiny, batch4));
  on_ranks(p, [&](threads& comm) {
    const auto weight = [](std::int64_t index) { return 0.01 * static_cast<double>(index % 13 - 6); };
    rank_bf16 a(p, comm), b(p, comm);
    a.set_parameters([&](const parameter_entry&, const std::string&, std::int64_t index) { return weight(index); });
    for_each_parameter(
        p, comm.rank(),
        [&](const parameter_entry&, std::int64_t flat, const std::string& name, std::int64_t index, std::int64_t) {
          const auto held = b.parameter(name);
          const std::int64_t i = b.parameters() + flat - held.value;
          held.value[i] = bf16(static_cast<float>(weight(index)));
          held.master[i] = static_cast<float>(weight(index));
        });
    CHECK(train_two_steps(a) == train_two_steps(b));
  });
}
