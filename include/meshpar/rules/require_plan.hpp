// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/core/require.hpp>
#include <meshpar/rules/catalogue.hpp>

#include <cstdint>
#include <utility>

namespace meshpar::inline v0 {

// A configuration by value: equal ones are one type, whatever their names.
template <model M, job J, plan P>
struct plan_of {
  static constexpr const model& m = M;
  static constexpr const job& j = J;
  static constexpr const plan& p = P;
};

// Entry of the catalogue as a check on constants.
template <const model& M, const job& J, const plan& P, int Entry>
struct plan_check {
  static constexpr verdict result = catalogue[Entry].check(M, J, P);
};

// The place of the index-th set bit.
constexpr int nth_bit(std::uint64_t bits, int index) {
  int at = 0;
  for (; index > 0 || (bits >> at & 1) == 0; ++at)
    if (bits >> at & 1) --index;
  return at;
}
constexpr int bit_count(std::uint64_t bits) {
  int n = 0;
  for (; bits != 0; bits &= bits - 1) ++n;
  return n;
}

// One base for each broken rule, so that each gives its own error.
template <const model& M, const job& J, const plan& P, std::uint64_t Broken, class Indices>
struct plan_is_refused;
template <const model& M, const job& J, const plan& P, std::uint64_t Broken, int... Index>
struct plan_is_refused<M, J, P, Broken, std::integer_sequence<int, Index...>>
    : require<plan_check<M, J, P, nth_bit(Broken, Index)>>... {};

// What stands in for a refused configuration, so that nothing after the refusal fails as well.
inline constexpr model smallest_model{.layers = 1, .hidden = 2, .heads = 1, .ffn = 2, .vocab = 2, .seq = 2};
inline constexpr job smallest_job{.global_batch = 1};
inline constexpr plan one_rank{};

template <const model& M, const job& J, const plan& P, std::uint64_t Broken = broken_entries(M, J, P)>
struct judged_plan : plan_is_refused<M, J, P, Broken, std::make_integer_sequence<int, bit_count(Broken)>> {
  using values = plan_of<smallest_model, smallest_job, one_rank>;
};
template <const model& M, const job& J, const plan& P>
struct judged_plan<M, J, P, 0> {
  using values = plan_of<M, J, P>;
};

// Compiles when every rule holds; otherwise each broken rule is one error. By reference, so that errors name the
// configuration in the user's words; `values` is the same configuration by value.
template <const model& M, const job& J, const plan& P>
struct checked_plan : judged_plan<M, J, P> {
  static constexpr bool ok = true;
};

}  // namespace meshpar::inline v0
