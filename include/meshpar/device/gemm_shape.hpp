// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/core/dtype.hpp>

namespace meshpar::inline v0 {

// C[m, n] = alpha op(A)[m, k] op(B)[k, n] + beta C, row-major. A transposed operand is stored [k, m] or [n, k]; a, b
// and c are the elements between rows as stored. With beta 0, C may hold anything before.
struct gemm_shape {
  bool transpose_a = false, transpose_b = false;
  long m = 0, n = 0, k = 0;
  long a = 0, b = 0, c = 0;
};

// The shape whose three matrices are contiguous.
constexpr gemm_shape packed_gemm(bool transpose_a, bool transpose_b, long m, long n, long k) {
  return {transpose_a, transpose_b, m, n, k, transpose_a ? m : k, transpose_b ? k : n, n};
}

}  // namespace meshpar::inline v0
