// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every pair of layouts of one tensor: the move keeps the value, and its backward, which is the move between the two
// duals, keeps the gradient; a pair that is refused is no one collective there and back.
#include "collectives.hpp"
#include "holds.hpp"

using namespace meshpar;
using namespace meshpar::test;

namespace {

const std::vector<split_dim> matrix{whole("seq", 8), whole("hidden", 4)};

bool contiguous(const layout& l) {
  for (const split_dim& d : l.dims)
    for (int i = 0; i < d.by.size(); ++i)
      if (d.by[i].by == order::zigzag) return false;
  return true;
}

// Whether `t` takes a value from one layout to the other, by layouts and (contiguous pieces) by whole blocks too.
bool keeps(const ty::move& t, const array& value, const layout& from, const layout& to, const mesh& m,
           std::mt19937& random) {
  const ranks x = deal(value, from, m, random);
  const std::optional<ranks> y = perform(t, x, from, to, m);
  if (!y || !same_value(collect(*y, to, m), value)) return false;
  if (!contiguous(from) || !contiguous(to) || t.kind == ty::collective::permute) return true;
  const std::optional<ranks> blocks = perform_plainly(t, x, m);
  return blocks && same_value(collect(*blocks, to, m), value);
}

// Whether some collective of the table, run along some axes, and another along the same ones, would do for a pair.
bool some_collective_does(const layout& from, const layout& to, const mesh& m, std::mt19937& random) {
  const array value = random_array(global_shape(from, m), random), gradient = random_array(value.shape, random);
  const ranks x = deal(value, from, m, random), g = deal(gradient, dual(to, m), m, random);
  for (const extent& a : m.extents)
    for (const axis_set along : {axis_set(a.along), m.all()}) {
      bool there = false, back = false;
      for (const ty::move& t : every_move(along, from.dims.size())) {
        if (const auto y = perform_plainly(t, x, m); !there && y) there = same_value(collect(*y, to, m), value);
        if (const auto y = perform_plainly(t, g, m); !back && y)
          back = same_value(collect(*y, dual(from, m), m), gradient);
      }
      if (there && back) return true;
    }
  return false;
}

struct count {
  int legal = 0, refused = 0;
};
count prove(const mesh& m) {
  count n;
  std::mt19937 random(3);
  const std::vector<layout> all = all_layouts(matrix, m, true);
  for (const layout& from : all)
    for (const layout& to : all) {
      INFO(name_of(from).c_str() << " -> " << name_of(to).c_str());
      const ty::move there = ty::transition(from, to, m), back = ty::transition(dual(to, m), dual(from, m), m);
      CHECK(there.holds() == back.holds());
      const array value = random_array(global_shape(from, m), random), gradient = random_array(value.shape, random);
      if (there.holds() && back.holds()) {
        ++n.legal;
        CHECK(there.along == back.along);
        CHECK(keeps(there, value, from, to, m, random));
        CHECK(keeps(back, gradient, dual(to, m), dual(from, m), m, random));
        continue;
      }
      ++n.refused;
      CHECK(there.no.why.size() > 0);
      CHECK(there.no.why.size() <= 200);
      CHECK_FALSE(some_collective_does(from, to, m, random));
    }
  return n;
}

}  // namespace

TEST_CASE("every transition on one axis") {
  CHECK(prove(two).refused == 0);
  CHECK(prove(four).refused == 0);
}

TEST_CASE("every transition on two axes") {
  const count n = prove(square);
  CHECK(n.legal > 0);
  std::printf("transition             4 ranks: %5d legal, %5d refused\n", n.legal, n.refused);
}

TEST_CASE("a pending maximum ends in R or I, in no other way") {
  std::mt19937 random(5);
  for (const mesh& m : {two, four, square}) {
    layout from = make_layout(whole("seq", 8));
    from.maximum = axes::tp;
    const array value = random_array({8}, random);
    for (const layout& to : all_layouts({whole("seq", 8)}, m)) {
      const ty::move t = ty::transition(from, to, m);
      const bool only_tp = ty::replicate(to, axes::tp, m) == ty::replicate(from, axes::tp, m);
      CHECK(t.holds() == (only_tp && to.owed.empty() && to.split().empty()));
      if (t.holds()) CHECK(same_value(collect(*perform(t, deal(value, from, m, random), from, to, m), to, m), value));
      CHECK_FALSE(ty::transition(to, from, m).holds());
    }
  }
}

TEST_CASE("a seed of one on every rank is right exactly where seed allows it") {
  for (const mesh& m : {two, four, square})
    for (const layout& loss : all_layouts({}, m)) {
      ranks ones(static_cast<std::size_t>(m.size()), array{});
      for (array& a : ones) a[0] = 1;
      array one;
      one[0] = 1;
      CHECK(ty::seed(loss, m).holds() == same_value(collect(ones, dual(loss, m), m), one));
    }
}

TEST_CASE("a gradient is summed where it is owed, and nowhere else") {
  std::mt19937 random(9);
  for (const mesh& m : {two, four, square})
    for (const layout& g : all_layouts(matrix, m)) {
      const array value = random_array({8, 4}, random);
      const ranks x = deal(value, g, m, random);
      const judged j = ty::reduce_gradient(g, axes::tp);
      const ranks y = *perform_plainly({ty::collective::all_reduce, axes::tp, -1, -1, {}}, x, m);
      CHECK(j.holds() ==
            same_value(collect(y, ty::replicate(g, j.holds() ? axis_set(axes::tp) : axis_set{}, m), m), value));
    }
}
