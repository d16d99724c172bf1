// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two refusals with values, one of them in a template that the user's line instantiates; the last line is right.
template <int Told>
struct told;

template <int Value>
struct even : told<Value> {};
template <int Value>
  requires(Value % 2 == 0)
struct even<Value> {};

even<3> first;   // expect: told, 3
even<35> other;  // expect: told, 35
even<4> right;
