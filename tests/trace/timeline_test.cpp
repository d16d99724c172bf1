// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/trace/timeline.hpp>

#include "one_step.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
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

}  // namespace

TEST_CASE("the timeline is JSON with one track per rank and one slice per call") {
  const auto p = one_step::trace(one_step::four);
  const std::vector<call_log> logs = one_step::logs_of(*p, 4000);
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
  CHECK(reader.seen["name=step: all_reduce"] == 4 * (p->reductions.size() + 2));
}
