// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "operation.hpp"

#include <doctest/doctest.h>

#include <cstdio>

namespace meshpar::test {

inline const mesh two{extent{axes::tp, 2}}, four{extent{axes::tp, 4}}, square{extent{axes::cp, 2}, extent{axes::tp, 2}};

inline split_dim whole(dim_name name, std::int64_t size) { return {name, size, {}}; }
using arrays = std::vector<array>;
using layouts = std::vector<layout>;

inline void holds(const operation& op, const mesh& m, unsigned one_in = 1, bool zigzag = false) {
  const tally t = judge_all(op, m, one_in, zigzag);
  INFO(op.name << " on " << m.size() << " ranks");
  CHECK(t.legal > 0);
  for (std::size_t i = 0; i < t.wrong.size() && i < 4; ++i) FAIL_CHECK(t.wrong[i]);
  std::printf("%-22s %d ranks: %5d legal, %5d refused (%d without any result)\n", op.name.c_str(), m.size(), t.legal,
              t.refused, t.no_result);
}

// f of each element, of each pair of elements (nothing where shapes differ), of each element of a [rows, n] with b [n].
template <class F>
array map(const array& a, F f) {
  array y = a;
  for (num& v : y.at) v = f(v);
  return y;
}
template <class F>
std::optional<array> zip(const array& a, const array& b, F f) {
  if (a.shape != b.shape) return std::nullopt;
  array y = a;
  for (std::int64_t i = 0; i < a.count(); ++i) y[i] = f(a[i], b[i]);
  return y;
}
template <class F>
std::optional<array> zip_last(const array& a, const array& b, F f) {
  if (a.shape.back() != b.shape.back()) return std::nullopt;
  array y = a;
  for (std::int64_t i = 0; i < a.count(); ++i) y[i] = f(a[i], b[i % b.count()]);
  return y;
}

}  // namespace meshpar::test
