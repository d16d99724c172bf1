// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/layout/dim.hpp>

namespace meshpar::inline v0 {

// How a parameter starts: `normal` draws N(0, 0.02), `residual` the same over sqrt(2 layers) (GPT-2's rule for the
// products that end in the residual stream).
enum class initial : std::uint8_t { normal, residual, ones, zeros };

// A parameter of a layer: a name, how it starts, and its logical dims; the plan places it. Its dims are in its type.
template <class... Dims>
struct param {
  const char* name;
  initial start = initial::normal;

  constexpr param(const char* word, Dims...) : name(word) {}
  constexpr param(const char* word, initial how, Dims...) : name(word), start(how) {}
};
template <class... Dims>
param(const char*, Dims...) -> param<Dims...>;
template <class... Dims>
param(const char*, initial, Dims...) -> param<Dims...>;

}  // namespace meshpar::inline v0
