// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/layout/offset.hpp>

#include <doctest/doctest.h>

#include <array>
#include <vector>

using namespace meshpar;

namespace {

constexpr mesh pair{extent{axes::cp, 2}};
constexpr mesh grid{extent{axes::dp, 2}, extent{axes::cp, 2}, extent{axes::tp, 3}};

// global_index and owner are inverse, every element has one owner, and pieces say the same.
constexpr bool bijective(const split_dim& d, const mesh& m, int rank = 0) {
  const std::int64_t size = d.local * m.size(d.by.axes());
  for (std::int64_t g = 0; g < size; ++g) {
    const place_of p = owner(d, m, rank, g);
    if (p.local < 0 || p.local >= d.local || global_index(d, m, p.rank, p.local) != g) return false;
  }
  std::int64_t next = 0;
  for (const run& r : pieces(d, m, rank)) {
    if (r.local != next) return false;
    for (std::int64_t i = 0; i < r.count; ++i)
      if (global_index(d, m, rank, r.local + i) != r.global + i) return false;
    next += r.count;
  }
  return next == d.local;
}

constexpr axis_set cp_tp = axes::cp | axes::tp;
static_assert(bijective(make_dim("seq", 24, grid), grid));
static_assert(bijective(make_dim("seq", 24, grid, axes::tp), grid, 5));
static_assert(bijective(make_dim("seq", 24, grid, axes::cp, order::zigzag), grid, 4));
static_assert(bijective(make_dim("seq", 24, grid, cp_tp), grid, 3));
static_assert(bijective(make_dim("seq", 24, grid, cp_tp, order::zigzag), grid, 7));
static_assert(bijective(make_dim("seq", 48, grid, grid.all(), order::zigzag), grid, 11));

// Of four pieces of two, rank 0 holds the first and the last.
constexpr split_dim zigzag = make_dim("seq", 8, pair, axes::cp, order::zigzag);
static_assert(pieces(zigzag, pair, 0).size() == 2);
static_assert(pieces(zigzag, pair, 0)[1] == run{6, 2, 2});
static_assert(pieces(zigzag, pair, 1).size() == 1, "the middle pieces of two ranks are neighbours");
static_assert(pieces(zigzag, pair, 1)[0] == run{2, 0, 4});
static_assert(owner(zigzag, pair, 0, 7) == place_of{0, 3});

}  // namespace

TEST_CASE("on every rank, in every nesting, each element has one place") {
  for (int rank = 0; rank < grid.size(); ++rank)
    for (const order by : {order::contiguous, order::zigzag})
      for (const axis_set s : {axis_set{}, axis_set(axes::cp), axis_set(axes::tp), cp_tp, grid.all()})
        CHECK(bijective(make_dim("seq", 48, grid, s, by), grid, rank));
}

TEST_CASE("a minor factor cuts what its major left, in local order") {
  const mesh m{extent{axes::cp, 2}, extent{axes::tp, 2}};
  const split_dim d = make_dim("seq", 16, m, cp_tp, order::zigzag);
  const std::vector<std::vector<std::int64_t>> expected{{0, 1, 2, 3}, {12, 13, 14, 15}, {4, 5, 6, 7}, {8, 9, 10, 11}};
  for (int r = 0; r < 4; ++r)
    for (int i = 0; i < 4; ++i)
      CHECK(global_index(d, m, r, i) == expected[static_cast<std::size_t>(r)][static_cast<std::size_t>(i)]);
}

TEST_CASE("a split over tp then dp is not a split over dp then tp") {
  const mesh m{extent{axes::dp, 2}, extent{axes::tp, 2}};
  split_dim a{"vocab", 2, {}}, b{"vocab", 2, {}};
  a.by.push_back({axes::dp}), a.by.push_back({axes::tp});
  b.by.push_back({axes::tp}), b.by.push_back({axes::dp});
  CHECK(global_index(a, m, 1, 0) == 2);
  CHECK(global_index(b, m, 1, 0) == 4);
  CHECK(bijective(b, m, 2));
}

TEST_CASE("whole tensors: row-major local to row-major global, and back") {
  const layout l = make_layout(make_dim("seq", 12, grid, cp_tp, order::zigzag), make_dim("batch", 4, grid, axes::dp),
                               make_dim("hidden", 5, grid));
  std::vector<int> seen(12 * 4 * 5);
  for (int rank = 0; rank < grid.size(); ++rank)
    for (std::int64_t i = 0; i < l.local_count(); ++i) {
      const std::int64_t g = global_index(l, grid, rank, i);
      ++seen[static_cast<std::size_t>(g)];
      CHECK(owner(l, grid, rank, g) == place_of{rank, i});
      CHECK(owner(l, grid, 0, g) == place_of{rank, i});
    }
  for (int n : seen) CHECK(n == 1);
}
