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
  static constexpr model m = M;
  static constexpr job j = J;
  static constexpr plan p = P;
};

// Entry of the catalogue as a check on constants.
template <const model& M, const job& J, const plan& P, int Entry>
struct plan_check {
  static constexpr verdict result = catalogue[Entry].check(M, J, P);
};

// The entries of the catalogue that a configuration breaks, as numbers in a type.
constexpr int nth_bit(std::uint64_t bits, int index) {
  for (; index > 0; --index) bits &= bits - 1;
  int at = 0;
  while ((bits >> at & 1) == 0) ++at;
  return at;
}
constexpr int bit_count(std::uint64_t bits) {
  int n = 0;
  for (; bits != 0; bits &= bits - 1) ++n;
  return n;
}
template <int... Entry>
struct breaks;
template <std::uint64_t Bits, int... Index>
breaks<nth_bit(Bits, Index)...> entries_of(std::integer_sequence<int, Index...>);
template <std::uint64_t Bits>
using breaks_of = decltype(entries_of<Bits>(std::make_integer_sequence<int, bit_count(Bits)>{}));

// What stands in for a refused configuration, so that nothing after the refusal fails as well.
inline constexpr model smallest_model{.layers = 1, .hidden = 2, .heads = 1, .ffn = 2, .vocab = 2, .seq = 2};
inline constexpr job smallest_job{.global_batch = 1};
inline constexpr plan one_rank{};

// Compiles when every rule holds; otherwise each broken rule is one error, from a base of its own. By reference, so
// that errors name the configuration in the user's words; `values` is the same configuration by value.
template <const model& M, const job& J, const plan& P, class Broken = breaks_of<broken_entries(M, J, P)>>
struct checked_plan;
template <const model& M, const job& J, const plan& P>
struct checked_plan<M, J, P, breaks<>> {
  static constexpr bool ok = true;
  using values = plan_of<M, J, P>;
};
template <const model& M, const job& J, const plan& P, int... Entry>
struct checked_plan<M, J, P, breaks<Entry...>> : require<plan_check<M, J, P, Entry>>... {
  static constexpr bool ok = true;
  using values = plan_of<smallest_model, smallest_job, one_rank>;
};

}  // namespace meshpar::inline v0
