// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/call.hpp>
#include <meshpar/comm/streaming.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace meshpar::inline v0 {

template <reduction How, class A>
constexpr A combine(A a, A b) {
  if constexpr (How == reduction::max) return a < b ? b : a;
  else if constexpr (__is_same(A, std::int32_t))  // wraps
    return static_cast<A>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
  else return a + b;
}

// sums[j] = the reduction of element j of all inputs, after what sums[j] holds already unless these are the first. The
// pack keeps running sums in registers; the constant trip count lets compilers vectorise without run-time checks.
template <reduction How, int Width, bool First, class A, class... E>
void fold_block(A* sums, const E*... in) {
  for (int j = 0; j < Width; ++j) {
    A sum = First ? A{} : sums[j];
    bool fresh = First;
    ((sum = fresh ? static_cast<A>(in[j]) : combine<How>(sum, static_cast<A>(in[j])), fresh = false), ...);
    sums[j] = sum;
  }
}

template <reduction How, int Width, bool First, class E, class A, std::size_t... Q>
void fold_inputs(A* sums, const void* const* in, long at, std::index_sequence<Q...>) {
  fold_block<How, Width, First>(sums, static_cast<const E*>(in[Q]) + at...);
}

// Where a range is written: all of `out`, which hold the elements from `first` on; past the caches if `stream`.
struct reduce_target {
  void* const* out;
  int count;
  bool stream;
  long first = 0;
};

// The lines that the next block will write are asked for ahead: no core's own prefetcher does that for stores.
template <class E, class A, reduction How, int Width, int N>
void reduce_block(const void* const* in, int n, reduce_target to, long at) {
  constexpr int line = 64 / sizeof(E);
  A sums[Width];
  fold_inputs<How, Width, true, E>(sums, in, at, std::make_index_sequence<N>{});
  for (int q = N; q < n; ++q) fold_inputs<How, Width, false, E>(sums, in + q, at, std::index_sequence<0>{});
  alignas(16) E rounded[Width];
  for (int j = 0; j < Width; ++j) rounded[j] = static_cast<E>(sums[j]);
  for (int q = 0; q < to.count; ++q) {
    E* target = static_cast<E*>(to.out[q]) + (at - to.first);
    if (Width > 1 && to.stream) {
      stream_block(target, rounded, sizeof rounded);
      continue;
    }
    for (int j = 0; j < Width; ++j) target[j] = rounded[j];
    for (int j = 0; j < Width; j += line) __builtin_prefetch(target + Width + j, 1);
  }
}

// Each input is read and each output is written once: the sums of a block stay in registers, or, where elements are
// converted, in the first cache (compilers unroll shorter blocks before they vectorise the conversion).
template <class E, class A, reduction How, int N>
void reduce_range_of(const void* const* in, int n, reduce_target to, long at, long end) {
  constexpr int wide = static_cast<int>((__is_same(E, A) ? 512 : 1024) / sizeof(A)), narrow = 16;
  for (; at + wide <= end; at += wide) reduce_block<E, A, How, wide, N>(in, n, to, at);
  for (; at + narrow <= end; at += narrow) reduce_block<E, A, How, narrow, N>(in, n, to, at);
  for (; at < end; ++at) reduce_block<E, A, How, 1, N>(in, n, to, at);
}

// The first N inputs in one sweep, the others one by one.
template <class E, class A, reduction How>
void reduce_range_to(const void* const* in, int n, reduce_target to, long begin, long end) {
  if (n >= 8) return reduce_range_of<E, A, How, 8>(in, n, to, begin, end);
  if (n >= 4) return reduce_range_of<E, A, How, 4>(in, n, to, begin, end);
  if (n >= 2) return reduce_range_of<E, A, How, 2>(in, n, to, begin, end);
  return reduce_range_of<E, A, How, 1>(in, n, to, begin, end);
}

// The buffers of ranks often lie at equal distances, where lines of many outputs push each other out of the first
// cache before they are full. So more than two get their blocks one after the other.
template <class E, class A, reduction How>
void reduce_range(const void* const* in, int n, reduce_target to, long begin, long end) {
  if (to.count <= 2) return reduce_range_to<E, A, How>(in, n, to, begin, end);
  constexpr long longest = 2048 / sizeof(E);
  alignas(64) E sums[longest];
  for (long at = begin, size; at < end; at += size) {
    size = at + longest <= end ? longest : end - at;
    void* block = sums;
    reduce_range_to<E, A, How>(in, n, {&block, 1, false, at}, at, at + size);
    for (int q = 0; q < to.count; ++q)
      move_bytes(static_cast<E*>(to.out[q]) + at, sums, size * long{sizeof(E)}, to.stream);
  }
}

// Elements [begin, end) of every output become the reduction of the same elements of all n inputs, in the order of the
// inputs. An output may be one of the inputs: a block is read whole before it is written. After streaming comes a
// stream_fence.
using reduce_function = void (*)(const void* const* in, int n, reduce_target to, long begin, long end);

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
