// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The one place that holds the version: CMake reads these three lines. Macros, so that #if can test them.
#define MESHPAR_VERSION_MAJOR 0
#define MESHPAR_VERSION_MINOR 1
#define MESHPAR_VERSION_PATCH 0

namespace meshpar::inline v0 {

struct version_number {
  int major_part = 0, minor_part = 0, patch_part = 0;
  // 0.1.0 is 100 and 1.2.3 is 10203: later versions compare greater.
  constexpr int as_integer() const { return major_part * 10000 + minor_part * 100 + patch_part; }
};

inline constexpr version_number version{MESHPAR_VERSION_MAJOR, MESHPAR_VERSION_MINOR, MESHPAR_VERSION_PATCH};

}  // namespace meshpar::inline v0
