// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/call.hpp>

#include <cstdint>

namespace meshpar::inline v0 {

// Elements [begin, end) of all `outs` outputs become the reduction of the same elements of all n inputs, in the order
// of the inputs. An output may be one of the inputs: a block is read whole before it is written.
using reduce_function = void (*)(const void* const* in, int n, void* const* out, int outs, long begin, long end);

template <reduction How, class A>
constexpr A combine(A a, A b) {
  if constexpr (How == reduction::max)
    return a < b ? b : a;
  else if constexpr (__is_same(A, std::int32_t))  // wraps
    return static_cast<A>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
  else
    return a + b;
}

// The sums stay in a block that fits the registers or the first cache, so each input is read and each output is
// written once; the constant trip count lets compilers vectorise without run-time checks.
template <class E, class A, reduction How, int Width>
void reduce_block(const void* const* in, int n, void* const* out, int outs, long at) {
  A sums[Width];
  const E* first = static_cast<const E*>(in[0]) + at;
  for (int j = 0; j < Width; ++j) sums[j] = static_cast<A>(first[j]);
  for (int q = 1; q < n; ++q) {
    const E* next = static_cast<const E*>(in[q]) + at;
    for (int j = 0; j < Width; ++j) sums[j] = combine<How>(sums[j], static_cast<A>(next[j]));
  }
  E rounded[Width];
  for (int j = 0; j < Width; ++j) rounded[j] = static_cast<E>(sums[j]);
  for (int q = 0; q < outs; ++q) __builtin_memcpy(static_cast<E*>(out[q]) + at, rounded, sizeof rounded);
}

template <class E, class A, reduction How>
void reduce_range(const void* const* in, int n, void* const* out, int outs, long begin, long end) {
  constexpr int width = static_cast<int>(256 / sizeof(A));
  long at = begin;
  for (; at + width <= end; at += width) reduce_block<E, A, How, width>(in, n, out, outs, at);
  for (; at < end; ++at) reduce_block<E, A, How, 1>(in, n, out, outs, at);
}

template <class E, class A>
constexpr reduce_function reducer_of(reduction how) {
  return how == reduction::sum ? reduce_range<E, A, reduction::sum> : reduce_range<E, A, reduction::max>;
}

// Null where the sum would be kept in something narrower than f32 or of another kind than the elements.
constexpr reduce_function reducer(dtype element, dtype accumulate, reduction how) {
  if (element == dtype::f32 && accumulate == dtype::f32) return reducer_of<float, float>(how);
  if (element == dtype::f32 && accumulate == dtype::f64) return reducer_of<float, double>(how);
  if (element == dtype::f64 && accumulate == dtype::f64) return reducer_of<double, double>(how);
  if (element == dtype::bf16 && accumulate == dtype::f32) return reducer_of<bf16, float>(how);
  if (element == dtype::bf16 && accumulate == dtype::f64) return reducer_of<bf16, double>(how);
  if (element == dtype::i32 && accumulate == dtype::i32) return reducer_of<std::int32_t, std::int32_t>(how);
  return nullptr;
}

}  // namespace meshpar::inline v0
