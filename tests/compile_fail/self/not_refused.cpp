// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The second line was expected to be refused and is not.
static_assert(sizeof(char) == 2, "first");  // expect: first

static_assert(sizeof(char) == 1, "right");  // expect: never_said
