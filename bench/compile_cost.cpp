// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What compiling costs: seconds of processor time (the least of several runs), peak memory, object bytes and, by
// clang, template instantiations, of the files that bench/compile_cost/write_sources writes. To be run in the root of
// the repository. Option: compilers to ask (g++ clang++ nvcc).
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace {

const std::string folder = "build/compile_cost";
constexpr int plans = 150, priced_plans = 10;

struct cost {
  bool good = false;
  double seconds = 1e9;  // user and system
  double megabytes = 0;
  long object_bytes = 0, instantiations = 0;
};

// Runs a command without its output; seconds and peak memory include those of its children.
cost run(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& w : words) arguments.push_back(const_cast<char*>(w.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    const int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, 1);
    dup2(nowhere, 2);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  int status = 0;
  rusage used{};
  wait4(child, &status, 0, &used);
  const auto in_seconds = [](const timeval& t) { return double(t.tv_sec) + double(t.tv_usec) * 1e-6; };
  cost c;
  c.good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  c.seconds = in_seconds(used.ru_utime) + in_seconds(used.ru_stime);
  c.megabytes = double(used.ru_maxrss) / 1024;
  return c;
}

bool is_clang(const std::string& compiler) { return compiler.find("clang") != std::string::npos; }
bool is_nvcc(const std::string& compiler) { return compiler.find("nvcc") != std::string::npos; }

long occurrences(const std::string& path, const std::string& word) {
  std::ifstream in(path);
  const std::string all{std::istreambuf_iterator<char>(in), {}};
  long n = 0;
  for (std::size_t at = all.find(word); at != std::string::npos; at = all.find(word, at + 1)) ++n;
  return n;
}

std::vector<std::string> command(const std::string& compiler, const std::string& file, const std::string& object) {
  std::vector<std::string> words{compiler, "-std=c++20", "-O2", "-g", "-Iinclude", "-c", file, "-o", object};
  if (is_nvcc(compiler)) words.insert(words.begin() + 1, {"-x", "cu", "-arch=sm_90"});
  return words;
}

cost compile(const std::string& compiler, const std::string& name, int times) {
  const std::string file = folder + "/" + name + ".cpp", object = folder + "/" + name + ".o";
  cost best;
  for (int i = 0; i < times; ++i) {
    const cost c = run(command(compiler, file, object));
    if (!c.good) return c;
    if (c.seconds < best.seconds) best = c;
  }
  struct stat made{};
  if (stat(object.c_str(), &made) == 0) best.object_bytes = made.st_size;
  if (is_clang(compiler)) {
    std::vector<std::string> words = command(compiler, file, object);
    words.insert(words.end(), {"-ftime-trace", "-ftime-trace-granularity=0"});
    run(words);
    const std::string trace = folder + "/" + name + ".json";
    best.instantiations = occurrences(trace, "\"InstantiateClass\"") + occurrences(trace, "\"InstantiateFunction\"");
  }
  return best;
}

void print(const char* name, const cost& c) {
  if (!c.good) {
    std::printf("  %-34s does not compile\n", name);
    return;
  }
  std::printf("  %-34s %8.0f ms %7.0f MB %9ld B", name, c.seconds * 1e3, c.megabytes, c.object_bytes);
  if (c.instantiations > 0) std::printf(" %8ld instantiations", c.instantiations);
  std::printf("\n");
}

void print_further(const char* name, const cost& one, const cost& many, int further, const char* target) {
  if (!one.good || !many.good) return;
  std::printf("  %-34s %8.1f ms %17.0f B", name, (many.seconds - one.seconds) / further * 1e3,
              double(many.object_bytes - one.object_bytes) / further);
  if (many.instantiations > 0)
    std::printf(" %8.1f instantiations", double(many.instantiations - one.instantiations) / further);
  std::printf("%s\n", target);
}

void measure(const std::string& compiler) {
  std::printf("%s -std=c++20 -O2 -g\n", compiler.c_str());
  const int often = is_nvcc(compiler) ? 2 : 5;
  std::map<std::string, cost> of;
  for (const char* name : {"empty", "check", "layer"}) of[name] = compile(compiler, name, often);
  for (const char* name : {"plans_1", "plans_N", "priced_1", "priced_N", "train"})
    of[name] = compile(compiler, name, 1);
  print("an empty file", of["empty"]);
  print("check.hpp, one plan checked", of["check"]);
  std::printf("  %-34s %8.0f ms %s\n", "  over the empty file", (of["check"].seconds - of["empty"].seconds) * 1e3,
              is_nvcc(compiler) ? "" : "                             target <= 120 ms with g++");
  print("a user's layer under one plan", of["layer"]);
  print("1 plan: rules, layer, traced", of["plans_1"]);
  print("150 plans", of["plans_N"]);
  print_further("  each further plan", of["plans_1"], of["plans_N"], plans - 1, "  target <= 50 ms, 10 kB");
  print("1 decoder priced while compiling", of["priced_1"]);
  print("10 decoders", of["priced_N"]);
  print_further("  each further decoder", of["priced_1"], of["priced_N"], priced_plans - 1, "");
  print("a training program", of["train"]);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> compilers(argv + 1, argv + argc);
  if (compilers.empty()) compilers = {"g++", "clang++", "nvcc"};
  if (!run({"bench/compile_cost/write_sources", folder, std::to_string(plans)}).good) {
    std::fprintf(stderr, "compile_cost: run it in the root of the repository\n");
    return 1;
  }
  for (const std::string& c : compilers)
    if (run({c, "--version"}).good) measure(c);
    else if (is_nvcc(c) && run({"/usr/local/cuda/bin/nvcc", "--version"}).good) measure("/usr/local/cuda/bin/nvcc");
    else std::printf("%s is missing\n", c.c_str());
}
