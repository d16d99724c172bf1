// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/meshpar.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>

using namespace meshpar;

namespace {

// A command line that may be taken apart.
struct command_line {
  explicit command_line(std::vector<std::string> words) : words_(std::move(words)) {
    for (std::string& w : words_) argv.push_back(w.data());
    argc = static_cast<int>(argv.size());
    argv.push_back(nullptr);
  }
  std::vector<std::string> left() const { return {argv.begin(), argv.begin() + argc}; }

  int argc = 0;
  std::vector<char*> argv;

 private:
  std::vector<std::string> words_;
};

launch_options taken(std::vector<std::string> words) {
  command_line line(std::move(words));
  return take_launch_options(line.argc, line.argv.data());
}

// Another product than the default one.
struct other_gemm : plain_gemm {};

constexpr model tiny = llama_like({.layers = 1, .hidden = 16, .heads = 2, .ffn = 32, .vocab = 32, .seq = 8});
constexpr job four{.global_batch = 4};
constexpr plan two{.dp = 2};
using net = decoder<tiny, four, two>;

static_assert(__is_same(parts<>::comm, threads) && __is_same(parts<>::gemm, plain_gemm));
static_assert(__is_same(parts<other_gemm>::gemm, other_gemm) && __is_same(parts<other_gemm>::comm, threads));
static_assert(__is_same(parts<threads, other_gemm>::gemm, other_gemm));
static_assert(__is_same(parts<other_gemm, threads>::gemm, other_gemm));

}  // namespace

TEST_CASE("the options of launching are taken out of a command line, the rest stays") {
  command_line line({"train", "--steps", "3", "--rank", "1", "--time-out=2.5", "--world-size=4", "text"});
  const launch_options o = take_launch_options(line.argc, line.argv.data());
  CHECK(o.time_out == 2.5);
  CHECK(o.where.rank == 1);
  CHECK(o.where.size == 4);
  CHECK(by_a_launcher(o.where));
  CHECK(line.left() == std::vector<std::string>{"train", "--steps", "3", "text"});
  CHECK(line.argv[4] == nullptr);
  CHECK_FALSE(by_a_launcher(taken({"train"}).where));
}

TEST_CASE("options of launching that cannot be are named") {
  CHECK_THROWS_WITH(taken({"train", "--rank"}), "--rank has no value: give one behind it");
  CHECK_THROWS_WITH(taken({"train", "--token=a", "--token=b"}), "--token is given twice: give it once");
  for (const char* bad : {"x", "0", "-1", "nan", "1s", ""})
    CHECK_THROWS_WITH(taken({"train", "--time-out", bad}),
                      doctest::Contains("is no number of seconds from 0.1 to 1e6"));
  CHECK_THROWS_WITH(taken({"train", "--rank", "4", "--world-size", "4"}), doctest::Contains("--rank"));
  CHECK_THROWS_WITH(taken({"train", "--rank", "1"}), doctest::Contains("--world-size"));
}

TEST_CASE("launch runs the ranks of a plan as threads, and no program of threads as one of several processes") {
  std::mutex mutex;
  std::set<int> seen;
  launch<net>([&](auto& r) {
    const std::lock_guard lock(mutex);
    seen.insert(r.number());
  });
  CHECK(seen == std::set<int>{0, 1});
  seen.clear();  // in the shell of a launcher's one task
  launch<net>(
      [&](auto& r) {
        const std::lock_guard lock(mutex);
        seen.insert(r.number());
      },
      taken({"x", "--rank", "0", "--world-size", "1"}));
  CHECK(seen == std::set<int>{0, 1});
  CHECK_THROWS_WITH_AS(launch<net>([](auto&) {}, taken({"x", "--rank", "1", "--world-size", "2"})),
                       "this process is rank 1 of 2, from arguments, but this program runs its ranks as threads: start "
                       "it alone, or give launch a communicator of processes (launch<net, mp::mpi>)",
                       std::invalid_argument);
}

TEST_CASE("as a main function launch returns a status") {
  command_line none({"train"}), word({"train", "text"});
  int calls = 0;
  std::mutex mutex;
  const auto count = [&](auto&) {
    const std::lock_guard lock(mutex);
    ++calls;
  };
  CHECK(launch<net>(none.argc, none.argv.data(), count) == 0);
  CHECK(calls == 2);
  CHECK(launch<net>(word.argc, word.argv.data(), count) == 1);
  CHECK(launch<net>(none.argc, none.argv.data(), [](auto&) { throw std::runtime_error("no"); }) == 1);
  CHECK(calls == 2);
}

TEST_CASE("a world of another size than the plan's is refused") {
  threads_world three(3);
  CHECK_THROWS_WITH(run_on<net>(three, [](auto&) {}),
                    "ranks (3) are not pp * dp * cp * tp = 1 * 2 * 1 * 1 = 2; start 2 ranks");
}

TEST_CASE("a step log holds a line for each step, on each rank, as soon as the step is done") {
  const auto folder = std::filesystem::temp_directory_path() / ("meshpar_step_log_" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  const auto lines = [&](int rank) {
    std::ifstream in(folder / ("rank_" + std::to_string(rank) + ".tsv"));
    std::vector<std::string> all;
    for (std::string line; std::getline(in, line);) all.push_back(line);
    return all;
  };
  launch<net>([&](auto& r) {
    step_log log(folder.string(), r);
    for (int s = 1; s <= 3; ++s) {
      log({.number = s, .report = {.loss = 2.5, .grad_norm = 0.5}, .learning_rate = 1e-3, .seconds = 0.25});
      CHECK(lines(r.number()).size() == 1 + static_cast<std::size_t>(s));
    }
  });
  for (const int rank : {0, 1}) {
    CHECK(lines(rank)[0] == "step\tloss\tgradient_norm\tlearning_rate\tseconds\ttokens_per_second");
    CHECK(lines(rank)[3] == "3\t2.5\t0.5\t0.001\t0.25\t128");
  }
  CHECK_THROWS_WITH(launch<net>([&](auto& r) { step_log("/nowhere", r); }),
                    doctest::Contains("cannot write the step log '/nowhere/rank_"));
  std::filesystem::remove_all(folder);
}
