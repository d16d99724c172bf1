// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
namespace meshpar::inline v0 {

// A sentence built at compile time. What does not fit is cut, never written past the end.
struct text {
  char s[512]{};
  int n = 0;

  constexpr int size() const { return n; }
  constexpr const char* data() const { return s; }
  constexpr const char* c_str() const { return s; }
  constexpr bool empty() const { return n == 0; }

  constexpr text& operator<<(char c) {
    if (n < static_cast<int>(sizeof s) - 1) s[n++] = c;
    return *this;
  }
  constexpr text& operator<<(const char* word) {
    while (*word != '\0') *this << *word++;
    return *this;
  }
  constexpr text& operator<<(const text& other) { return *this << other.s; }
  constexpr text& operator<<(long value) {
    if (value < 0) return (*this << '-') << -value;
    if (value >= 10) *this << value / 10;
    return *this << static_cast<char>('0' + value % 10);
  }
  constexpr text& operator<<(int value) { return *this << static_cast<long>(value); }

  constexpr bool operator==(const text& other) const { return *this == other.s; }
  constexpr bool operator==(const char* other) const {
    int i = 0;
    while (i < n && other[i] == s[i]) ++i;
    return i == n && other[n] == '\0';
  }
};

}  // namespace meshpar::inline v0
