// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The second refusal has no expectation.
static_assert(sizeof(char) == 2, "first");  // expect: first
static_assert(sizeof(char) == 3, "second");
