// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `meshpar check` breaks the rules over a configuration that the compiler breaks over the same constants. The
// configurations are random: write_fuzz makes them when this test is built, from the seed MESHPAR_FUZZ_SEED of CMake.
#include "rules/setup.hpp"
#include "tools/values.hpp"

#include <doctest/doctest.h>
#include <fuzz.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <limits>
#include <utility>

namespace {

namespace mt = meshpar_tools;
using namespace rules_test;

constexpr int count = static_cast<int>(sizeof fuzz / sizeof *fuzz);
static_assert(count >= 500);

// An expression for each, which is what a compiler limits.
template <int N>
constexpr std::uint64_t broken = mp::broken_entries(fuzz[N].m, fuzz[N].j, fuzz[N].p);
template <int... N>
constexpr auto verdicts(std::integer_sequence<int, N...>) {
  return std::array<std::uint64_t, sizeof...(N)>{broken<N>...};
}
constexpr auto compiled = verdicts(std::make_integer_sequence<int, count>{});

constexpr std::uint64_t bit(int entry) { return std::uint64_t{1} << entry; }
constexpr std::uint64_t not_built = bit(entry_of(rule::feature_not_built_yet));

std::uint64_t entry_named(const std::string& name) {
  for (int i = 0; i < mp::catalogue_size; ++i)
    if (name == mp::catalogue[i].name) return bit(i);
  FAIL("no rule is called " << name);
  return 0;
}

struct answer {
  int status;
  mt::json said;
};
answer asked(const std::string& arguments) {
  std::FILE* pipe = popen((MESHPAR_COMMAND " check --json " + arguments + " 2>/dev/null").c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string text;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
  const int status = pclose(pipe);
  return {WEXITSTATUS(status), text.empty() ? mt::json() : mt::json::parse(text)};
}

// The rules that an answer names, with the one whose sentence is a warning.
std::uint64_t named_in(const mt::json& said) {
  std::uint64_t all = 0;
  for (const mt::json& v : said.at("violations")) all |= entry_named(v.at("rule"));
  for (const std::string w : said.at("warnings")) all |= entry_named(w.substr(0, w.find(':')));
  return all;
}

std::string names(std::uint64_t entries) {
  std::string all;
  for (int i = 0; i < mp::catalogue_size; ++i)
    if (entries & bit(i)) all += std::string(mp::catalogue[i].name) + ' ';
  return all;
}

int how_many(auto good) { return static_cast<int>(std::count_if(compiled.begin(), compiled.end(), good)); }

}  // namespace

TEST_CASE("the command and the compiler give the same verdict") {
  for (int i = 0; i < count; ++i) {
    const std::uint64_t expected = compiled[static_cast<std::size_t>(i)];
    const std::string file = MESHPAR_FUZZ_FOLDER "/" + std::to_string(i) + ".json";
    const answer a = asked("--config " + file);
    CAPTURE(file);
    REQUIRE(a.status == ((expected & ~not_built) == 0 ? 0 : 1));
    CHECK_MESSAGE(named_in(a.said) == expected,
                  "the command: " << names(named_in(a.said)) << "\nthe compiler: " << names(expected));
    mt::json given = mt::json::parse(std::ifstream(file));
    for (const char* part : {"model", "job", "plan"}) CHECK(a.said.at(part) == given.at(part));
  }
}

TEST_CASE("the sample is fit: a third is accepted, and every rule is broken") {
  const int accepted = how_many([](std::uint64_t b) { return (b & ~not_built) == 0; });
  const int compiles = how_many([](std::uint64_t b) { return b == 0; });
  std::printf("seed %llu: %d configurations, the command accepts %d, and %d of them compile\n", fuzz_seed, count,
              accepted, compiles);
  std::printf("%-38s broken  alone\n", "");
  CHECK(accepted * 3 >= count);
  CHECK(compiles * 6 >= count);
  for (int i = 0; i < mp::catalogue_size; ++i) {
    const int hits = how_many([i](std::uint64_t b) { return (b & bit(i)) != 0; });
    const int alone = how_many([i](std::uint64_t b) { return (b & ~not_built) == bit(i) || b == bit(i); });
    std::printf("%-38s %6d %6d\n", mp::catalogue[i].name, hits, alone);
    CHECK_MESSAGE(hits > 0, mp::catalogue[i].name);
  }
}

// Sizes far out of range are violations for both; what a file cannot say, constants can, and they do not compile.
TEST_CASE("what is out of every range is refused by the command and does not compile") {
  constexpr auto refused = [](auto change) {
    constexpr setup s = with(decltype(change){});
    return mp::broken_entries(s.m, s.j, s.p) != 0;
  };
  const std::string whole =
      "--layers 4 --hidden 64 --heads 8 --ffn 128 --vocab 250 --seq 64 --global-batch 16 --micro-batch 2";
  CHECK(asked(whole).status == 0);
  static_assert(refused([](setup& s) { s.p.tp = -1; }));
  CHECK(asked(whole + " --tp -1").status == 1);
  static_assert(refused([](setup& s) { s.m.kv_heads = -8; }));
  CHECK(asked(whole + " --kv-heads -8").status == 1);
  static_assert(refused([](setup& s) { s.p.dp = s.p.cp = 1 << 16; }));
  CHECK(asked(whole + " --dp 65536 --cp 65536").status == 1);
  static_assert(refused([](setup& s) { s.p.ep = s.p.etp = 1 << 16; }));
  CHECK(asked(whole + " --ep 65536 --etp 65536").status == 1);
  static_assert(refused([](setup& s) { s.p.pp = s.p.virtual_stages = 1 << 16; }));
  CHECK(asked(whole + " --pp 65536 --virtual-stages 65536").status == 1);
  static_assert(refused([](setup& s) { s.p.pp = 0, s.p.stage_layers[0] = 4; }));
  CHECK(asked(whole + " --pp 0 --stage-layers 4").status == 1);
  static_assert(refused([](setup& s) { s.m.dropout = std::numeric_limits<double>::quiet_NaN(); }));
  CHECK(asked(whole + " --dropout nan").status == 2);
  static_assert(refused([](setup& s) { s.p.precision.grad = mp::dtype::i32; }));
  CHECK(asked(whole + " --precision-grad i32").status == 2);
}
