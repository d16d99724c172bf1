// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/config/model.hpp>

#include <type_traits>

namespace meshpar::inline v0 {

// A layer with a constructor is made from the model; an aggregate is as its author wrote it.
template <class Layer>
constexpr Layer make(const model& m) {
  if constexpr (std::is_aggregate_v<Layer>) return Layer{};
  else return Layer(m);
}

}  // namespace meshpar::inline v0
