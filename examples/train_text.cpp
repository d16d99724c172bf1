// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A decoder learns to write like a book, byte by byte: on eight ranks and on one, with the same result. Started alone
// its ranks are threads; mpirun -n 8 train_text --text FILE makes each of the eight a process.
#include <meshpar/meshpar.hpp>

#include "report.hpp"
#include "whole_file.hpp"
#ifdef TRAIN_TEXT_ONEDNN
#include <meshpar/onednn.hpp>
#endif
#ifdef TRAIN_TEXT_MPI
#include <meshpar/mpi.hpp>
#endif

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <optional>
#include <thread>

namespace mp = meshpar;
using namespace mp::names;

// ---- what is computed ----

// A layer: its parameters, then what it does. Which of the two products is column-parallel and which row-parallel
// follows from the plan; that the sum is taken, and where, is checked by the compiler.
struct gated_mlp {
  mp::param<dims::hidden, dims::ffn> gate{"gate"}, up{"up"};
  mp::param<dims::ffn, dims::hidden> down{"down", mp::initial::residual};

  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::to<mp::R>(x, axes::tp);
    const auto wide = mp::swiglu(mp::contract(dims::hidden, h, r[gate]), mp::contract(dims::hidden, h, r[up]));
    return mp::to_layout_of(x, mp::contract(dims::ffn, wide, r[down]));
  }
};

inline constexpr mp::model tiny = mp::llama_like(
    {.layers = 4, .hidden = 96, .heads = 8, .kv_heads = 4, .head_dim = 16, .ffn = 256, .vocab = 256, .seq = 128});
inline constexpr mp::job batch16{.global_batch = 16, .micro_batch = 2};

// ---- where it is computed ----

inline constexpr mp::plan eight{.dp = 2, .tp = 4, .sequence_parallel = true};
inline constexpr mp::plan one{};

constexpr mp::plan in_f64(mp::plan p) {
  p.precision = mp::all_f64;
  return p;
}
inline constexpr mp::plan eight_f64 = in_f64(eight), one_f64 = in_f64(one);

template <const mp::plan& Plan>
using net = mp::decoder<tiny, batch16, Plan, mp::replace<mp::mlp, gated_mlp>>;

// ---- what it costs: constants of the program that runs ----

// Eight devices of 8 MB can train what one of them cannot.
inline constexpr mp::cluster small_device{.devices_per_node = 8, .memory_bytes = 8'000'000};
static_assert(mp::fits<net<eight>, small_device>);
static_assert(!mp::memory_fits(mp::cost_of<net<one>>.height, small_device).holds());

constexpr const mp::step_cost& cost = mp::cost_of<net<eight>>;
static_assert(cost.forward.count(mp::collective::all_gather, axes::tp) == 2 * tiny.layers + 1);      // and the head's
static_assert(cost.forward.count(mp::collective::reduce_scatter, axes::tp) == 2 * tiny.layers + 1);  // the embedding's
static_assert(cost.forward.bytes(axes::dp) == 0 && cost.finish.bytes(axes::dp) > 0);  // dp speaks once a step
static_assert(mp::cost_of<net<one>>.whole.bytes() == 0);

#ifdef TRAIN_TEXT_ONEDNN
using gemm = mp::onednn;
#else
using gemm = mp::plain_gemm;
#endif
#ifdef TRAIN_TEXT_MPI
using processes = mp::mpi;
#else
using processes = mp::threads;  // none
#endif

// ---- one run ----

// Bytes that reached a rank along some axes, by price() and by the communicator's count.
struct axis_traffic {
  mp::axis_set along;
  std::int64_t priced = 0, counted = 0;
};
struct rank_figures {
  std::int64_t planned_bytes = 0, touched_bytes = 0;
  std::vector<axis_traffic> traffic;
};
struct learnt {
  std::vector<double> loss, norm;
  double seconds = 0, evaluation = 0;
  long skipped = 0;
  std::vector<rank_figures> ranks;
};

