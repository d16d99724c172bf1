// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <stdexcept>

namespace meshpar::inline v0 {

// A call that cannot complete: what() is one line that starts with the rank which throws.
struct comm_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Thrown on the ranks that were waiting when another rank failed: "rank r failed: <its message>".
struct run_aborted : comm_error {
  using comm_error::comm_error;
};

}  // namespace meshpar::inline v0
