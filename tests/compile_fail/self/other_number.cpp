// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// 5 is not found inside 35.
template <int Told>
struct told;

told<35> first;  // expect: told, 5
