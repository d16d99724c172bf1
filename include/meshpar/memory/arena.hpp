// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

namespace meshpar::inline v0 {

// All the memory of one rank, of a size known beforehand: mapped once, its last byte just before a page that nobody may
// touch. `paint` fills it with a pattern, after which `highest_touched` tells how much of it has been written since.
class arena {
 public:
  static constexpr unsigned char paint_byte = 0xA5;

  arena() = default;
  explicit arena(std::int64_t bytes) : bytes_(bytes) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    mapped_ = (static_cast<std::size_t>(bytes) + page - 1) / page * page + page;
    void* p = ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<unsigned char*>(p);
    ::mprotect(base_ + mapped_ - page, page, PROT_NONE);
    start_ = base_ + mapped_ - page - bytes;
  }
  // Over memory of somebody else's, who keeps it alive and frees it. Nothing guards its end.
  arena(void* memory, std::int64_t bytes) : start_(static_cast<unsigned char*>(memory)), bytes_(bytes) {}
  arena(arena&& other) noexcept { swap(other); }
  arena& operator=(arena&& other) noexcept {
    arena taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~arena() {
    if (base_ != nullptr) ::munmap(base_, mapped_);
  }

  std::int64_t size() const { return bytes_; }
  unsigned char* at(std::int64_t offset) const { return start_ + offset; }

  // Paints what lies at `from` and above it.
  void paint(std::int64_t from = 0) { std::memset(start_ + from, paint_byte, static_cast<std::size_t>(bytes_ - from)); }
  // One past the last byte that no longer has the painted value.
  std::int64_t highest_touched() const {
    std::int64_t end = bytes_;
    while (end > 0 && start_[end - 1] == paint_byte) --end;
    return end;
  }

 private:
  void swap(arena& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(start_, other.start_);
    std::swap(bytes_, other.bytes_);
    std::swap(mapped_, other.mapped_);
  }
  unsigned char* base_ = nullptr;
  unsigned char* start_ = nullptr;
  std::int64_t bytes_ = 0;
  std::size_t mapped_ = 0;
};

}  // namespace meshpar::inline v0
