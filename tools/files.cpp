// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "files.hpp"

#include <toml++/toml.h>

#include <fstream>
#include <set>
#include <sstream>
#include <vector>

namespace meshpar_tools {

namespace {

// Refuses what nlohmann's parser would take silently.
class strict {
 public:
  bool operator()(int depth, json::parse_event_t event, const json& parsed) {
    using kind = json::parse_event_t;
    if (depth > 32) throw bad_input("is nested more than 32 deep");
    if (event == kind::object_start) keys_.emplace_back();
    if (event == kind::object_end) keys_.pop_back();
    if (event == kind::key && !keys_.back().insert(parsed.get<std::string>()).second)
      throw bad_input("has the key " + in_quotes(parsed.get<std::string>()) + " twice; leave one out");
    return true;
  }

 private:
  std::vector<std::set<std::string>> keys_;
};

// The parser's own words, without its number for them.
std::string words_of(const std::exception& e) {
  const std::string what = e.what();
  const auto end = what.find("] ");
  return shown(what.substr(end == what.npos ? 0 : end + 2), 200);
}

json parsed_json(const std::string& path, const std::string& text) {
  try {
    json object = json::parse(text, [check = strict()](int depth, json::parse_event_t event, json& value) mutable {
      return check(depth, event, value);
    });
    if (!object.is_object()) throw bad_input("holds no object; it must begin with {");
    return object;
  } catch (const bad_input& e) {
    throw bad_input(in_quotes(path) + " " + e.what());
  } catch (const json::exception& e) {
    throw bad_input(in_quotes(path) + " is not JSON: " + words_of(e));
  }
}

// toml++ goes down one call for each part of a dotted key, and searches along all of them.
void refuse_long_keys(const std::string& path, const std::string& text) {
  constexpr int most = 200;
  int dots = 0;
  for (const char c : text) {
    if (c == '\n') dots = 0;
    if (c == '.' && ++dots > most)
      throw bad_input(in_quotes(path) + " has a line with more than " + std::to_string(most) + " dots; shorten it");
  }
}

}  // namespace

std::string text_of(const std::string& path) {
  constexpr std::size_t limit = 1 << 17;
  std::ifstream file(path, std::ios::binary);
  std::string text(limit + 1, '\0');
  if (!file || (!file.read(text.data(), static_cast<std::streamsize>(text.size())) && !file.eof()))
    throw bad_input("cannot read " + in_quotes(path) + "; name a file that exists");
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > limit) throw bad_input(in_quotes(path) + " is larger than 128 kB; name a configuration");
  return text;
}

json json_of(const std::string& path) { return parsed_json(path, text_of(path)); }

json toml_of(const std::string& path) {
  try {
    const std::string text = text_of(path);
    refuse_long_keys(path, text);
    const toml::table table = toml::parse(text, path);
    std::ostringstream as_json;
    as_json << toml::json_formatter{table};
    return parsed_json(path, as_json.str());
  } catch (const toml::parse_error& e) {
    throw bad_input(in_quotes(path) + " is not TOML: line " + std::to_string(e.source().begin.line) + ": " +
                    words_of(e));
  }
}

}  // namespace meshpar_tools
