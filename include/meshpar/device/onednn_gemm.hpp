// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/device/host_gemm.hpp>

#include <oneapi/dnnl/dnnl.h>

// Of the OpenMP runtime that oneDNN is built on; link with gomp.
extern "C" void omp_set_num_threads(int);

namespace meshpar::inline v0 {

// A matrix product of bf16 as a oneDNN primitive: made once per thread, shape, factors and result type, then only fed
// pointers.
struct onednn_product {
  struct key {
    gemm_shape shape;
    float alpha = 1, beta = 0;
    bool narrow = false;  // bf16 result
  };
  key made_for;
  dnnl_primitive_t primitive = nullptr;
  dnnl_memory_t a = nullptr, b = nullptr, c = nullptr, scratchpad = nullptr;
  std::size_t scratchpad_bytes = 0;

  static bool same(const key& x, const key& y) {
    const gemm_shape &p = x.shape, &q = y.shape;
    return p.m == q.m && p.n == q.n && p.k == q.k && p.a == q.a && p.b == q.b && p.c == q.c &&
           p.transpose_a == q.transpose_a && p.transpose_b == q.transpose_b && x.alpha == y.alpha && x.beta == y.beta &&
           x.narrow == y.narrow;
  }

  static dnnl_engine_t engine() {
    static const dnnl_engine_t cpu = [] {
      dnnl_engine_t made = nullptr;
      dnnl_engine_create(&made, dnnl_cpu, 0);
      return made;
    }();
    return cpu;
  }

  static dnnl_memory_desc_t matrix(long rows, long columns, long row_stride, long column_stride, dnnl_data_type_t t) {
    dnnl_memory_desc_t made;
    const dnnl_dims_t sizes = {rows, columns}, strides = {row_stride, column_stride};
    dnnl_memory_desc_init_by_strides(&made, 2, sizes, t, strides);
    return made;
  }

  // False, with nothing held, if oneDNN cannot do it.
  bool make(const key& k) {
    const gemm_shape& s = k.shape;
    const dnnl_memory_desc_t left = matrix(s.m, s.k, s.transpose_a ? 1 : s.a, s.transpose_a ? s.a : 1, dnnl_bf16);
    const dnnl_memory_desc_t right = matrix(s.k, s.n, s.transpose_b ? 1 : s.b, s.transpose_b ? s.b : 1, dnnl_bf16);
    const dnnl_memory_desc_t result = matrix(s.m, s.n, s.c, 1, k.narrow ? dnnl_bf16 : dnnl_f32);
    dnnl_primitive_attr_t how = nullptr;
    dnnl_post_ops_t after = nullptr;
    dnnl_primitive_attr_create(&how);
    dnnl_primitive_attr_set_scratchpad_mode(how, dnnl_scratchpad_mode_user);
    if (k.alpha != 1) dnnl_primitive_attr_set_output_scales(how, 1, 0, &k.alpha);
    dnnl_post_ops_create(&after);
    if (k.beta != 0) dnnl_post_ops_append_sum(after, k.beta);
    dnnl_primitive_attr_set_post_ops(how, after);
    dnnl_matmul_desc_t what;
    dnnl_primitive_desc_t chosen = nullptr;
    bool good = dnnl_matmul_desc_init(&what, &left, &right, nullptr, &result) == dnnl_success &&
                dnnl_primitive_desc_create(&chosen, &what, how, engine(), nullptr) == dnnl_success &&
                dnnl_primitive_create(&primitive, chosen) == dnnl_success;
    if (good) {
      const dnnl_memory_desc_t* space = dnnl_primitive_desc_query_md(chosen, dnnl_query_scratchpad_md, 0);
      scratchpad_bytes = dnnl_memory_desc_get_size(space);
      good = dnnl_memory_create(&a, &left, engine(), DNNL_MEMORY_NONE) == dnnl_success &&
             dnnl_memory_create(&b, &right, engine(), DNNL_MEMORY_NONE) == dnnl_success &&
             dnnl_memory_create(&c, &result, engine(), DNNL_MEMORY_NONE) == dnnl_success &&
             dnnl_memory_create(&scratchpad, space, engine(), DNNL_MEMORY_NONE) == dnnl_success;
    }
    if (chosen) dnnl_primitive_desc_destroy(chosen);
    dnnl_post_ops_destroy(after);
    dnnl_primitive_attr_destroy(how);
    made_for = k;
    if (!good) drop();
    return good;
  }

