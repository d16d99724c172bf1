// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "formula.hpp"

#include "golden.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <vector>

namespace {

using oracle::read_golden;

void check_same_bits(const std::string& name) {
  const oracle::model m = read_golden(name);
  CHECK(oracle::digest(oracle::tokens(m.batch, m.seq, m.vocab)) == m.tokens_digest);
  for (const oracle::gradient& g : m.gradients) {
    CAPTURE(g.name);
    CHECK(oracle::digest(oracle::values(g.name, oracle::count(g))) == g.weights_digest);
  }
}

std::size_t parameters(const oracle::model& m) {
  return std::accumulate(m.gradients.begin(), m.gradients.end(), std::size_t{0},
                         [](std::size_t n, const oracle::gradient& g) { return n + oracle::count(g); });
}

// An array with the summary's entries in their places, so that only the sums can disagree.
std::vector<double> with_entries_of(const oracle::gradient& g) {
  std::vector<double> all(oracle::count(g), 0.0);
  for (std::size_t k = 0; k < g.values.entries.size(); ++k)
    all[oracle::entry_index(k, all.size())] = g.values.entries[k];
  return all;
}

}  // namespace

TEST_CASE("every weight and token has the bits that Python computed") {
  check_same_bits("gpt2");
  check_same_bits("llama");
}

TEST_CASE("run time and compile time agree") {
  constexpr double gain = oracle::value("layers.1.mlp.norm.gain", 17);
  CHECK(oracle::values("layers.1.mlp.norm.gain", 18).back() == gain);
}

TEST_CASE("the golden models have every parameter of their configuration") {
  const oracle::model gpt2 = read_golden("gpt2"), llama = read_golden("llama");
  CHECK(gpt2.gradients.size() == 2 + 2 * 16 + 2);
  CHECK(llama.gradients.size() == 1 + 2 * 9 + 2);
  const auto h = gpt2.hidden;
  CHECK(parameters(gpt2) == (gpt2.vocab + gpt2.positions) * h + gpt2.layers * (12 * h * h + 13 * h) + 2 * h);
  CHECK(parameters(llama) ==
        2 * llama.vocab * h + h +
            llama.layers * (2 * h * h + 2 * h * llama.kv_heads * llama.head_dim + 3 * h * llama.ffn + 2 * h));
  CHECK(oracle::find(llama, "layers.1.attention.key").shape == std::vector<std::size_t>{32, 16});
  CHECK_THROWS(oracle::find(llama, "position"));
  CHECK_THROWS(read_golden("bert"));
}

TEST_CASE("the key bias has no gradient, and its scale is not its own size") {
  const oracle::model m = read_golden("gpt2");
  const oracle::gradient& g = oracle::find(m, "layers.0.attention.key_bias");
  CHECK(g.values.max_abs < 1e-15);
  CHECK(oracle::scale(g, m) > 1e-5);
}

TEST_CASE("samples are distinct places") {
  for (std::size_t n : {65u, 512u, 1952u, 4096u}) {
    std::set<std::size_t> places;
    for (std::size_t k = 0; k < 64; ++k) places.insert(oracle::entry_index(k, n));
    CHECK(places.size() == 64);
  }
}

TEST_CASE("the comparison sees an entry, a sum, a size and a NaN") {
  const oracle::model m = read_golden("llama");
  const oracle::gradient& small = oracle::find(m, "final_norm.gain");
  std::vector<double> ours = with_entries_of(small);
  CHECK(oracle::largest_difference(small, ours, m) < 1e-15);
  ours[3] *= 2;
  CHECK(oracle::largest_difference(small, ours, m) > 1e-3);
  ours[3] = std::numeric_limits<double>::quiet_NaN();
  CHECK(oracle::largest_difference(small, ours, m) > 1e300);
  ours.pop_back();
  CHECK(oracle::largest_difference(small, ours, m) > 1e300);
  const oracle::gradient& large = oracle::find(m, "head");
  CHECK(oracle::largest_difference(large, with_entries_of(large), m) > 1e-3);  // sums of the other 1,888 are missing
}
