// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
namespace meshpar::inline v0 {

// Not constexpr on purpose: a constant expression that overflows names this function in its error.
inline void fixed_vector_overflow() { __builtin_trap(); }

// A vector of at most N elements that is a structural type: it can be a template argument, and unused slots are
// T{}, so that equal contents are equal values. Going past N is a compile error in a constant expression and a trap
// at run time.
template <class T, int N>
struct fixed_vector {
  T items[N]{};
  int count = 0;

  static constexpr int capacity = N;
  constexpr int size() const { return count; }
  constexpr bool empty() const { return count == 0; }
  constexpr const T* begin() const { return items; }
  constexpr const T* end() const { return items + count; }
  constexpr T* begin() { return items; }
  constexpr T* end() { return items + count; }
  constexpr const T& operator[](int i) const { return items[i]; }
  constexpr T& operator[](int i) { return items[i]; }
  constexpr const T& back() const { return items[count - 1]; }
  constexpr T& back() { return items[count - 1]; }

  constexpr T& push_back(const T& item) {
    if (count == N) fixed_vector_overflow();
    return items[count++] = item;
  }
  constexpr void pop_back() { items[--count] = T{}; }
  constexpr void clear() {
    while (count > 0) pop_back();
  }

  constexpr bool operator==(const fixed_vector& other) const {
    if (count != other.count) return false;
    for (int i = 0; i < count; ++i)
      if (!(items[i] == other.items[i])) return false;
    return true;
  }
};

}  // namespace meshpar::inline v0
