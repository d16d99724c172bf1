// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/core/dtype.hpp>
#include <meshpar/core/philox.hpp>

#include <cmath>

namespace meshpar::inline v0::kernels {

// FNV-1a of a parameter's name: the tag of its random stream.
constexpr std::uint64_t name_hash(const char* name) {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (; *name; ++name) h = (h ^ static_cast<unsigned char>(*name)) * 0x100000001b3u;
  return h;
}

// Uniform in (0, 1), from 52 random bits: with half a unit added it is still exact, so neither end is reached.
constexpr double open_uniform(std::uint32_t high, std::uint32_t low) {
  const std::uint64_t bits = ((std::uint64_t{high} << 32) | low) >> 12;
  return (double(bits) + 0.5) * 0x1p-52;
}

// Element `index` (global, in the logical tensor) of a standard normal stream: Box and Muller (1958) in double. Two
// neighbours share a draw, but each is a function of its own index alone.
inline double normal(philox_key stream, long index) {
  const auto pair = static_cast<std::uint64_t>(index) / 2;
  const philox_counter u =
      philox({{static_cast<std::uint32_t>(pair), static_cast<std::uint32_t>(pair >> 32), 0, 0}}, stream);
  const double radius = std::sqrt(-2 * std::log(open_uniform(u.word[0], u.word[1])));
  const double angle = 6.283185307179586476925 * open_uniform(u.word[2], u.word[3]);
  return radius * (index % 2 ? std::sin(angle) : std::cos(angle));
}
inline double normal(std::uint64_t seed, std::uint64_t name, long index) {
  return normal(philox_stream(seed, name, 0), index);
}

// y[i] = deviation * normal(seed, name, global(i)) for i < n, where global maps a local to a global index.
template <class T, class Global>
void normal_fill(T* y, long n, std::uint64_t seed, std::uint64_t name, double deviation, Global global) {
  const philox_key stream = philox_stream(seed, name, 0);
  for (long i = 0; i < n; ++i) y[i] = T(deviation * normal(stream, global(i)));
}

}  // namespace meshpar::inline v0::kernels
