// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every kernel body on a CUDA block, wrapped in __global__: that nvcc translates them is the test.
#include <meshpar/kernels/activation.hpp>
#include <meshpar/kernels/adamw.hpp>
#include <meshpar/kernels/attention_grad.hpp>
#include <meshpar/kernels/cross_entropy.hpp>
#include <meshpar/kernels/dropout.hpp>
#include <meshpar/kernels/elementwise.hpp>
#include <meshpar/kernels/embedding.hpp>
#include <meshpar/kernels/layer_norm.hpp>
#include <meshpar/kernels/rms_norm.hpp>
#include <meshpar/kernels/rotary.hpp>

using namespace meshpar;
using namespace meshpar::kernels;

// A CUDA block of whole warps. Sums go by shuffles inside a warp, then through shared memory.
struct cuda_block {
  static constexpr int lanes = 1;
  __device__ int thread() const { return int(threadIdx.x); }
  __device__ int threads() const { return int(blockDim.x); }
  __device__ void sync() const { __syncthreads(); }
  template <class A, class Fold>
  __device__ A fold(A v, Fold f) const {
    __shared__ A warp[32];
    for (int o = 16; o > 0; o /= 2) v = f(v, __shfl_xor_sync(~0u, v, o));
    __syncthreads();
    if (threadIdx.x % 32 == 0) warp[threadIdx.x / 32] = v;
    __syncthreads();
    A all = warp[0];
    for (unsigned w = 1; w < blockDim.x / 32; ++w) all = f(all, warp[w]);
    return all;
  }
  template <class A>
  __device__ A sum(A v) const {
    return fold(v, [](A x, A y) { return x + y; });
  }
  template <class A>
  __device__ A max(A v) const {
    return fold(v, [](A x, A y) { return larger(x, y); });
  }
  template <class A>
  __device__ void multiply(A* c, long c_stride, const A* a, long a_row, long a_column, const A* b, long b_stride,
                           long m, long n, long k) const {
    tile_product_by_elements(*this, c, c_stride, a, a_row, a_column, b, b_stride, m, n, k);
  }
};
static_assert(block<cuda_block>);

template <class T>
__global__ void norms(T* y, accumulator_t<T>* stat, const T* x, const T* gain, long rows, long width) {
  const cuda_block b;
  const index_range mine{long(blockIdx.x), long(blockIdx.x) + 1};
  rms_norm(b, mine, y, stat, x, gain, width, 1e-5);
  rms_norm_input_grad(b, mine, y, x, x, gain, stat, width);
  rms_norm_weight_grad(b, mine, stat, x, x, stat, rows, width, false);
  layer_norm(b, mine, y, stat, stat, x, gain, gain, width, 1e-5);
  layer_norm_input_grad(b, mine, y, x, x, gain, stat, stat, width);
  layer_norm_weight_grad(b, mine, stat, stat, x, x, stat, stat, rows, width, false);
}

template <class T>
__global__ void pointwise(T* y, accumulator_t<T>* stat, const T* x, const std::int32_t* ids, long n) {
  using A = accumulator_t<T>;
  const cuda_block b;
  const index_range mine{long(blockIdx.x) * n, long(blockIdx.x + 1) * n};
  activate<gelu_tanh>(b, mine, y, x);
  activate_input_grad<gelu_erf>(b, mine, y, x, x);
  activate<relu>(b, mine, y, x);
  swiglu(b, mine, y, x, x, n, n);
  swiglu_input_grad(b, mine, y, y, x, x, x, n, n);
  rotary(b, mine, y, x, consecutive_positions{0, 2}, stat, stat, 2, n, n, n, false);
  embedding(b, mine, y, x, ids, n, 0, n);
  embedding_grad(b, mine, stat, x, ids, n, n, 0, n);
  fill(b, mine, y, T{});
  cast(b, mine, stat, x);
  add(b, mine, y, x, x);
  scale(b, mine, y, x, A(2));
  accumulate(b, mine, stat, x, A(1));
  add_bias(b, mine, y, x, x, n);
  bias_grad(b, mine, stat, x, n, n, false);
  dropout(b, mine, y, x, dropout_mask{{}, 5, 2}, token_origin{}, n);
}

template <class T>
__global__ void entropy(T* y, accumulator_t<T>* stat, const T* x, const std::int32_t* labels, long width) {
  using A = accumulator_t<T>;
  const cuda_block b;
  const index_range mine{long(blockIdx.x), long(blockIdx.x) + 1};
  const row_terms<A> terms{stat, stat, stat};
  row_max(b, mine, stat, x, width, width);
  row_sums(b, mine, terms, x, stat, labels, 0, width, width);
  row_loss(b, mine, stat, stat, terms, labels, 0.1, width);
  logits_grad(b, mine, y, x, stat, stat, labels, row_seed<A>{}, 0, width, width, 0.1, width);
}

template <class T>
__global__ void attend(T* y, accumulator_t<T>* stat, const T* x, attention_shape shape) {
  extern __shared__ double shared[];
  auto* scratch = reinterpret_cast<accumulator_t<T>*>(shared);
  const cuda_block b;
  const index_range mine{long(blockIdx.x), long(blockIdx.x) + 1};
  attention(b, mine, y, stat, x, x, x, shape, scratch);
  attention_query_grad(b, mine, y, x, x, x, x, x, stat, shape, scratch);
  attention_key_value_grad(b, mine, y, y, x, x, x, x, x, stat, shape, scratch);
}

template <class T>
__global__ void update(T* param, float* master, float* m, float* v, const T* grad, long n, adamw_step<float> step,
                       double* squares) {
  const cuda_block b;
  adamw(b, {0, n}, param, master, m, v, grad, step);
  *squares = sum_of_squares(b, grad, n);
}

template __global__ void norms(float*, float*, const float*, const float*, long, long);
template __global__ void norms(bf16*, float*, const bf16*, const bf16*, long, long);
template __global__ void pointwise(float*, float*, const float*, const std::int32_t*, long);
template __global__ void pointwise(bf16*, float*, const bf16*, const std::int32_t*, long);
template __global__ void entropy(float*, float*, const float*, const std::int32_t*, long);
template __global__ void entropy(bf16*, float*, const bf16*, const std::int32_t*, long);
template __global__ void attend(float*, float*, const float*, attention_shape);
template __global__ void attend(bf16*, float*, const bf16*, attention_shape);
template __global__ void update(bf16*, float*, float*, float*, const bf16*, long, adamw_step<float>, double*);

int main() {}
