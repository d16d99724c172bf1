// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/core/host_device.hpp>

#include <cstdint>

namespace meshpar::inline v0 {

// Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as
// 1, 2, 3" (SC 2011). A number is a pure function of (key, counter): whoever holds an element draws it, on any layout.
struct philox_counter {
  std::uint32_t word[4]{};
  constexpr bool operator==(const philox_counter&) const = default;
};

struct philox_key {
  std::uint32_t word[2]{};
  constexpr bool operator==(const philox_key&) const = default;
};

MESHPAR_HD constexpr philox_counter philox_round(philox_counter c, philox_key k) {
  const std::uint64_t even = std::uint64_t{0xD2511F53u} * c.word[0], odd = std::uint64_t{0xCD9E8D57u} * c.word[2];
  return {{static_cast<std::uint32_t>(odd >> 32) ^ c.word[1] ^ k.word[0], static_cast<std::uint32_t>(odd),
           static_cast<std::uint32_t>(even >> 32) ^ c.word[3] ^ k.word[1], static_cast<std::uint32_t>(even)}};
}

// Four independent uniform words.
MESHPAR_HD constexpr philox_counter philox(philox_counter c, philox_key k) {
  for (int round = 0; round < 10; ++round) {
    c = philox_round(c, k);
    k = {{k.word[0] + 0x9E3779B9u, k.word[1] + 0xBB67AE85u}};
  }
  return c;
}

constexpr philox_key philox_key_of(std::uint64_t seed) {
  return {{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}};
}

// A key for one purpose, drawn from the seed: streams of different (tag, number) share no key but by the chance of
// 64 bits, and leave the whole counter to whoever uses them.
constexpr philox_key philox_stream(std::uint64_t seed, std::uint64_t tag, std::uint64_t number) {
  const philox_key t = philox_key_of(tag), n = philox_key_of(number);
  const philox_counter drawn = philox({{t.word[0], t.word[1], n.word[0], n.word[1]}}, philox_key_of(seed));
  return {{drawn.word[0], drawn.word[1]}};
}

// The known answers published with Random123.
static_assert(philox({}, {}) == philox_counter{{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}});
static_assert(philox({{~0u, ~0u, ~0u, ~0u}}, {{~0u, ~0u}}) ==
              philox_counter{{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}});
static_assert(philox({{0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}}, {{0xa4093822u, 0x299f31d0u}}) ==
              philox_counter{{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}});

}  // namespace meshpar::inline v0
