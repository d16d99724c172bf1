// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
// How the examples speak: a progress line, two curves in one picture, numbers, and bytes as readable text.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace report {

// 1234567 as "1,234,567".
inline std::string grouped(long long n) {
  std::string s = std::to_string(n);
  for (int at = static_cast<int>(s.size()) - 3; at > (n < 0 ? 1 : 0); at -= 3)
    s.insert(static_cast<std::size_t>(at), 1, ',');
  return s;
}

// Seconds as "1:05".
inline std::string clock(double seconds) {
  const long whole = std::lround(std::ceil(seconds)), rest = whole % 60;
  return std::to_string(whole / 60) + (rest < 10 ? ":0" : ":") + std::to_string(rest);
}

inline double relative_difference(double a, double b) {
  return a == b ? 0 : std::fabs(a - b) / std::max(std::fabs(a), std::fabs(b));
}

// The largest over all steps; NaN where either value is.
inline double largest_relative_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double most = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double d = relative_difference(a[i], b[i]);
    if (!(d <= most)) most = d;
    if (std::isnan(most)) return most;
  }
  return most;
}

// One line that stays in place on a terminal; elsewhere a plain line at every tenth of the way.
class progress {
 public:
  explicit progress(long steps) : steps_(steps), terminal_(isatty(STDOUT_FILENO) == 1) {}

  // After step `number`; `seconds` since the first one began.
  void show(long number, double loss, double tokens, double seconds, const std::string& more) const {
    const bool last = number == steps_;
    if (!terminal_ && number * 10 / steps_ == (number - 1) * 10 / steps_) return;
    const double left = seconds / static_cast<double>(number) * static_cast<double>(steps_ - number);
    const std::string when = last ? "took " + clock(seconds) : "ETA " + clock(left);
    std::printf("%s  %s%ld/%ld  loss %.3f%s  %s tokens/s  %s%s", terminal_ ? "\r" : "", drawn(number).c_str(), number,
                steps_, loss, more.c_str(), grouped(std::llround(tokens / seconds)).c_str(), when.c_str(),
                terminal_ ? "\033[K" : "\n");
    if (terminal_ && last) std::printf("\n");
    std::fflush(stdout);
  }

 private:
  std::string drawn(long number) const {
    if (!terminal_) return "step ";
    constexpr long width = 10;
    const long done = width * number / steps_;
    return "[" + std::string(static_cast<std::size_t>(done), '#') +
           std::string(static_cast<std::size_t>(width - done), '.') + "] ";
  }
  long steps_;
  bool terminal_;
};

// Two curves over the steps, the first as 'o', the second as '+', where both meet '#'.
inline void plot(const std::vector<double>& first, const std::vector<double>& second, int width = 64, int height = 14) {
  const std::size_t n = std::min(first.size(), second.size());
  if (n == 0) return;
  const auto finite = [](double low, double x) { return std::isfinite(x) ? x : low; };
  double top = -1e300, bottom = 1e300;
  for (const auto* curve : {&first, &second})
    for (const double x : *curve) top = std::max(top, finite(top, x)), bottom = std::min(bottom, finite(bottom, x));
  if (top < bottom) return;  // no finite value
  if (top == bottom) top = bottom + 1;
  std::vector<std::string> rows(static_cast<std::size_t>(height), std::string(static_cast<std::size_t>(width), ' '));
  const auto draw = [&](const std::vector<double>& curve, char mark) {
    for (int column = 0; column < width; ++column) {
      const double x = curve[(n - 1) * static_cast<std::size_t>(column) / static_cast<std::size_t>(width - 1)];
      if (!std::isfinite(x)) continue;
      const auto row = static_cast<std::size_t>(std::lround((top - x) / (top - bottom) * (height - 1)));
      char& cell = rows[row][static_cast<std::size_t>(column)];
      cell = cell == ' ' ? mark : '#';
    }
  };
  draw(first, 'o');
  draw(second, '+');
  for (int row = 0; row < height; ++row) {
    const double level = top - (top - bottom) * row / (height - 1);
    std::string& line = rows[static_cast<std::size_t>(row)];
    line.erase(line.find_last_not_of(' ') + 1);
    std::printf("  %6.2f |%s\n", level, line.c_str());
  }
  std::printf("         +%s\n", std::string(static_cast<std::size_t>(width), '-').c_str());
  const std::string end = "step " + std::to_string(n);
  std::printf("          1%s%s\n", std::string(static_cast<std::size_t>(width) - 1 - end.size(), ' ').c_str(),
              end.c_str());
}

// Bytes, one at a time, as whole UTF-8 characters; '?' for what is none, or is not for a terminal.
class readable {
 public:
  std::string next(int byte) {
    const auto c = static_cast<unsigned char>(byte);
    if (missing_ > 0 && (c & 0xC0) == 0x80) {
      pending_ += static_cast<char>(c);
      return --missing_ > 0 ? "" : std::exchange(pending_, "");
    }
    const std::string broken = missing_ > 0 ? "?" : "";
    pending_.clear();
    missing_ = c >= 0xC2 && c <= 0xF4 ? (c >= 0xF0 ? 3 : c >= 0xE0 ? 2 : 1) : 0;
    if (missing_ > 0) return pending_ = static_cast<char>(c), broken;
    const bool plain = (c >= 0x20 && c < 0x7F) || c == '\n';
    return broken + (plain ? static_cast<char>(c) : '?');
  }

 private:
  std::string pending_;
  int missing_ = 0;
};

}  // namespace report
