// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/core/dtype.hpp>

#include <cstdint>
#include <span>
#include <string>

namespace meshpar::inline v0 {

enum class reduction : std::uint8_t { sum, max };

constexpr const char* name_of(reduction how) { return how == reduction::sum ? "sum" : "max"; }

enum class call_kind : std::uint8_t {
  none,
  all_gather,
  reduce_scatter,
  all_reduce,
  all_to_all,
  all_to_all_v,
  broadcast,
  barrier,
  send,
  receive
};
inline constexpr int call_kinds = 10;

constexpr const char* name_of(call_kind kind) {
  constexpr const char* names[call_kinds] = {"no call",      "all_gather", "reduce_scatter", "all_reduce", "all_to_all",
                                             "all_to_all_v", "broadcast",  "barrier",        "send",       "receive"};
  return names[static_cast<int>(kind)];
}

// What the members of a group must agree on; the label is for people and may differ.
struct call {
  call_kind kind = call_kind::none;
  dtype element = dtype::f32;
  dtype accumulate = dtype::f32;
  reduction how = reduction::sum;
  int peer = 0;    // the root of a broadcast, the other side of a send or receive: an index in the group
  long outer = 1;  // the tag of a send or receive
  long inner = 0;  // elements of a reduction, else bytes
  const char* label = "";
};

// What all_to_all_v takes per peer: bytes to send and where, bytes to receive and where.
struct exchange {
  std::span<const long> parts[4];
};

constexpr bool is_reduction(call_kind kind) {
  return kind == call_kind::all_reduce || kind == call_kind::reduce_scatter;
}

// Do members send different numbers of bytes?
constexpr bool sizes_differ(call_kind kind) { return kind == call_kind::broadcast || kind == call_kind::all_to_all_v; }

constexpr bool matches(const call& a, const call& b) {
  return a.kind == b.kind && a.element == b.element && a.accumulate == b.accumulate && a.how == b.how &&
         a.peer == b.peer && a.outer == b.outer && a.inner == b.inner;
}

inline std::string size_text(const call& c) {
  const std::string size = std::to_string(c.outer) + " x " + std::to_string(c.inner);
  if (!is_reduction(c.kind)) return size + " bytes";
  return size + " " + name_of(c.element) + ", " + name_of(c.how) + " in " + name_of(c.accumulate);
}

inline std::string named(const call& c) {
  const std::string name = name_of(c.kind);
  return *c.label ? name + " '" + c.label + "'" : name;
}

// all_reduce 'gradients' [1 x 24 f32, sum in f32]
inline std::string describe(const call& c) {
  if (c.kind == call_kind::barrier || c.kind == call_kind::all_to_all_v) return named(c);
  if (c.kind == call_kind::send || c.kind == call_kind::receive)
    return named(c) + " [tag " + std::to_string(c.outer) + ", " + std::to_string(c.inner) + " bytes]";
  const std::string root = c.kind == call_kind::broadcast ? ", root " + std::to_string(c.peer) : "";
  return named(c) + " [" + size_text(c) + root + "]";
}

}  // namespace meshpar::inline v0