rank_figures figures_of(auto& rank, int steps) {
  rank_figures f{rank.memory().size(), rank.memory().highest_touched(), {}};
  const auto step = std::make_unique<mp::step_cost>(mp::price(rank.plan(), rank.number()));
  for (const mp::traffic& t : step->whole.sent) {
    const auto same = [&](const axis_traffic& a) { return a.along == t.along; };
    if (t.bytes == 0 || std::any_of(f.traffic.begin(), f.traffic.end(), same)) continue;
    f.traffic.push_back(
        {t.along, step->whole.bytes(t.along) * steps, rank.comm().received(rank.calls().group_along(t.along))});
  }
  return f;
}

// The figures of all ranks, on every rank.
std::vector<rank_figures> gather(auto& rank, const rank_figures& mine) {
  constexpr std::size_t most = 8;
  struct message {
    std::int64_t planned, touched, axes;
    axis_traffic traffic[most];
  };
  const std::size_t told = std::min(most, mine.traffic.size());
  message m{mine.planned_bytes, mine.touched_bytes, static_cast<std::int64_t>(told), {}};
  std::copy_n(mine.traffic.begin(), told, m.traffic);
  std::vector<message> all(static_cast<std::size_t>(rank.comm().size()));
  rank.comm().all_gather(rank.calls().group_along(rank.plan().where.ranks.all()), &m, all.data(), 1, sizeof m);
  std::vector<rank_figures> figures;
  for (const message& a : all) figures.push_back({a.planned, a.touched, {a.traffic, a.traffic + a.axes}});
  return figures;
}

// Trains Net on all its ranks. each(learnt) runs on rank 0 after every step, then(rank, learnt) on all at the end. What
// is returned is whole where rank 0 is. `log`: a folder for what each rank writes down of its steps, or "".
template <class Net, class Each, class Then>
learnt learn(const mp::text_data& text, const mp::train_settings& settings, const mp::launch_options& how,
             const std::string& log, Each each, Then then) {
  learnt out;
  const auto work = [&](auto& rank) {
    gemm::set_threads(1);                                       // one thread a rank
    rank.memory().paint(rank.plan().memory.boundaries.offset);  // all that holds no state yet
    mp::trainer trainer(rank, text);
    std::optional<mp::step_log> written;
    if (!log.empty()) written.emplace(log, rank);
    trainer.run(settings, [&](const mp::trained_step& done) {
      if (written) (*written)(done);
      if (rank.number() != 0) return;
      out.loss.push_back(done.report.loss);
      out.norm.push_back(done.report.grad_norm);
      out.seconds += done.seconds;
      out.skipped += done.report.skipped;
      each(out);
    });
    const std::vector<rank_figures> figures = gather(rank, figures_of(rank, settings.steps));
    const double evaluation = trainer.evaluate(4);
    if (rank.number() == 0) out.ranks = figures, out.evaluation = evaluation;
    then(rank, out);
  };
  mp::launch<Net, gemm, processes>(work, how);
  return out;
}
constexpr auto nothing = [](auto&&...) {};
constexpr double tokens_per_step = 1.0 * batch16.global_batch * tiny.seq;

// ---- what is shown ----

void show_setting(const std::string& path, const mp::text_data& text, bool launched) {
  const auto p = std::make_unique<mp::program>(net<one>::what, net<one>::task, net<one>::how, net<one>::make_layers());
  std::printf("text    %s, %s bytes; the last twentieth is kept for evaluation\n", path.c_str(),
              report::grouped(text.size()).c_str());
  std::printf("model   %d layers, hidden %d, %d heads, %d KV heads, ffn %d, %d positions: %s parameters\n", tiny.layers,
              tiny.hidden, tiny.heads, tiny.kv_heads, tiny.ffn, tiny.seq, report::grouped(p->elements()).c_str());
  std::printf("job     %d sequences a step, %d at a time on each data rank\n", batch16.global_batch,
              batch16.micro_batch);
  std::printf("plan    dp %d x tp %d with sequence parallelism: %ld ranks, %s on %u cores\n", eight.dp, eight.tp,
              mp::world_size(eight), launched ? "processes" : "threads of this process",
              std::thread::hardware_concurrency());
  std::printf("        matrix products by %s; the plan was checked when this program was compiled\n", gemm::name);
}

struct equality {
  double loss = 0, norm = 0;
};

