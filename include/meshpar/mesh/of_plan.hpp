// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/config/plan.hpp>
#include <meshpar/mesh/mesh.hpp>

namespace meshpar::inline v0 {

// The ranks of one pipeline stage, on which the tensors of attention and dense layers live. Where tp exceeds several KV
// heads, tp is factored: its major part splits them, its minor part kv_rep holds copies. One KV head splits over
// nothing.
constexpr mesh mesh_of(const model& m, const plan& p) {
  const int copies = kv_replicas(m, p) < p.tp ? kv_replicas(m, p) : 1;
  return mesh{extent{axes::dp, p.dp}, extent{axes::cp, p.cp}, extent{axes::tp, p.tp / copies},
              extent{axes::kv_rep, copies}};
}

}  // namespace meshpar::inline v0
