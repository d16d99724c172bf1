// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/layout/dim.hpp>

namespace meshpar::inline v0 {

// How a parameter starts: `normal` draws N(0, 0.02), `residual` the same over sqrt(2 layers) (GPT-2's rule for the
// products that end in the residual stream).
enum class initial : std::uint8_t { normal, residual, ones, zeros };

// A parameter of a layer: `param<dims::hidden, dims::ffn> up{"up"};` has logical dims, in its type; a plan places it.
template <std::uint64_t... Names>
struct named_param {
  const char* name;
  initial start = initial::normal;
};
template <auto... Dims>
using param = named_param<Dims.name.code...>;

}  // namespace meshpar::inline v0
