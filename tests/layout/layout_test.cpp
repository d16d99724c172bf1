// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/layout/print.hpp>

#include <doctest/doctest.h>

#include <type_traits>

using namespace meshpar;

namespace {

constexpr mesh m{extent{axes::dp, 2}, extent{axes::tp, 4}, extent{axes::cp, 1}};
constexpr layout x = make_layout(make_dim(dims::seq, 64, m, axes::cp | axes::tp), make_dim(dims::batch, 8, m, axes::dp),
                                 make_dim(dims::hidden, 32, m));

// Canonical form: what is split over an axis of extent 1 is the same layout as what is not.
static_assert(make_dim(dims::seq, 64, m, axes::cp | axes::tp) == make_dim(dims::seq, 64, m, axes::tp));
static_assert(make_dim(dims::seq, 64, m, axes::cp, order::zigzag) == make_dim(dims::seq, 64, m));
static_assert(with_owed(x, axes::cp, m) == x && with_invariant(x, axes::cp, m) == x);

// The gradient's layout swaps R and P, and does so twice without trace.
constexpr layout scalar = with_invariant(make_layout(), axes::tp, m);
static_assert(dual(scalar, m) == with_invariant(with_owed(make_layout(), axes::dp, m), axes::tp, m));
static_assert(dual(dual(scalar, m), m) == scalar);
static_assert(dual(x, m) == x, "every axis splits it");
static_assert(dual(make_layout(), m).owed == m.all());

template <layout>
struct typed {};

}  // namespace

TEST_CASE("a layout is a template argument: equal layouts are one type") {
  CHECK((std::is_same_v<typed<x>,
                        typed<make_layout(make_dim(dims::seq, 64, m, axes::tp), make_dim(dims::batch, 8, m, axes::dp),
                                          make_dim(dims::hidden, 32, m))>>));
}

TEST_CASE("sizes") {
  CHECK(x.local_count() == 16 * 4 * 32);
  CHECK(x.global_size(0, m) == 64);
  CHECK(x.split() == (axes::dp | axes::tp));
  CHECK(x.replicated(m).empty());
  CHECK(x.find(dims::batch) == 1);
  CHECK(x.find(dims::vocab) == -1);
}

TEST_CASE("factor lists are stacks") {
  factor_list by;
  by.push_back({axes::cp, order::zigzag});
  by.push_back({axes::tp});
  CHECK(by.size() == 2);
  CHECK(by[0] == factor{axes::cp, order::zigzag});
  CHECK(by[1] == factor{axes::tp});
  by.pop_back();
  CHECK(by.axes() == axes::cp);
  by.pop_back();
  CHECK(by == factor_list{});
}

TEST_CASE("layouts and states in words") {
  CHECK(name_of(x) == "[seq 16/tp, batch 4/dp, hidden 32]");
  CHECK(name_of(with_owed(make_layout(make_dim("hidden", 8, m)), axes::tp, m)) == "[hidden 8] P(tp)");
  CHECK(name_of(scalar) == "[] I(tp)");
  CHECK(state_of(x, axes::tp) == "split(seq)");
  CHECK(state_of(scalar, axes::tp) == "I");
  CHECK(state_of(scalar, axes::dp) == "R");
  const mesh ring{extent{axes::cp, 2}, extent{axes::tp, 2}};
  CHECK(name_of(make_dim("seq", 8, ring, axes::cp | axes::tp, order::zigzag).by) == "cp(zigzag).tp");
}
