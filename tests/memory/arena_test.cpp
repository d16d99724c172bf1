// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/memory/arena.hpp>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <utility>

namespace {
using meshpar::arena;

// Whether a process that writes a byte at an offset of the arena is ended by the system for it.
bool dies_writing(const arena& a, std::int64_t offset) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (const int s : {SIGSEGV, SIGBUS}) ::signal(s, SIG_DFL);  // not the test library's
    *const_cast<volatile unsigned char*>(a.at(offset)) = 1;
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_CASE("an arena ends where it says, to the byte") {
  const long page = ::sysconf(_SC_PAGESIZE);
  for (const long bytes : {64L, page - 64, page, page + 64, 3 * page}) {
    const arena a(bytes);
    CHECK(a.size() == bytes);
    CHECK(!dies_writing(a, 0));
    CHECK(!dies_writing(a, bytes - 1));
    CHECK(dies_writing(a, bytes));
    CHECK(dies_writing(a, bytes + page - 1));
  }
}

TEST_CASE("a new arena is zero, and paint shows the highest byte written") {
  arena a(10000);
  CHECK(*a.at(0) == 0);
  CHECK(*a.at(9999) == 0);
  a.paint();
  CHECK(a.highest_touched() == 0);
  *a.at(0) = 1;
  CHECK(a.highest_touched() == 1);
  *a.at(7000) = 0;
  CHECK(a.highest_touched() == 7001);
  *a.at(20) = 3;
  CHECK(a.highest_touched() == 7001);
  *a.at(9999) = 1;
  CHECK(a.highest_touched() == 10000);
  a.paint();
  CHECK(a.highest_touched() == 0);
}

TEST_CASE("a size that is a multiple of the alignment is aligned: the start is a cache line") {
  for (const long bytes : {64L, 4096L, 64L * 1001})
    CHECK(reinterpret_cast<std::uintptr_t>(arena(bytes).at(0)) % 64 == 0);
}

TEST_CASE("an arena moves with its memory") {
  arena a(4096);
  unsigned char* const start = a.at(0);
  *a.at(5) = 17;
  arena b(std::move(a));
  CHECK(b.at(0) == start);
  CHECK(*b.at(5) == 17);
  arena c(64);
  c = std::move(b);
  CHECK(c.at(0) == start);
  CHECK(c.size() == 4096);
  arena none;
  CHECK(none.size() == 0);
  none = std::move(c);
  CHECK(*none.at(5) == 17);
}

TEST_CASE("an arena over somebody else's memory leaves it to them") {
  alignas(64) unsigned char memory[256] = {1, 2, 3};
  {
    arena a(memory, 128);
    CHECK(a.size() == 128);
    CHECK(a.at(0) == memory);
    arena b(std::move(a));
    CHECK(b.at(2) == memory + 2);
    b.paint();
    CHECK(b.highest_touched() == 0);
    b = arena(64);
  }
  CHECK(memory[127] == arena::paint_byte);
  CHECK(memory[128] == 0);
}

TEST_CASE("an arena that cannot be had throws") { CHECK_THROWS_AS(arena(std::int64_t{1} << 60), std::bad_alloc); }

}  // namespace
