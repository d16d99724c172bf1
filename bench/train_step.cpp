// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tokens per second of a training step beside PyTorch on two cores: one rank of two threads, two ranks of one thread
// (dp2, tp2 with sequence parallelism), f32 and bf16 with f32 master weights. Every configuration takes its turn in
// every round; medians and their ratios are printed beside the targets.
//
//   train_step [--model small|124M] [--rounds N] [--steps N] [--busy] [--profile]
//
// --busy is for a machine that others use: rates are per second of processor time, and everything runs on one thread.
// --profile prints instead where the time of a step on one thread goes. The peer is bench/peers/torch_step.py, run by
// the python of $MESHPAR_PYTHON or build/venv/bin/python3; where it is missing it is named.
#include <meshpar/comm/threads/world.hpp>
#include <meshpar/core/philox.hpp>
#include <meshpar/device/host_gemm.hpp>
#include <meshpar/device/onednn_gemm.hpp>
#include <meshpar/nn/program.hpp>
#include <meshpar/train/rank.hpp>

#include "step_profile.hpp"

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

using namespace meshpar;

namespace {

struct options {
  std::string model = "small";
  int rounds = 3, steps = 7;  // the first two steps of each turn are not timed
  bool busy = false, profile = false;
};

struct task {
  model what;
  job how_much;
};

// The two models of the peer: GPT-2 form, no dropout, biases, tied embeddings.
task task_of(const std::string& name) {
  if (name == "small")
    return {gpt2_like({.layers = 4, .hidden = 256, .heads = 8, .ffn = 1024, .vocab = 4096, .seq = 256}),
            {.global_batch = 4}};
  if (name == "124M")
    return {gpt2_like({.layers = 12, .hidden = 768, .heads = 12, .ffn = 3072, .vocab = 50257, .seq = 256}),
            {.global_batch = 4}};
  std::fprintf(stderr, "train_step: no model '%s'; there are small and 124M\n", name.c_str());
  std::exit(2);
}

// Of the wall, or of the processor time of this process.
double seconds(bool busy) {
  timespec t;
  clock_gettime(busy ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

double median(std::vector<double> v) {
  if (v.empty()) return 0;
  std::nth_element(v.begin(), v.begin() + long(v.size() / 2), v.end());
  return v[v.size() / 2];
}

// Token `position` of sample `sample` of a step: uniform, and the label is the token after it.
int token(const model& m, int step, std::int64_t sample, std::int64_t position) {
  const philox_counter at{
      {static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(sample), static_cast<std::uint32_t>(step), 0}};
  return static_cast<int>(philox(at, philox_key_of(7)).word[0] % static_cast<std::uint32_t>(m.vocab));
}

template <class Rank>
void train_one(Rank& r, const task& t, int step) {
  const auto id = [&](std::int64_t s, std::int64_t p) { return token(t.what, step, s, p); };
  const auto label = [&](std::int64_t s, std::int64_t p) { return token(t.what, step, s, p + 1); };
  r.step(static_cast<std::uint64_t>(step), id, label, {.adam = {.learning_rate = 1e-4}, .decay = 0, .clip_norm = 0});
}

// All of a step's micro-batch at once.
task as_one_micro_batch(task t, const plan& p) {
  t.how_much.micro_batch = t.how_much.global_batch / p.dp;
  return t;
}

// Seconds of the median step, of rank 0: every rank waits for the others in each.
template <class Types, class Gemm>
double run_ours(const task& given, const plan& p, int threads_each, const options& o) {
  const task t = as_one_micro_batch(given, p);
  const program what(t.what, t.how_much, p, stack<>(t.what, t.how_much));
  std::vector<double> taken;
  threads_world world(static_cast<int>(world_size(p)));
  world.run([&](threads& comm) {
    Gemm::set_threads(threads_each);
    rank<Types, Gemm, threads> r(what, comm);
    for (int step = 0; step < o.steps; ++step) {
      const double start = seconds(o.busy);
      train_one(r, t, step);
      if (comm.rank() == 0 && step >= 2) taken.push_back(seconds(o.busy) - start);
    }
  });
  return median(taken);
}

using f32_types = element_types<float, float, float, float>;
using bf16_types = element_types<bf16, float, float, float>;

// ---- the peer

std::string python() {
  for (const std::string path :
       {std::getenv("MESHPAR_PYTHON") ? std::getenv("MESHPAR_PYTHON") : "", "build/venv/bin/python3"})
    if (!path.empty() && std::system(("'" + path + "' -c 'import torch' 2>/dev/null").c_str()) == 0) return path;
  return "";
}

// Tokens per second as the peer says them, or 0.
double run_peer(const std::string& interpreter, const std::string& arguments, bool busy) {
  const std::string command = "'" + interpreter + "' bench/peers/torch_step.py " + arguments + " 2>/dev/null";
  FILE* out = popen(command.c_str(), "r");
  if (out == nullptr) return 0;
  std::string text;
  char part[4096];
  while (std::fgets(part, sizeof part, out) != nullptr) text += part;
  pclose(out);
  const std::string key = busy ? "\"tokens_per_processor_second\": " : "\"tokens_per_second\": ";
  const std::size_t at = text.find(key);
  return at == std::string::npos ? 0 : std::atof(text.c_str() + at + key.size());
}

// ---- the table

struct unit {
  std::string name;
  std::function<double()> tokens_per_second;
  std::vector<double> rates{};
};

std::vector<unit> ours(const options& o, const task& t) {
  const double tokens = double(t.how_much.global_batch) * t.what.seq;
  const plan one{}, dp2{.dp = 2}, tp2{.tp = 2, .sequence_parallel = true};
  std::vector<unit> list;
  const auto add = [&]<class Types, class Gemm>(const char* name, const plan& p, int each, Types, Gemm) {
    list.push_back({name, [=] { return tokens / run_ours<Types, Gemm>(t, p, each, o); }});
  };
  plan one_bf16 = one, dp2_bf16 = dp2, tp2_bf16 = tp2;
  for (plan* p : {&one_bf16, &dp2_bf16, &tp2_bf16}) p->precision = mixed_bf16;
  if (o.busy) {
    add("f32 1x1", one, 1, f32_types{}, onednn_gemm{});
    add("f32 plain 1x1", one, 1, f32_types{}, plain_gemm{});
    add("bf16 1x1", one_bf16, 1, bf16_types{}, onednn_gemm{});
    return list;
  }
  add("f32 1x2", one, 2, f32_types{}, onednn_gemm{});
  add("f32 dp2", dp2, 1, f32_types{}, onednn_gemm{});
  add("f32 tp2+sp", tp2, 1, f32_types{}, onednn_gemm{});
  add("f32 plain 1x1", one, 1, f32_types{}, plain_gemm{});
  add("f32 plain dp2", dp2, 1, f32_types{}, plain_gemm{});
  add("bf16 1x2", one_bf16, 2, bf16_types{}, onednn_gemm{});
  add("bf16 dp2", dp2_bf16, 1, bf16_types{}, onednn_gemm{});
  add("bf16 tp2+sp", tp2_bf16, 1, bf16_types{}, onednn_gemm{});
  return list;
}

std::vector<unit> peers(const options& o) {
  const std::string interpreter = python();
  if (interpreter.empty()) {
    std::printf(
        "peer missing: PyTorch (python3 -m venv build/venv, then its pip install -r "
        "bench/peers/requirements.txt; or set MESHPAR_PYTHON)\n");
    return {};
  }
  const std::string common = "--model " + o.model + " --steps " + std::to_string(o.steps);
  std::vector<unit> list;
  const auto add = [&](const char* name, const std::string& more) {
    list.push_back({name, [=] { return run_peer(interpreter, common + more, o.busy); }});
  };
  if (o.busy) {
    add("torch f32 1x1", " --precision f32 --threads 1");
    add("torch autocast 1x1", " --precision autocast --threads 1");
    return list;
  }
  add("torch f32 1x2", " --precision f32");
  add("torch f32 ddp2", " --precision f32 --ranks 2");
  add("torch autocast 1x2", " --precision autocast");
  add("torch bf16 1x2", " --precision bf16");
  return list;
}

double rate_of(const std::vector<unit>& list, const std::string& name) {
  for (const unit& u : list)
    if (u.name == name) return median(u.rates);
  return 0;
}

void print_ratio(const std::vector<unit>& list, const char* above, const char* below, double target) {
  const double a = rate_of(list, above), b = rate_of(list, below);
  if (a > 0 && b > 0) std::printf("  %-14s / %-20s %6.2f   target >= %.2f\n", above, below, a / b, target);
}

void print_table(const options& o, const std::vector<unit>& list) {
  std::printf("%-22s %10s  rounds\n", o.busy ? "tokens/processor s" : "tokens/s", "median");
  for (const unit& u : list) {
    std::printf("%-22s %10.0f ", u.name.c_str(), median(u.rates));
    for (const double r : u.rates) std::printf(" %.0f", r);
    std::printf("\n");
  }
  std::printf("ratios\n");
  print_ratio(list, "f32 1x1", "torch f32 1x1", 1.3);
  print_ratio(list, "bf16 1x1", "torch f32 1x1", 2.5);
  print_ratio(list, "bf16 1x1", "torch autocast 1x1", 1);
  print_ratio(list, "f32 1x2", "torch f32 1x2", o.model == "small" ? 1.3 : 1.2);
  print_ratio(list, "bf16 1x2", "torch f32 1x2", 2.5);
  print_ratio(list, "f32 dp2", "f32 1x2", 0.95);
  print_ratio(list, "f32 dp2", "torch f32 ddp2", 1.2);
  print_ratio(list, "f32 tp2+sp", "f32 1x2", 0.9);
}

options parse(int argc, char** argv) {
  options o;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool more = i + 1 < argc;
    if (word == "--model" && more) o.model = argv[++i];
    else if (word == "--rounds" && more) o.rounds = std::max(1, std::atoi(argv[++i]));
    else if (word == "--steps" && more) o.steps = std::max(3, std::atoi(argv[++i]));
    else if (word == "--busy") o.busy = true;
    else if (word == "--profile") o.profile = true;
    else {
      std::fprintf(stderr, "train_step: unknown option '%s'\n", argv[i]);
      std::exit(2);
    }
  }
  return o;
}

template <class Types, class Gemm>
void profile(const char* name, const options& o, const plan& p) {
  const task t = as_one_micro_batch(task_of(o.model), p);
  const program what(t.what, t.how_much, p, stack<>(t.what, t.how_much));
  threads_world world(1);
  world.run([&](threads& comm) {
    Gemm::set_threads(1);
    using timed = step_profile<typename rank<Types, Gemm, threads>::device>;
    rank<Types, Gemm, threads> r(what, comm, timed::table());
    for (int step = 0; step < o.steps; ++step) {
      if (step == 2) timed::clear();
      timed::begin_step();
      train_one(r, t, step);
      timed::end_step();
    }
    timed::print(name, o.steps - 2);
  });
}

}  // namespace

int main(int argc, char** argv) {
  const options o = parse(argc, argv);
  const task t = task_of(o.model);
  if (o.profile) {
    profile<f32_types, plain_gemm>("f32, plain products", o, {});
    profile<f32_types, onednn_gemm>("f32, oneDNN", o, {});
    profile<bf16_types, onednn_gemm>("bf16, oneDNN", o, {.precision = mixed_bf16});
    return 0;
  }
  std::printf("training step, model %s, %d tokens, %d steps a turn, %d rounds\n", o.model.c_str(),
              t.how_much.global_batch * t.what.seq, o.steps, o.rounds);
  std::vector<unit> list = ours(o, t);
  for (unit& u : peers(o)) list.push_back(std::move(u));
  for (int i = 0; i < o.rounds; ++i)
    for (unit& u : list) {
      const double r = u.tokens_per_second();
      if (r > 0) u.rates.push_back(r);
      std::fprintf(stderr, "round %d of %d: %s %.0f\n", i + 1, o.rounds, u.name.c_str(), r);
    }
  print_table(o, list);
}
