// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "foreign.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <vector>

namespace meshpar_tools {

namespace {

bool matches(std::string_view pattern, std::string_view name) {
  if (pattern.empty() || pattern.back() != '*') return pattern == name;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

// Insertions, deletions and replacements that turn a into b.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

// The known name that a mistyped one is likely to be, or nothing.
std::string_view nearest(std::span<const foreign_entry> table, std::string_view name) {
  std::string_view best;
  std::size_t least = std::min<std::size_t>(4, name.size() / 3 + 1);  // more changes is another word
  for (const foreign_entry& e : table)
    if (const std::size_t d = distance(name.substr(0, 80), e.name); d < least && !e.name.ends_with('*'))
      best = e.name, least = d;
  return best;
}

// A name that only a pattern would take, next to one that has a meaning of its own.
bool mistyped(std::span<const foreign_entry> table, std::string_view name) {
  return std::any_of(table.begin(), table.end(), [&](const foreign_entry& e) {
    return e.does != means::nothing && !e.name.ends_with('*') && distance(name.substr(0, 80), e.name) <= 2;
  });
}

struct word_pair {
  std::string_view theirs, ours;
};

// "theirs=ours theirs=ours"
std::vector<word_pair> pairs_of(std::string_view table) {
  std::vector<word_pair> pairs;
  while (!table.empty()) {
    const auto end = std::min(table.find(' '), table.size()), equals = table.rfind('=', end);
    pairs.push_back({table.substr(0, equals), table.substr(equals + 1, end - equals - 1)});
    table.remove_prefix(std::min(end + 1, table.size()));
  }
  return pairs;
}

// Ours for a word of theirs; empty when it is not there.
std::string_view translated(std::string_view table, std::string_view word) {
  for (const word_pair& p : pairs_of(table))
    if (p.theirs == word) return p.ours;
  return {};
}

std::string known_words(std::string_view table) {
  std::string all;
  for (const word_pair& p : pairs_of(table)) all += (all.empty() ? "" : ", ") + std::string(p.theirs);
  return all;
}

// As numbers where both are, so that 1 is 1.0.
bool same_value(std::string_view a, std::string_view b) {
  const auto number = [](std::string_view text, double& x) {
    return std::from_chars(text.data(), text.data() + text.size(), x).ptr == text.data() + text.size();
  };
  double x = 0, y = 0;
  return a == b || (number(a, x) && number(b, y) && x == y);
}

bool asks_for_nothing(const foreign_entry& entry, const json& value) {
  if (value.is_null() || value == false || value == 0 || value == "" || (value.is_structured() && value.empty()))
    return true;
  return !entry.value.empty() && same_value(text_of(value), entry.value);
}

void take_word(const foreign_format& format, const foreign_entry& entry, const std::string& name, const json& value,
               draft& into) {
  const std::string source = format.called(name), field(entry.what);
  const std::string_view ours = value.is_string() ? translated(entry.value, value.get<std::string>()) : "";
  if (ours.empty())
    throw bad_input(source + " is " + in_quotes(text_of(value)) + "; it takes one of " + known_words(entry.value));
  if (ours == "?")
    return into.warn(source + " " + text_of(value) + ": no such value of " + field +
                     " here; that field is not checked");
  into.set_text(field, std::string(ours), source);
}

void take_field(const foreign_format& format, const foreign_entry& entry, const std::string& name, const json& value,
                bool is_text, draft& into) {
  const std::string source = format.called(name), field(entry.what);
  if (entry.value.find('=') != entry.value.npos) return take_word(format, entry, name, value, into);
  if (!entry.value.empty()) {
    if (!is_text && !value.is_boolean())
      throw bad_input(source + " is " + shown(text_of(value)) + "; it takes true or false");
    if (is_text || value.get<bool>()) into.set_text(field, std::string(entry.value), source);
    return;
  }
  if (is_text) into.set_text(field, value.get<std::string>(), source);
  else into.set(field, value, source);
}

// Under the one name by which the reader of the format asks for it.
void keep(const foreign_format& format, const foreign_entry& entry, const std::string& name, const json& value,
          foreign_values& kept) {
  const auto [before, fresh] = kept.try_emplace(entry.what.empty() ? name : std::string(entry.what), value);
  if (!fresh && before->second != value)
    throw bad_input(format.called(name) + " is " + shown(text_of(value)) + " but another name for the same says " +
                    shown(text_of(before->second)) + "; leave one of them out");
}

void take_object(const foreign_format& format, const std::string& prefix, const json& object, draft& into,
                 foreign_values& kept) {
  for (const auto& [key, value] : object.items()) {
    const std::string name = prefix + key;
    if (format.ignored.count(name) != 0) continue;
    const foreign_entry* entry = format.find(name);
    if (entry == nullptr && value.is_object()) take_object(format, name + ".", value, into, kept);
    else if (entry == nullptr) format.unknown(name);
    else if (!value.is_null()) take(format, *entry, name, value, false, into, kept);
  }
}

}  // namespace

std::string text_of(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', true, json::error_handler_t::replace);
}

const foreign_entry* foreign_format::find(std::string_view name) const {
  const auto exact = std::find_if(table.begin(), table.end(), [&](const auto& e) { return e.name == name; });
  if (exact != table.end()) return &*exact;
  const auto like = std::find_if(table.begin(), table.end(), [&](const auto& e) { return matches(e.name, name); });
  return like == table.end() || mistyped(table, name) ? nullptr : &*like;
}

void foreign_format::unknown(std::string_view name) const {
  const std::string_view other = nearest(table, name);
  throw bad_input("unknown " + kind + " " + called(name) + "; " +
                  (other.empty() ? "if" : "did you mean " + std::string(other) + "? If") +
                  " it has no influence on the layout, add --ignore=" + shown(name));
}

void take(const foreign_format& format, const foreign_entry& entry, const std::string& name, const json& value,
          bool is_text, draft& into, foreign_values& kept) {
  switch (entry.does) {
    case means::sets: return take_field(format, entry, name, value, is_text, into);
    case means::read: return keep(format, entry, name, value, kept);
    case means::nothing: return;
    case means::unsupported:
      if (!asks_for_nothing(entry, value))
        into.warn(format.called(entry.name.ends_with(".*") ? entry.name : name) + ": " + std::string(entry.what));
      return;
  }
}

void take_fp16(const foreign_format& format, const foreign_values& kept, const std::string& name, draft& into) {
  const auto said = kept.find(name);
  if (said == kept.end()) return;
  if (!said->second.is_boolean())
    throw bad_input(format.called(name) + " is " + shown(text_of(said->second)) + "; it takes true or false");
  if (said->second == false) return;
  into.set("precision.param", "f32", format.called(name));
  into.warn(format.called(name) + ": fp16 is not among our types; checked as f32");
}

void latent_attention(const foreign_format& format, const foreign_values& kept, const latent_names& names,
                      draft& into) {
  const auto values = number(format, kept, names.values), keys = number(format, kept, names.keys),
             rotary = number(format, kept, names.rotary);
  if (values) into.fall_back("head_dim", *values, format.called(names.values));
  else if (keys && rotary)
    into.fall_back("head_dim", 1LL * *keys + *rotary, format.called(names.keys) + " + " + names.rotary);
  into.warn(format.called(names.asked) +
            ": latent attention (MLA) is not part of our model; latent ranks are not checked, and heads as those of "
            "head_dim by " +
            into.source("head_dim"));
}

foreign_values take_all(const foreign_format& format, const json& object, draft& into) {
  foreign_values kept;
  take_object(format, "", object, into, kept);
  return kept;
}

}  // namespace meshpar_tools
