// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "draft.hpp"

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

namespace meshpar_tools {

// What a name of another system means here.
enum class means {
  sets,        // a field: `what`; `value` is the field's value where the name alone says it, or a table of words
  read,        // the reader of the format takes it into account, together with other names
  nothing,     // known, has no influence on the layout
  unsupported  // known, cannot be said here: `what` is the warning; `value` is the value that asks for nothing
};
// How many values stand behind a name on a command line.
enum class takes { none, one, any };

// One line of a format's table. A name that ends in * stands for all that begin alike. A table of words is written
// "theirs=ours theirs=ours"; `theirs=?` is known and not supported.
struct foreign_entry {
  std::string_view name;
  takes count = takes::one;
  means does = means::nothing;
  std::string_view what{};
  std::string_view value{};
};

// A table, what its names are called in messages, and the names that the user asks to pass over.
struct foreign_format {
  std::span<const foreign_entry> table;
  std::string kind;   // "flag" or "key"
  std::string place;  // " in 'FILE'", or nothing
  std::set<std::string> ignored{};

  const foreign_entry* find(std::string_view name) const;
  std::string called(std::string_view name) const { return shown(name) + place; }
  [[noreturn]] void unknown(std::string_view name) const;
};

// Names with values, as given; values from a command line are strings.
using foreign_values = std::map<std::string, json>;

// One name with its value, into the draft and into what the reader keeps.
void take(const foreign_format& format, const foreign_entry& entry, const std::string& name, const json& value,
          bool is_text, draft& into, foreign_values& kept);

// What a refusal of a value says.
std::string text_of(const json& value);

// A number among kept values, where it is given.
template <class T = int>
std::optional<T> number(const foreign_format& format, const foreign_values& kept, const std::string& name) {
  const auto given = kept.find(name);
  if (given == kept.end()) return {};
  try {
    T n{};
    read(n, given->second.is_string() ? parsed(n, given->second.template get<std::string>()) : given->second);
    if (std::is_same_v<T, int> && n < 0) not_whole();
    return n;
  } catch (const bad_input& e) {
    throw bad_input(format.called(name) + " is " + shown(text_of(given->second)) + ": it " + e.what());
  }
}

// A flag or key, where it stands, that asks for fp16.
void take_fp16(const foreign_format& format, const foreign_values& kept, const std::string& name, draft& into);

// The names of latent attention: what asks for it, and the sizes of a head's values and of the parts of its keys.
struct latent_names {
  std::string asked, values, keys, rotary;
};
// Its heads are checked as heads of the size of their values, which is what the output projection cuts.
void latent_attention(const foreign_format& format, const foreign_values& kept, const latent_names& names, draft& into);

// Every key of an object, by its dotted path.
foreign_values take_all(const foreign_format& format, const json& object, draft& into);

}  // namespace meshpar_tools
