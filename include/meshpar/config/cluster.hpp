// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
namespace meshpar::inline v0 {

// What a plan runs on. Bytes are decimal and per device; reserve is what libraries and contexts take beside us.
struct cluster {
  int devices_per_node = 1;
  long long memory_bytes = 0;
  long long reserve_bytes = 0;
  bool reserve_measured = false;  // false: reserve_bytes is an estimate
  constexpr bool operator==(const cluster&) const = default;
};

constexpr long long usable_bytes(const cluster& c) { return c.memory_bytes - c.reserve_bytes; }

// NVIDIA H200 SXM, eight to a node: 141 GB as the vendor states it. The reserve (CUDA context, NCCL, workspaces) is an
// estimate that has not been measured.
inline constexpr cluster h200{.devices_per_node = 8, .memory_bytes = 141'000'000'000, .reserve_bytes = 6'000'000'000};

}  // namespace meshpar::inline v0
