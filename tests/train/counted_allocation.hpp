// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
// Every allocation of the process, counted: malloc and its kin are defined here, before those of the C library, so that
// what libstdc++, OpenMP and oneDNN take is seen too; operator new ends in malloc. Included by one file of a program.
#include <atomic>
#include <cerrno>
#include <cstddef>

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace counted {

// A thread of a library works for whatever has started it: it counts as inside a product until it says otherwise.
inline thread_local bool inside_product = true;
inline std::atomic<long> all{0}, inside_products{0};

inline void* one_more(void* p) {
  all.fetch_add(1, std::memory_order_relaxed);
  if (inside_product) inside_products.fetch_add(1, std::memory_order_relaxed);
  return p;
}

}  // namespace counted

extern "C" {
void* malloc(std::size_t bytes) { return counted::one_more(__libc_malloc(bytes)); }
void* calloc(std::size_t count, std::size_t bytes) { return counted::one_more(__libc_calloc(count, bytes)); }
void* realloc(void* old, std::size_t bytes) { return counted::one_more(__libc_realloc(old, bytes)); }
void* memalign(std::size_t line, std::size_t bytes) { return counted::one_more(__libc_memalign(line, bytes)); }
void* aligned_alloc(std::size_t line, std::size_t bytes) { return memalign(line, bytes); }
int posix_memalign(void** to, std::size_t line, std::size_t bytes) {
  *to = memalign(line, bytes);
  return *to == nullptr ? ENOMEM : 0;
}
}
