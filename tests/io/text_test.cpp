// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/io/text.hpp>

#include <doctest/doctest.h>

#include <cstdio>
#include <set>

using namespace meshpar;

namespace {
struct temporary_file {
  std::string path = "text_test.tmp";
  explicit temporary_file(const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }
  ~temporary_file() { std::remove(path.c_str()); }
};
}  // namespace

TEST_CASE("a text is its bytes") {
  const temporary_file f(std::string("ab\xff\n", 4));
  const text_data t = read_text(f.path, 4);
  REQUIRE(t.size() == 4);
  CHECK(t.token(0) == 'a');
  CHECK(t.token(2) == 255);
}

TEST_CASE("a file that is absent or too short is named, with what to do") {
  CHECK_THROWS_WITH(read_text("no/such/file"), "cannot read the text 'no/such/file': give a readable file");
  const temporary_file f("short");
  CHECK_THROWS_WITH(read_text(f.path, 100),
                    "the text 'text_test.tmp' has 5 bytes, but at least 100 are needed: give a longer one");
  CHECK_THROWS(read_text("."));  // a folder
}

TEST_CASE("windows stay inside their part of the text, and differ by step and sample") {
  const text_data t(std::vector<std::int32_t>(10000, 7));
  const std::int64_t length = 65;
  std::set<std::int64_t> starts;
  for (std::uint64_t step = 1; step <= 20; ++step)
    for (std::int64_t sample = 0; sample < 16; ++sample) {
      const std::int64_t at = t.training_window(3, step, sample, length);
      CHECK(at >= 0);
      CHECK(at + length <= t.training_size());
      starts.insert(at);
    }
  CHECK(starts.size() > 300);  // of 320 draws from 9,436 places
  for (std::int64_t sample = 0; sample < 40; ++sample) {
    const std::int64_t at = t.evaluation_window(sample, length);
    CHECK(at >= t.training_size());
    CHECK(at + length <= t.size());
  }
  CHECK(t.training_window(3, 1, 0, length) == t.training_window(3, 1, 0, length));
  CHECK(t.training_window(3, 1, 0, length) != t.training_window(4, 1, 0, length));
}
