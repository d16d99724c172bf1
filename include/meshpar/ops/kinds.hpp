// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/ops/bound.hpp>
#include <meshpar/ops/transition.hpp>

#include <array>
#include <cstddef>
#include <span>

namespace meshpar::inline v0 {

// A device's table of kinds with more at its end: for operations of a user's own.
template <class Device, std::size_t N, class... More>
constexpr auto extended(const runner<Device> (&table)[N], More... more) {
  std::array<runner<Device>, N + sizeof...(More)> all{};
  std::size_t n = 0;
  for (const runner<Device>& k : table) all[n++] = k;
  ((all[n++] = more), ...);
  return all;
}

template <class Device>
constexpr const runner<Device>* find_kind(std::span<const runner<Device>> kinds, const operation& kind) {
  for (const runner<Device>& k : kinds)
    if (k.kind == &kind) return &k;
  return nullptr;
}

// A new name for the same memory needs no call.
constexpr bool needs_no_call(const record& r) {
  return r.op == &to_op::info && r.n[0] == static_cast<std::int64_t>(typing::collective::none);
}

// The first kind among a block's records that a table lacks, or null.
template <class Device>
constexpr const operation* missing_kind(const tracer& t, std::span<const runner<Device>> kinds) {
  for (const record& r : t.records)
    if (!needs_no_call(r) && find_kind(kinds, *r.op) == nullptr) return r.op;
  return nullptr;
}

}  // namespace meshpar::inline v0
