// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <array>
#include <cstdint>
#include <set>
#include <vector>

// A pairwise covering: rows such that any two factors take every pair of levels that goes together in some row.
namespace meshpar_test {

// The level of each factor, by number.
template <int Factors>
using levels = std::array<int, Factors>;

// Greedy, from a seed: each row starts from a pair that is still missing, and of many legal completions takes the one
// that covers the most missing pairs.
template <int Factors, class Legal>
class covering {
 public:
  using row = levels<Factors>;
  covering(const row& sizes, Legal legal, std::uint64_t seed, std::vector<row> first, int least)
      : rows(first), sizes_(sizes), legal_(legal), state_(seed) {
    find_pairs();
    pairs = static_cast<int>(missing_.size());
    for (const row& r : first) cover(r);
    while (!missing_.empty() || static_cast<int>(rows.size()) < least) add_row();
  }

  std::vector<row> rows;
  int pairs = 0;  // that some legal row has
  int missing() const { return static_cast<int>(missing_.size()); }

 private:
  struct pair {
    int a, level_a, b, level_b;
    auto operator<=>(const pair&) const = default;
  };

  int draw(int n) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int>((state_ >> 33) % static_cast<unsigned>(n));
  }
  // A legal row with the pair, or nothing after many tries: then no row has it.
  bool complete(const pair& p, row& r) {
    for (int t = 0; t < 400; ++t) {
      for (int f = 0; f < Factors; ++f) r[static_cast<std::size_t>(f)] = draw(sizes_[static_cast<std::size_t>(f)]);
      r[static_cast<std::size_t>(p.a)] = p.level_a;
      r[static_cast<std::size_t>(p.b)] = p.level_b;
      if (legal_(r)) return true;
    }
    return false;
  }
  void find_pairs() {
    row r{};
    for (int a = 0; a < Factors; ++a)
      for (int b = a + 1; b < Factors; ++b)
        for (int i = 0; i < sizes_[static_cast<std::size_t>(a)]; ++i)
          for (int j = 0; j < sizes_[static_cast<std::size_t>(b)]; ++j)
            if (const pair p{a, i, b, j}; complete(p, r)) missing_.insert(p);
  }
  template <class F>
  void for_pairs(const row& r, F f) const {
    for (int a = 0; a < Factors; ++a)
      for (int b = a + 1; b < Factors; ++b)
        f(pair{a, r[static_cast<std::size_t>(a)], b, r[static_cast<std::size_t>(b)]});
  }
  int gain(const row& r) const {
    int n = 0;
    for_pairs(r, [&](const pair& p) { n += static_cast<int>(missing_.count(p)); });
    return n;
  }
  void cover(const row& r) {
    for_pairs(r, [&](const pair& p) { missing_.erase(p); });
  }
  void add_row() {
    row best{};
    int most = -1;
    for (int t = 0; t < 60; ++t) {
      row r{};
      const pair start = missing_.empty() ? pair{0, draw(sizes_[0]), 1, draw(sizes_[1])} : *missing_.begin();
      if (complete(start, r) && gain(r) > most) best = r, most = gain(r);
    }
    if (most < 0) return;
    cover(best);
    rows.push_back(best);
  }

  row sizes_;
  Legal legal_;
  std::uint64_t state_;
  std::set<pair> missing_;
};

}  // namespace meshpar_test
