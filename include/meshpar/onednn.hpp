// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
// Matrix products by oneDNN: launch<net, onednn>. Link with dnnl and gomp (the CMake component onednn).
#include <meshpar/device/onednn_gemm.hpp>

namespace meshpar::inline v0 {
using onednn = onednn_gemm;
}  // namespace meshpar::inline v0
