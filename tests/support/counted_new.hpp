// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
// Every operator new of the program, counted; what C libraries take by malloc is not. Included by one file of a
// program.
#include <atomic>
#include <cstdlib>
#include <new>

inline std::atomic<long> allocations{0};

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* p = std::malloc(bytes)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
