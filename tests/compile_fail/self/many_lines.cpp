// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An error in its place, but it is told in more lines than two.
template <int Told>
struct told;
struct outer {
  told<35> inner;  // expect: told, 35
};
