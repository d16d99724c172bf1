// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/trace/logged.hpp>
#include <meshpar/trace/timeline.hpp>
#include <meshpar/train/launch.hpp>

#include <doctest/doctest.h>

#include <map>
#include <sstream>

using namespace meshpar;

namespace {

// Enough of a reader of JSON to refuse what is not JSON, and to count the objects that have a member with a value.
class json_reader {
 public:
  explicit json_reader(const std::string& text) : at_(text.c_str()) {}

  bool whole() { return value() && (space(), *at_ == '\0'); }
  std::map<std::string, int> seen;  // "name=value" of strings and numbers

 private:
  void space() {
    while (*at_ == ' ' || *at_ == '\n') ++at_;
  }
  bool take(char c) {
    space();
    return *at_ == c && (++at_, true);
  }
  bool string(std::string& s) {
    if (!take('"')) return false;
    while (*at_ != '"' && *at_ != '\0' && *at_ != '\\') s += *at_++;
    return take('"');
  }
  bool number(std::string& s) {
    char* end = nullptr;
    std::strtod(at_, &end);
    s.assign(at_, static_cast<const char*>(end));
    return end != at_ && (at_ = end, true);
  }
  bool member() {
    std::string name;
    return string(name) && take(':') && value(name);
  }
  bool value(const std::string& name = "") {
    space();
    if (*at_ == '{') return list('{', '}', [this] { return member(); });
    if (*at_ == '[') return list('[', ']', [this] { return value(); });
    std::string s;
    const bool good = *at_ == '"' ? string(s) : number(s);
    ++seen[name + "=" + s];
    return good;
  }
  template <class F>
  bool list(char open, char close, F item) {
    if (!take(open)) return false;
    if (take(close)) return true;
    do
      if (!item()) return false;
    while (take(','));
    return take(close);
  }
  const char* at_;
};

using f32s = element_types<float, float, float, float>;
constexpr model what = llama_like({.layers = 2, .hidden = 16, .heads = 2, .ffn = 32, .vocab = 32, .seq = 8});
constexpr job task{.global_batch = 4};
constexpr plan how{.dp = 2, .tp = 2, .sequence_parallel = true};

int zero(std::int64_t, std::int64_t) { return 0; }

// The logs of one step on every rank.
std::vector<call_log> step(const program& p, std::size_t capacity) {
  const auto start = call_log::clock::now();
  std::vector<call_log> logs;
  for (int r = 0; r < p.where.ranks.size(); ++r) logs.emplace_back(r, capacity, start);
  threads_world world(p.where.ranks.size());
  world.run([&](threads& plain) {
    logged<threads> comm(plain, logs[static_cast<std::size_t>(plain.rank())]);
    const auto r = std::make_unique<rank<f32s, plain_gemm, logged<threads>>>(p, comm);
    r->accumulate(0, 32, zero, zero);
    r->update(32, 1, {});
  });
  return logs;
}

std::int64_t records_to_play(const tracer& t) {
  std::int64_t n = 0;
  for (const record& r : t.records) n += r.op != &to_op::info || r.n[0] != 0;
  return n;
}

}  // namespace

TEST_CASE("every call of a step is logged, in order, with its times") {
  const auto p = std::make_unique<program>(what, task, how, stack<>(what, task));
  std::int64_t expected = p->reductions.size();
  for (int b = 0; b < p->block_count(); ++b) expected += 2 * records_to_play(p->traced_block(p->kind_of(b)));
  for (const call_log& log : step(*p, 4000)) {
    CHECK(log.lost() == 0);
    CHECK(static_cast<std::int64_t>(log.calls().size()) == expected);
    std::int64_t now = 0;
    for (const logged_call& c : log.calls()) {
      CHECK(now <= c.start);
      CHECK(c.start <= c.end);
      now = c.end;
    }
    const logged_call& last = log.calls().back();
    CHECK(last.what == nullptr);  // the totals of the step
    CHECK(last.sent.kind == call_kind::all_reduce);
    CHECK(last.ranks.size() == 4);
    CHECK(last.sent.inner == 2);
  }
}

TEST_CASE("a log that is full takes no more, and says how many it lost") {
  const auto p = std::make_unique<program>(what, task, how, stack<>(what, task));
  const std::vector<call_log> whole = step(*p, 4000), cut = step(*p, 10);
  for (std::size_t r = 0; r < cut.size(); ++r) {
    CHECK(cut[r].calls().size() == 10);
    CHECK(cut[r].lost() == whole[r].calls().size() - 10);
    for (std::size_t i = 0; i < 10; ++i) CHECK(cut[r].calls()[i].what == whole[r].calls()[i].what);
  }
}

TEST_CASE("the timeline is JSON with one track per rank and one slice per call") {
  const auto p = std::make_unique<program>(what, task, how, stack<>(what, task));
  const std::vector<call_log> logs = step(*p, 4000);
  std::ostringstream out;
  {
    timeline t(out, *p);
    for (const call_log& log : logs) t.add(log);
  }
  const std::string text = out.str();
  json_reader reader(text);
  REQUIRE(reader.whole());
  CHECK(reader.seen["ph=X"] == static_cast<int>(4 * logs[0].calls().size()));
  CHECK(reader.seen["name=rank 3"] == 1);
  for (int r = 0; r < 4; ++r)
    CHECK(reader.seen["tid=" + std::to_string(r)] == static_cast<int>(logs[0].calls().size()) + 1);
  // Each layer's MLP has three products forward and six backward; two micro-batches, four ranks.
  CHECK(reader.seen["name=layer 1 mlp: contract"] == 9 * 2 * 4);
  CHECK(reader.seen["along=tp"] > 0);
  CHECK(reader.seen["name=step: all_reduce"] == 4 * p->reductions.size());
}