  void drop() {
    for (dnnl_memory_t* m : {&a, &b, &c, &scratchpad})
      if (*m) dnnl_memory_destroy(*m), *m = nullptr;
    if (primitive) dnnl_primitive_destroy(primitive), primitive = nullptr;
  }
};

// A thread's products, and the space that they all use.
struct onednn_products {
  static constexpr int capacity = 128;
  onednn_product table[capacity];
  int count = 0, oldest = 0;
  dnnl_stream_t stream = nullptr;
  char* space = nullptr;
  std::size_t bytes = 0;

  onednn_products() { dnnl_stream_create(&stream, onednn_product::engine(), dnnl_stream_default_flags); }
  onednn_products(const onednn_products&) = delete;
  onednn_products& operator=(const onednn_products&) = delete;
  ~onednn_products() {
    for (onednn_product& p : table) p.drop();
    dnnl_stream_destroy(stream);
    ::operator delete(space, std::align_val_t{64});
  }
  static onednn_products& of_this_thread() {
    thread_local onednn_products products;
    return products;
  }

  onednn_product* find(const onednn_product::key& k) {
    for (int i = 0; i < count; ++i)
      if (onednn_product::same(table[i].made_for, k)) return table[i].primitive ? &table[i] : nullptr;
    onednn_product& slot = table[count < capacity ? count++ : oldest++ % capacity];
    slot.drop();
    return slot.make(k) ? &slot : nullptr;
  }

  void reserve(std::size_t wanted) {
    if (wanted <= bytes) return;
    ::operator delete(space, std::align_val_t{64});
    space = static_cast<char*>(::operator new(wanted, std::align_val_t{64}));
    bytes = wanted;
  }

  // False if oneDNN cannot do it: nothing has happened then.
  bool run(const onednn_product::key& k, const void* a, const void* b, void* c) {
    onednn_product* p = find(k);
    if (!p) return false;
    reserve(p->scratchpad_bytes);
    dnnl_memory_set_data_handle(p->a, const_cast<void*>(a));
    dnnl_memory_set_data_handle(p->b, const_cast<void*>(b));
    dnnl_memory_set_data_handle(p->c, c);
    dnnl_memory_set_data_handle(p->scratchpad, space);
    const dnnl_exec_arg_t arguments[] = {
        {DNNL_ARG_SRC, p->a}, {DNNL_ARG_WEIGHTS, p->b}, {DNNL_ARG_DST, p->c}, {DNNL_ARG_SCRATCHPAD, p->scratchpad}};
    return dnnl_primitive_execute(p->primitive, stream, 4, arguments) == dnnl_success &&
           dnnl_stream_wait(stream) == dnnl_success;
  }
};

// Matrix products by oneDNN in f32 and bf16; f64, and what oneDNN declines, by plain_gemm.
struct onednn_gemm {
  static constexpr const char* name = "oneDNN";

  template <class T, class C>
  static void multiply(const gemm_shape& s, accumulator_t<T> alpha, const T* a, const T* b, accumulator_t<T> beta,
                       C* c) {
    if (s.m == 0 || s.n == 0) return;
    if constexpr (std::is_same_v<T, float> && std::is_same_v<C, float>) {
      if (dnnl_sgemm(s.transpose_a ? 'T' : 'N', s.transpose_b ? 'T' : 'N', s.m, s.n, s.k, alpha, a, s.a, b, s.b, beta,
                     c, s.c) == dnnl_success)
        return;
    } else if constexpr (std::is_same_v<T, bf16>) {
      if (s.k > 0 && onednn_products::of_this_thread().run({s, alpha, beta, std::is_same_v<C, bf16>}, a, b, c)) return;
    }
    plain_gemm::multiply(s, alpha, a, b, beta, c);
  }

  // Threads that a product started by the calling thread may use.
  static void set_threads(int n) { omp_set_num_threads(n); }
};

}  // namespace meshpar::inline v0
