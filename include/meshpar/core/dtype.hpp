// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/core/bf16.hpp>

#include <cstdint>

namespace meshpar::inline v0 {

// The element types that records and messages name; i32 holds token ids, bytes is scratch.
enum class dtype : std::uint8_t { f32, f64, bf16, i32, bytes };

// Bytes of one element.
constexpr long size_of(dtype t) {
  constexpr long bytes[] = {4, 8, 2, 4, 1};
  return bytes[static_cast<int>(t)];
}

// The word that messages use for it.
constexpr const char* name_of(dtype t) {
  constexpr const char* names[] = {"f32", "f64", "bf16", "i32", "bytes"};
  return names[static_cast<int>(t)];
}

template <class T>
inline constexpr dtype dtype_of = T::not_an_element_type;
template <>
inline constexpr dtype dtype_of<float> = dtype::f32;
template <>
inline constexpr dtype dtype_of<double> = dtype::f64;
template <>
inline constexpr dtype dtype_of<bf16> = dtype::bf16;
template <>
inline constexpr dtype dtype_of<std::int32_t> = dtype::i32;

// The type in which sums and statistics of elements of type T are kept: never narrower than f32.
template <class T>
struct accumulator {
  using type = float;
};
template <>
struct accumulator<double> {
  using type = double;
};
template <class T>
using accumulator_t = typename accumulator<T>::type;

// The same map on values.
constexpr dtype accumulator_of(dtype t) { return t == dtype::f64 ? dtype::f64 : dtype::f32; }

}  // namespace meshpar::inline v0