// The same three steps in f64 on eight ranks and on one.
equality show_equality(const mp::text_data& text, double learning_rate, const mp::launch_options& how) {
  std::printf("\n1. Three steps in f64, eight ranks beside one\n");
  const mp::train_settings s{.steps = 3, .warmup = 1, .learning_rate = learning_rate};
  const learnt a = learn<net<eight_f64>>(text, s, how, "", nothing, nothing),
               b = learn<net<one_f64>>(text, s, how, "", nothing, nothing);
  std::printf("   step  loss, 8 ranks       loss, 1 rank        gradient norm, 8    gradient norm, 1\n");
  for (std::size_t i = 0; i < a.loss.size(); ++i)
    std::printf("   %4zu  %-18.15f  %-18.15f  %-18.15f  %.15f\n", i + 1, a.loss[i], b.loss[i], a.norm[i], b.norm[i]);
  const equality e{report::largest_relative_difference(a.loss, b.loss),
                   report::largest_relative_difference(a.norm, b.norm)};
  std::printf("   largest relative difference: loss %.1e, gradient norm %.1e\n", e.loss, e.norm);
  return e;
}

void show_curves(const learnt& many, const learnt& single) {
  std::printf("\n4. Both losses over the steps (o eight ranks, + one rank, # both)\n");
  report::plot(many.loss, single.loss);
  std::printf("  %6s  %-12s %-12s %s\n", "step", "8 ranks", "1 rank", "relative difference");
  const std::size_t n = many.loss.size();
  for (std::size_t part = 0; part <= 4; ++part) {
    const std::size_t i = std::max<std::size_t>(1, n * part / 4) - 1;
    if (part == 0 || i > 0)
      std::printf("  %6zu  %-12.6f %-12.6f %.1e\n", i + 1, many.loss[i], single.loss[i],
                  report::relative_difference(many.loss[i], single.loss[i]));
  }
  std::printf("  held-out %-12.6f %-12.6f %.1e\n", many.evaluation, single.evaluation,
              report::relative_difference(many.evaluation, single.evaluation));
  std::printf("  largest relative difference of the loss in f32: %.1e\n",
              report::largest_relative_difference(many.loss, single.loss));
  if (many.skipped + single.skipped > 0)
    std::printf("  steps skipped because the gradient was not finite: %ld on 8 ranks, %ld on 1\n", many.skipped,
                single.skipped);
}

void show_losses(const learnt& many) {
  std::printf("\n  %6s  %s\n", "step", "loss");
  const std::size_t n = many.loss.size();
  for (std::size_t part = 0; part <= 4; ++part) {
    const std::size_t i = std::max<std::size_t>(1, n * part / 4) - 1;
    if (part == 0 || i > 0) std::printf("  %6zu  %.6f\n", i + 1, many.loss[i]);
  }
  std::printf("  held-out %.6f\n", many.evaluation);
}

void show_cost(const learnt& many, const learnt* single, int steps) {
  std::printf("  %-36s %14s %14s\n", "memory of a rank, bytes", "predicted", "counted");
  const auto memory = [](const char* what, const std::vector<rank_figures>& ranks) {
    std::int64_t touched = 0;
    for (const rank_figures& r : ranks) touched = std::max(touched, r.touched_bytes);
    std::printf("  %-36s %14s %14s\n", what, report::grouped(ranks[0].planned_bytes).c_str(),
                report::grouped(touched).c_str());
  };
  memory("  8 ranks", many.ranks);
  if (single != nullptr) memory("  1 rank", single->ranks);
  std::printf("  %-36s %14s %14s\n", ("received in " + std::to_string(steps) + " steps, bytes").c_str(), "predicted",
              "counted");
  std::size_t equal = 0, all = 0;
  for (std::size_t i = 0; i < many.ranks[0].traffic.size(); ++i) {
    const axis_traffic& t = many.ranks[0].traffic[i];
    const std::string what = std::string("  rank 0 along ") + mp::name_of(t.along).c_str();
    std::printf("  %-36s %14s %14s\n", what.c_str(), report::grouped(t.priced).c_str(),
                report::grouped(t.counted).c_str());
  }
  for (const rank_figures& r : many.ranks)
    for (const axis_traffic& t : r.traffic) ++all, equal += t.priced == t.counted;
  std::printf("  %zu of %zu counts on 8 ranks are as predicted\n", equal, all);
  const auto speed = [&](const char* what, const learnt& run) {
    std::printf("  %-36s %14s\n", what, report::grouped(std::llround(tokens_per_step * steps / run.seconds)).c_str());
  };
  speed("tokens/s, 8 ranks (one thread each)", many);
  if (single != nullptr) speed("tokens/s, 1 rank (one thread)", *single);
}

