// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/layout/fused.hpp>

#include <doctest/doctest.h>

using namespace meshpar;

// Eight query heads over four ranks, two key and two value heads over the major part of tp, replicated over the minor.
TEST_CASE("a rank's rows of fused q, k, v are rows of each part") {
  const mesh m{extent{axes::tp, 2}, extent{axes::kv_rep, 2}};
  const fused qkv{make_dim("heads", 8, m, whole_axis(axes::tp)), make_dim("kv_heads", 2, m, axes::tp),
                  make_dim("kv_heads", 2, m, axes::tp)};
  CHECK(qkv.local() == 4);
  CHECK(qkv.offset(1) == 2);
  CHECK(qkv.offset(2) == 3);
  for (int rank = 0; rank < 4; ++rank) {
    CHECK(row_of(qkv, m, rank, 0) == fused_row{0, rank * 2});
    CHECK(row_of(qkv, m, rank, 1) == fused_row{0, rank * 2 + 1});
    CHECK(row_of(qkv, m, rank, 2) == fused_row{1, rank / 2});
    CHECK(row_of(qkv, m, rank, 3) == fused_row{2, rank / 2});
  }
}
