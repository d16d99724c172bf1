// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>

namespace meshpar::inline v0::launching {

// Foreign words as a message shows them: short, in quotes, printable.
inline std::string quoted(std::string_view words) {
  std::string s = "'";
  for (const char c : words.substr(0, 64)) s += c >= ' ' && c <= '~' && c != '\'' ? c : '?';
  return s + (words.size() > 64 ? "...'" : "'");
}

// Named values, read with the care that a user's mistakes need: every refusal is one line that names the variable, its
// value and what to do. A value that is there and empty is there.
class environment {
 public:
  // `look_up(name)` is the value or nullptr, and outlives this.
  template <class LookUp>
  explicit environment(const LookUp& look_up)
      : object_(&look_up), look_up_([](const void* object, const char* name) -> const char* {
          return (*static_cast<const LookUp*>(object))(name);
        }) {}

  bool has(const char* name) const { return name && look_up_(object_, name); }
  std::string_view value(const char* name) const { return has(name) ? look_up_(object_, name) : ""; }
  // RANK=8 or RANK='a'
  std::string said(const char* name) const {
    int n = 0;
    return std::string(name) + "=" + (parse(value(name), n) ? std::to_string(n) : quoted(value(name)));
  }
  std::runtime_error refusal(const char* name, const std::string& why) const {
    return std::runtime_error("meshpar: " + said(name) + " " + why);
  }

  // A whole number from `least`, which must be there because `companion` is.
  int number(const char* name, int least, const char* companion, const char* advice) const {
    if (!has(name)) throw refusal(companion, std::string("is set but ") + name + " is not; " + advice);
    return number_or(name, least, 0, advice);
  }
  int number_or(const char* name, int least, int otherwise, const char* advice) const {
    if (!has(name)) return otherwise;
    int n = 0;
    if (!parse(value(name), n) || n < least)
      throw refusal(name, "is not a whole number from " + std::to_string(least) + "; " + advice);
    return n;
  }

  std::string first_of(std::initializer_list<const char*> names) const {
    for (const char* name : names)
      if (has(name)) {
        if (value(name).empty()) throw refusal(name, "is empty; unset it or give it a value");
        return std::string(value(name));
      }
    return "";
  }
  int port_of(std::initializer_list<const char*> names) const {
    for (const char* name : names) {
      if (!has(name)) continue;
      int n = 0;
      if (!parse(value(name), n) || n < 1 || n > 65535)
        throw refusal(name, "is not a port; set it to a number from 1 to 65535");
      return n;
    }
    return 0;
  }

 private:
  static bool parse(std::string_view digits, int& n) {
    long sum = 0;
    for (const char c : digits) {
      if (c < '0' || c > '9') return false;
      sum = 10 * sum + (c - '0');
      if (sum > 2147483647) return false;
    }
    n = static_cast<int>(sum);
    return !digits.empty();
  }

  const void* object_;
  const char* (*look_up_)(const void*, const char*);
};

}  // namespace meshpar::inline v0::launching
