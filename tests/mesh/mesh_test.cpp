// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/mesh/mesh.hpp>

#include <doctest/doctest.h>

#include <initializer_list>

using namespace meshpar;

namespace {
constexpr mesh m{extent{axes::pp, 2}, extent{axes::dp, 3}, extent{axes::cp, 1}, extent{axes::tp, 4}};
static_assert(m.size() == 24 && m.extents.size() == 3, "an axis of extent 1 is not in a mesh");
static_assert(m.size(axes::cp) == 1 && m.size(axes::dp | axes::tp) == 12);
static_assert(m.stride(axes::tp) == 1 && m.stride(axes::dp) == 4 && m.stride(axes::pp) == 12);
static_assert(m.all() == (axes::pp | axes::dp | axes::tp));
}  // namespace

TEST_CASE("a rank's coordinates are its digits") {
  for (int rank = 0; rank < m.size(); ++rank) {
    CHECK(m.coordinate(rank, axes::pp) * 12 + m.coordinate(rank, axes::dp) * 4 + m.coordinate(rank, axes::tp) == rank);
    CHECK(m.coordinate(rank, axes::cp) == 0);
    CHECK(m.position(rank, m.all()) == rank);
  }
}

TEST_CASE("a group holds the ranks that differ only along its axes") {
  for (const axis_set s : {axis_set(axes::tp), axes::pp | axes::tp, axes::dp | axes::pp, axis_set{}, m.all()})
    for (int rank = 0; rank < m.size(); ++rank) {
      CHECK(m.member(rank, s, m.position(rank, s)) == rank);
      for (int at = 0; at < m.size(s); ++at) {
        const int other = m.member(rank, s, at);
        CHECK(m.position(other, s) == at);
        CHECK(m.position(other, m.all() - s) == m.position(rank, m.all() - s));
      }
    }
}

TEST_CASE("sets of axes") {
  const axis_set s = axes::dp | axes::tp;
  CHECK(s.contains(axes::tp));
  CHECK_FALSE(s.contains(axes::dp | axes::cp));
  CHECK(s - axes::dp == axes::tp);
  CHECK(whole_axis(axes::tp) == (axes::tp | axes::kv_rep));
  CHECK(whole_axis(axes::dp) == axes::dp);
  CHECK(name_of(s) == "dp and tp");
  CHECK(name_of(whole_axis(axes::tp)) == "tp");
  CHECK(name_of(axis{11}) == "axis 11");
}

TEST_CASE("axes by their names: the two parts of tp are one, and a part alone is itself") {
  const mesh parts{extent{axes::dp, 2}, extent{axes::tp, 4}, extent{axes::kv_rep, 2}};
  const auto all = parts.named(parts.all());
  REQUIRE(all.size() == 2);
  CHECK(all[0] == extent{axes::dp, 2});
  CHECK(all[1] == extent{axes::tp, 8});
  REQUIRE(parts.named(axes::kv_rep).size() == 1);
  CHECK(parts.named(axes::kv_rep)[0] == extent{axes::kv_rep, 2});
  CHECK(parts.named(axes::tp)[0] == extent{axes::tp, 4});
}
