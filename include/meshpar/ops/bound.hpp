// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/group.hpp>
#include <meshpar/ops/record.hpp>

namespace meshpar::inline v0 {

// A record bound to the memory of one rank: pointers for its values, the global indices at which its first operand
// starts in each dim, the rank's place along the record's axes, and its group. What a device's table of kinds runs.
struct bound {
  const record* what = nullptr;
  void* in[8]{};
  void* out[8]{};
  dtype out_type = dtype::f32;
  std::int64_t first[6]{};
  int site = 0;      // of the block instance: tells the dropout masks of layers apart
  int position = 0;  // in the group
  group ranks{};
  const tracer* traced = nullptr;  // the block of the record: layouts of its values, and the mesh
  int rank = 0;                    // in that mesh

  template <class T>
  T* output(int i) const {
    return static_cast<T*>(out[i]);
  }
  template <class T>
  const T* input(int i) const {
    return static_cast<const T*>(in[i]);
  }
  std::int64_t n(int i) const { return what->n[i]; }
  double a(int i) const { return what->a[i]; }
};

// How a device runs one kind of operation. A device is the list of these; a program with a kind that is not in the list
// is refused when it is bound, by name.
template <class Device>
struct runner {
  const operation* kind;
  void (*run)(Device&, const bound&);
};

}  // namespace meshpar::inline v0
