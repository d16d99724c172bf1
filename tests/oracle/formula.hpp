// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

// Weights and tokens from their names alone; formula.py computes the same bits.
//   hash(name, i) = splitmix64 finaliser of (fnv1a64(name) + i * golden gamma), all mod 2^64
//   u             = its top 53 bits / 2^53;  s = 2u - 1, exact in f64
//   value         = 1 + 0.2 s for a gain, 0.1 s for a bias, 0.2 s for a matrix; each operation rounded
namespace oracle {

inline constexpr std::uint64_t fnv_offset = 0xCBF29CE484222325, fnv_prime = 0x100000001B3;

constexpr std::uint64_t fnv1a64(std::string_view text) {
  std::uint64_t state = fnv_offset;
  for (char c : text) state = (state ^ static_cast<unsigned char>(c)) * fnv_prime;
  return state;
}

// Steele, Lea, Flood: Fast splittable pseudorandom number generators (2014), variant 13 of Stafford's mixers.
constexpr std::uint64_t splitmix64(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

constexpr std::uint64_t hash(std::string_view name, std::uint64_t index) {
  return splitmix64(fnv1a64(name) + index * 0x9E3779B97F4A7C15);
}

// s in [-1, 1); every step is exact.
constexpr double symmetric(std::string_view name, std::uint64_t index) {
  return static_cast<double>(hash(name, index) >> 11) * 0x1p-52 - 1.0;
}

// Not inlined: a product that met its sum in one function could be fused and rounded once instead of twice.
[[gnu::noinline]] constexpr double rounded_product(double a, double b) { return a * b; }

// Element `index`, row-major in the logical shape, of the parameter `name`; its kind is read off the end of the name.
constexpr double value(std::string_view name, std::uint64_t index) {
  const double s = symmetric(name, index);
  if (name.ends_with("gain")) return 1.0 + rounded_product(s, 0.2);
  return rounded_product(s, name.ends_with("bias") ? 0.1 : 0.2);
}

// Token s of sample b is number b * (seq + 1) + s; the label of (b, s) is token (b, s + 1).
constexpr std::int64_t token(std::uint64_t index, std::uint64_t vocab) {
  return static_cast<std::int64_t>(hash("tokens", index) % vocab);
}

inline std::vector<double> values(std::string_view name, std::size_t count) {
  std::vector<double> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = value(name, i);
  return all;
}

// [batch, seq + 1]
inline std::vector<std::int64_t> tokens(std::size_t batch, std::size_t seq, std::size_t vocab) {
  std::vector<std::int64_t> all(batch * (seq + 1));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = token(i, vocab);
  return all;
}

// FNV-1a over the bit patterns, a word at a time.
template <class Element>
  requires(sizeof(Element) == 8)
std::uint64_t digest(const std::vector<Element>& all) {
  std::uint64_t state = fnv_offset;
  for (const Element& e : all) state = (state ^ std::bit_cast<std::uint64_t>(e)) * fnv_prime;
  return state;
}

// Computed by formula.py.
static_assert(fnv1a64("") == fnv_offset && fnv1a64("tokens") == 0x93fab8f021712b13);
static_assert(hash("tokens", 67) == 0x5d5f2aa9e973252e && hash("embedding", 1951) == 0x5d53b34fb2954102);
static_assert(token(0, 61) == 20 && token(67, 61) == 46);
static_assert(value("embedding", 0) == -0x1.f0eaedb01d110p-4);
static_assert(value("layers.1.attention.query", 1023) == 0x1.c788abb790cdap-6);
static_assert(value("final_norm.gain", 31) == 0x1.1412b47a241e6p+0);
static_assert(value("layers.0.mlp.norm.bias", 5) == -0x1.c8cd733770d67p-6);
static_assert(value("layers.0.mlp.up_bias", 127) == 0x1.56c36e49ca5e2p-4);

}  // namespace oracle
