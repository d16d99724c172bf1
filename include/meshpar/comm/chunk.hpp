// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace meshpar::inline v0 {

struct chunk {
  long begin = 0, end = 0;
  constexpr long size() const { return end - begin; }
};

// Part `index` of `count` things dealt to n ranks: the first count mod n parts are one longer than the others.
constexpr chunk chunk_of(long count, int n, int index) {
  const long each = count / n, longer = count % n;
  const long begin = index * each + (index < longer ? index : longer);
  return {begin, begin + each + (index < longer ? 1 : 0)};
}

}  // namespace meshpar::inline v0
