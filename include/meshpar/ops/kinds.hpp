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
  const runner<Device>* general = nullptr;
  for (const runner<Device>& k : kinds) {
    if (k.kind == &kind) return &k;
    if (k.kind == &any_host_function && kind.on_host != nullptr) general = &k;
  }
  return general;
}

// A function over host memory must be there in the record's element type.
constexpr verdict element_type_served(const record& r) {
  if (r.op->on_host == nullptr || r.op->on_host(r.type) != nullptr) return {};
  text t;
  t << r.op->name << " takes no buffers of " << name_of(r.type) << "; overload it for them, or set precision.param";
  return {.broken = rule::device_has_no_kernel, .line = r.line, .why = t, .remedy = fix::add_a_kernel};
}
constexpr verdict element_types_served(const tracer& t) {
  for (const record& r : t.records)
    if (const verdict v = element_type_served(r); !v.holds()) return v;
  return {};
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
