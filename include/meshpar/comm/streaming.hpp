// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstddef>
#include <cstdint>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace meshpar::inline v0 {

// Stores past the caches. An ordinary store first reads the line that it overwrites; for results too large for a
// core's cache that is a third of the traffic of a copy. Below this many bytes written per call, ordinary stores win,
// for the reader finds the result in a cache.
inline constexpr long streaming_bytes = 4 << 20;

// Before a flag that tells others of streamed data.
inline void stream_fence() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

// `bytes` is a multiple of 16.
inline void stream_block(void* to, const void* from, long bytes) {
#if defined(__SSE2__)
  if (reinterpret_cast<std::uintptr_t>(to) % 16 == 0) {
    auto* target = static_cast<__m128i*>(to);
    const auto* source = static_cast<const __m128i*>(from);
    for (long i = 0; i < bytes / 16; ++i) _mm_stream_si128(target + i, _mm_loadu_si128(source + i));
    return;
  }
#endif
  __builtin_memcpy(to, from, static_cast<std::size_t>(bytes));
}

// Any size and alignment.
inline void stream_copy(std::byte* to, const std::byte* from, long bytes) {
  const long head = static_cast<long>(-reinterpret_cast<std::uintptr_t>(to) % 64);
  const long middle = (bytes - head) / 64 * 64;
  if (middle <= 0) return static_cast<void>(__builtin_memcpy(to, from, static_cast<std::size_t>(bytes)));
  __builtin_memcpy(to, from, static_cast<std::size_t>(head));
  stream_block(to + head, from + head, middle);
  __builtin_memcpy(to + head + middle, from + head + middle, static_cast<std::size_t>(bytes - head - middle));
}

inline void move_bytes(void* to, const void* from, long bytes, bool stream) {
  if (stream && bytes >= 256) stream_copy(static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes);
  else if (bytes > 0) __builtin_memcpy(to, from, static_cast<std::size_t>(bytes));
}

}  // namespace meshpar::inline v0