// The first words of a paragraph of the part that is kept for evaluation, or of a line.
std::vector<std::int32_t> prompt_from(const mp::text_data& text) {
  const auto ends_line = [&](std::int64_t i) { return text.token(i) == '\n'; };
  std::int64_t first = text.training_size(), line = 0;
  while (first + 64 < text.size() && !(ends_line(first - 1) && ends_line(first - 2) && text.token(first) >= 'A')) {
    if (line == 0 && ends_line(first - 1)) line = first;
    ++first;
  }
  if (first + 64 >= text.size() && line > 0) first = line;
  std::vector<std::int32_t> prompt;
  while (first < text.size() && prompt.size() < 64 && (prompt.size() < 24 || prompt.back() != ' '))
    prompt.push_back(text.token(first++));
  return prompt;
}

// Writes until a sentence ends, at most `most` bytes; each is drawn by all ranks alike and shown by rank 0.
void write_on(auto& rank, const mp::text_data& text, int least, int most) {
  std::vector<std::int32_t> so_far = prompt_from(text);
  const bool speaks = rank.number() == 0;
  report::readable shown;
  if (speaks) {
    std::printf("\nEight ranks write; [the prompt] is from the part that they have not read\n\n[");
    for (const std::int32_t byte : so_far) std::printf("%s", shown.next(byte).c_str());
    std::printf("]");
  }
  mp::generator generator(rank);
  for (int i = 0; i < most; ++i) {
    so_far = generator.write(std::move(so_far), 1, 0.6, batch16.seed + static_cast<std::uint64_t>(i));
    if (speaks) std::printf("%s", shown.next(so_far.back()).c_str()), std::fflush(stdout);
    if (i >= least && so_far.back() == '.') break;
  }
  if (speaks) std::printf("\n");
}

// ---- options and figures ----

struct options {
  mp::launch_options launch;
  std::string text, json, log;
  int steps = 240;
  long ranks = mp::world_size(eight);
  double learning_rate = 3e-3;
  bool quick = false;
};

// The options of the command line; nothing when there is no more to do.
std::optional<options> read_options(int argc, char** argv) {
  options o;
  o.launch = mp::take_launch_options(argc, argv);
  CLI::App app("Trains a byte-level decoder on a text, on eight ranks and on one.", "train_text");
  app.add_option("--text", o.text, "the text to learn from")->required();
  const auto* steps = app.add_option("--steps", o.steps, "steps of the long run")->check(CLI::Range(1, 1000000));
  app.add_option("--ranks", o.ranks, "ranks to start: as many as the plan has");
  app.add_option("--learning-rate", o.learning_rate, "after the warm-up");
  app.add_option("--json", o.json, "a file for the figures");
  app.add_option("--log", o.log, "a folder that exists, for a step log of each of the eight ranks");
  app.add_flag("--quick", o.quick, "few steps and a short text");
  app.footer("--time-out SECONDS, and what says who a process is (--rank, ...): docs/processes.md");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    app.exit(e);
    return {};
  }
  if (o.quick && steps->count() == 0) o.steps = 20;
  if (const mp::verdict v = mp::world_size_matches_plan(eight, o.ranks); !v.holds())
    throw std::runtime_error(std::string("--ranks: ") + v.why.c_str());
  if (!(o.learning_rate > 0 && o.learning_rate < 1))
    throw std::runtime_error("--learning-rate must lie between 0 and 1");
  return o;
}

