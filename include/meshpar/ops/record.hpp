// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/core/dtype.hpp>
#include <meshpar/core/fixed_vector.hpp>
#include <meshpar/layout/layout.hpp>

namespace meshpar::inline v0 {

class tracer;
struct record;
struct bound;
using host_function = void (*)(const bound&);

// One kind of operation. Its pullbacks add records to the program being traced: the part of the backward pass that the
// previous stage waits for, and the part that nobody waits for. Null where there is nothing to differentiate.
struct operation {
  const char* name = "";
  void (*input_grad)(tracer&, const record&) = nullptr;
  void (*weight_grad)(tracer&, const record&) = nullptr;
  // Floating-point operations of one record (multiply and add count as two); null means none worth counting.
  long (*flops)(const record&) = nullptr;
  // Of a function over host memory (ops/local.hpp): the one for an element type, null where there is none.
  host_function (*on_host)(dtype) = nullptr;
};

// The kind that stands for all such functions in a device's table: a device that has it runs them on its memory.
inline constexpr operation any_host_function{.name = "any_host_function"};

// The part of the step that a record belongs to.
enum class phase : std::uint8_t { forward, input_grad, weight_grad };

// How a backward pass is put together: each operation's weight gradient right after its input gradient, or (for
// schedules that fill bubbles with them) all weight gradients after all input gradients.
enum class backward_order : std::uint8_t { together, apart };

inline constexpr int no_value = -1;

using value_list = fixed_vector<std::int16_t, 8>;

template <class... Ids>
constexpr value_list values_of(Ids... ids) {
  return {{static_cast<std::int16_t>(ids)...}, static_cast<int>(sizeof...(ids))};
}

// One step of a program. Operands and results are numbers of values; what n and a mean is said by the operation.
struct record {
  const operation* op = nullptr;
  phase when = phase::forward;
  dtype type = dtype::f32;  // of the arithmetic
  value_list in{}, out{};
  std::int64_t n[8]{};
  double a[2]{};
  axis_set along{};  // of a collective
  int line = 0;      // where the operation stands in the source
};

// Where a value lives: `input` and `output` are the boundaries of a block, `saved` is kept from forward to backward,
// `transient` lives inside one pass over the block, `constant` is filled once before training.
enum class space : std::uint8_t {
  none,
  parameter,
  gradient,
  constant,
  input,
  output,
  saved,
  transient,
  output_grad,
  input_grad,
  ids,
  labels,
  seed,
  loss
};

// A value of the program: its layout, element type, bytes on one rank, and (once planned) its place and lifetime in
// record numbers.
struct value {
  layout shape{};
  dtype type = dtype::f32;
  std::int64_t bytes = 0;
  space where = space::none;
  std::int64_t offset = 0;
  std::int16_t made_by = no_value;   // record
  std::int16_t last_use = no_value;  // record
  std::int16_t same_as = no_value;   // a value whose memory this one is
  std::int16_t parameter = no_value;
  double argument = 0;  // of a constant
};

}  // namespace meshpar::inline v0
