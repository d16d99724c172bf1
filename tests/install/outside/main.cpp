// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/core/bf16.hpp>
#include <meshpar/version.hpp>

// A part's target brings the headers and the library of what it stands on.
#ifdef WITH_onednn
#include <oneapi/dnnl/dnnl.hpp>
#endif
#ifdef WITH_mpi
#include <mpi.h>
#endif
#ifdef WITH_cuda
#include <cublasLt.h>
#include <cuda_runtime_api.h>
#endif
#ifdef WITH_nccl
#include <nccl.h>
#endif

static_assert(meshpar::version.as_integer() >= 100);

int main() {
  int number = 0;
#ifdef WITH_onednn
  if (dnnl_version()->major < 2) return 1;
#endif
#ifdef WITH_mpi
  if (MPI_Get_version(&number, &number) != MPI_SUCCESS) return 2;
#endif
#ifdef WITH_cuda
  if (cudaRuntimeGetVersion(&number) != cudaSuccess || cublasLtGetVersion() == 0) return 3;
#endif
#ifdef WITH_nccl
  if (ncclGetVersion(&number) != ncclSuccess) return 4;
#endif
  return static_cast<float>(meshpar::bf16(1.0f)) == 1.0f && number >= 0 ? 0 : 5;
}