nlohmann::ordered_json figures(const learnt& many, int steps) {
  nlohmann::ordered_json j;
  j["ranks"] = many.ranks.size();
  j["loss"] = many.loss;
  j["evaluation_loss"] = many.evaluation;
  j["tokens_per_second"] = tokens_per_step * steps / many.seconds;
  j["peak_bytes"] = many.ranks[0].planned_bytes;
  j["peak_bytes_touched"] = nlohmann::json::array();
  j["received_bytes"] = nlohmann::json::array();
  for (const rank_figures& r : many.ranks) {
    j["peak_bytes_touched"].push_back(r.touched_bytes);
    nlohmann::ordered_json axes;
    for (const axis_traffic& t : r.traffic)
      axes[mp::name_of(t.along).c_str()] = {{"predicted", t.priced}, {"counted", t.counted}};
    j["received_bytes"].push_back(axes);
  }
  return j;
}
void add_comparison(nlohmann::ordered_json& j, const equality& e, const learnt& many, const learnt& single, int steps) {
  j["loss_one_rank"] = single.loss;
  j["largest_relative_difference"] = report::largest_relative_difference(many.loss, single.loss);
  j["largest_relative_difference_f64"] = {{"loss", e.loss}, {"gradient_norm", e.norm}};
  j["tokens_per_second_one_rank"] = tokens_per_step * steps / single.seconds;
}

// ---- the runs ----

mp::train_settings settings_of(const options& o) {
  return {.steps = o.steps, .warmup = o.steps / 20 + 1, .learning_rate = o.learning_rate};
}
auto shown_by(const report::progress& progress) {
  return [&progress](const learnt& run, const std::string& more) {
    const long number = static_cast<long>(run.loss.size());
    progress.show(number, run.loss.back(), tokens_per_step * static_cast<double>(number), run.seconds, more);
  };
}

// Eight threads beside one.
void run_both(const options& o, const mp::text_data& text, whole_file& json) {
  const equality equal = show_equality(text, o.learning_rate, o.launch);
  const report::progress progress(o.steps);
  const auto so_far = shown_by(progress);
  std::printf("\n2. One rank learns, %d steps in f32\n", o.steps);
  const learnt single =
      learn<net<one>>(text, settings_of(o), o.launch, "", [&](const learnt& run) { so_far(run, ""); }, nothing);
  std::printf("\n3. Eight ranks learn the same\n");
  const auto beside = [&](const learnt& run) {
    char more[64];
    std::snprintf(more, sizeof more, " (1 rank %.3f)", single.loss[run.loss.size() - 1]);
    so_far(run, more);
  };
  learn<net<eight>>(text, settings_of(o), o.launch, o.log, beside, [&](auto& rank, const learnt& many) {
    if (rank.number() == 0) {
      show_curves(many, single);
      std::printf("\n5. Predicted and counted\n");
      show_cost(many, &single, o.steps);
      auto all = figures(many, o.steps);
      add_comparison(all, equal, many, single, o.steps);
      json.write(all.dump(2));
    }
    write_on(rank, text, o.quick ? 20 : 250, o.quick ? 40 : 400);
  });
}

// The eight ranks alone, each a process.
void run_processes(const options& o, const mp::text_data& text, whole_file& json) {
  const report::progress progress(o.steps);
  const auto so_far = shown_by(progress);
  learn<net<eight>>(
      text, settings_of(o), o.launch, o.log, [&](const learnt& run) { so_far(run, ""); },
      [&](auto& rank, const learnt& many) {
        if (rank.number() == 0) {
          show_losses(many);
          std::printf("\n");
          show_cost(many, nullptr, o.steps);
          json.write(figures(many, o.steps).dump(2));
        }
        write_on(rank, text, o.quick ? 20 : 250, o.quick ? 40 : 400);
      });
}

void run(const options& o) {
  const mp::text_data text = mp::read_text(o.text, 20 * (tiny.seq + 1));
  const bool launched = mp::by_a_launcher(o.launch.where) && !std::is_same_v<processes, mp::threads>;
  const bool speaks = o.launch.where.rank == 0;
  whole_file json(speaks ? o.json : "");
  if (speaks) show_setting(o.text, text, launched);
  launched ? run_processes(o, text, json) : run_both(o, text, json);
}

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // lines come as they are made, also through a pipe
  try {
    if (const std::optional<options> o = read_options(argc, argv)) run(*o);
  } catch (const std::exception& e) {
    std::fflush(stdout);
    std::fprintf(stderr, "train_text: %s\n", e.what());
    return 1;
  }
}
