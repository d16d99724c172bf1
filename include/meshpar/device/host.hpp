// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/core/dtype.hpp>

#include <cstdint>

namespace meshpar::inline v0 {

// What every rank knows of the step it is in; with a layout it gives the global indices that masks are made of.
struct step_state {
  std::uint64_t seed = 1;
  std::uint64_t step = 0;
  std::int64_t first_sample = 0;  // of the micro-batch, among the samples of the step
  bool training = true;           // dropout acts
};

// The processor this program runs on: element type T, matrix products by Gemm, collectives by Comm. One per rank.
template <class T, class Gemm, class Comm>
struct host {
  using element = T;
  using gemm = Gemm;
  Comm* comm = nullptr;
  step_state now{};
};

}  // namespace meshpar::inline v0
