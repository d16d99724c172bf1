// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Code for both sides of a CUDA program.
#if defined(__CUDACC__)
#define MESHPAR_HD __host__ __device__
#else
#define MESHPAR_HD
#endif
