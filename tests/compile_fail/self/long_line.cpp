// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An error in its place, but the type that it names is too long.
template <long... Told>
struct told;

told<1000000001, 1000000002, 1000000003, 1000000004, 1000000005, 1000000006, 1000000007, 1000000008, 1000000009,
     1000000010, 1000000011, 1000000012, 1000000013, 1000000014, 1000000015>
    first;  // expect: told
