// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "draft.hpp"

#include <stdexcept>

namespace meshpar_tools {

namespace {

// Calls `act` on the field of that name.
template <class Configuration, class Act>
void at(Configuration& c, const std::string& name, Act act) {
  bool found = false;
  each_field(c, [&](const char*, const char* field, auto& value) {
    if (name == field) found = true, act(value);
  });
  if (!found) throw std::logic_error("no field " + name);
}

template <class Act>
void naming(const std::string& field, const std::string& value, const std::string& source, Act act) {
  try {
    act();
  } catch (const bad_input& e) {
    throw bad_input(source + " is " + shown(value) + ": " + field + " " + e.what());
  }
}

}  // namespace

void draft::set(const std::string& field, const json& value, const std::string& source) {
  configuration next = values_;
  naming(field, value.dump(-1, ' ', true, json::error_handler_t::replace), source,
         [&] { at(next, field, [&](auto& f) { read(f, value); }); });
  if (has(field) && next != values_) {
    json before;
    at(values_, field, [&](auto& f) { before = written(f); });
    throw bad_input(field + " is " + shown(before.dump()) + " by " + source_[field] + " and " + shown(value.dump()) +
                    " by " + source + "; leave one of them out");
  }
  values_ = next;
  source_.try_emplace(field, source);
}

void draft::set_text(const std::string& field, const std::string& text, const std::string& source) {
  json value;
  naming(field, text, source, [&] { at(values_, field, [&](auto& f) { value = parsed(f, text); }); });
  set(field, value, source);
}

}  // namespace meshpar_tools
