// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/device/gemm_shape.hpp>
#include <meshpar/device/host.hpp>
#include <meshpar/kernels/activation.hpp>
#include <meshpar/kernels/attention_grad.hpp>
#include <meshpar/kernels/cross_entropy.hpp>
#include <meshpar/kernels/elementwise.hpp>
#include <meshpar/kernels/embedding.hpp>
#include <meshpar/kernels/layer_norm.hpp>
#include <meshpar/kernels/rms_norm.hpp>
#include <meshpar/kernels/rotary.hpp>
#include <meshpar/ops/activation.hpp>
#include <meshpar/ops/attention.hpp>
#include <meshpar/ops/bound.hpp>
#include <meshpar/ops/contract.hpp>
#include <meshpar/ops/cross_entropy.hpp>
#include <meshpar/ops/dropout.hpp>
#include <meshpar/ops/embedding.hpp>
#include <meshpar/ops/host_collectives.hpp>
#include <meshpar/ops/norm.hpp>
#include <meshpar/ops/rotary.hpp>
#include <meshpar/ops/sum.hpp>

#include <span>

namespace meshpar::inline v0::host_kinds {

// The host's table of kinds: from a bound record to a kernel. D is host<T, Gemm, Comm>; A the type of statistics.
template <class D>
using element_t = typename D::element;
template <class D>
using statistic_t = accumulator_t<typename D::element>;

template <class D>
void contract(D&, const bound& c) {
  using T = element_t<D>;
  const gemm_shape s = packed_gemm(c.n(contract_op::transpose_a) != 0, c.n(contract_op::transpose_b) != 0,
                                   c.n(contract_op::rows), c.n(contract_op::columns), c.n(contract_op::depth));
  const statistic_t<D> beta = c.n(contract_op::accumulate) != 0 ? 1 : 0;
  if (c.out_type == dtype_of<T>) D::gemm::multiply(s, 1, c.input<T>(0), c.input<T>(1), beta, c.output<T>(0));
  else D::gemm::multiply(s, 1, c.input<T>(0), c.input<T>(1), beta, c.output<statistic_t<D>>(0));
}

template <class D>
void activate(D&, const bound& c) {
  using T = element_t<D>;
  switch (static_cast<pointwise>(c.n(1))) {
    case pointwise::gelu: return kernels::activate<kernels::gelu_tanh>(c.output<T>(0), c.input<T>(0), c.n(0));
    case pointwise::relu: return kernels::activate<kernels::relu>(c.output<T>(0), c.input<T>(0), c.n(0));
    case pointwise::silu: return kernels::activate<kernels::silu>(c.output<T>(0), c.input<T>(0), c.n(0));
  }
}
template <class D>
void activate_grad(D&, const bound& c) {
  using T = element_t<D>;
  T* dx = c.output<T>(0);
  const T *dy = c.input<T>(0), *x = c.input<T>(1);
  switch (static_cast<pointwise>(c.n(1))) {
    case pointwise::gelu: return kernels::activate_input_grad<kernels::gelu_tanh>(dx, dy, x, c.n(0));
    case pointwise::relu: return kernels::activate_input_grad<kernels::relu>(dx, dy, x, c.n(0));
    case pointwise::silu: return kernels::activate_input_grad<kernels::silu>(dx, dy, x, c.n(0));
  }
}

template <class D>
void swiglu(D&, const bound& c) {
  using T = element_t<D>;
  kernels::swiglu(c.output<T>(0), c.input<T>(0), c.input<T>(1), 1, c.n(0), c.n(0));
}
template <class D>
void swiglu_grad(D&, const bound& c) {
  using T = element_t<D>;
  kernels::swiglu_input_grad(c.output<T>(0), c.output<T>(1), c.input<T>(0), c.input<T>(1), c.input<T>(2), 1, c.n(0),
                             c.n(0));
}

template <class D>
void rms_norm(D&, const bound& c) {
  using T = element_t<D>;
  kernels::rms_norm(c.output<T>(0), c.output<statistic_t<D>>(1), c.input<T>(0), c.input<T>(1), c.n(0), c.n(1), c.a(0));
}
template <class D>
void rms_norm_input_grad(D&, const bound& c) {
  using T = element_t<D>;
  kernels::rms_norm_input_grad(c.output<T>(0), c.input<T>(0), c.input<T>(1), c.input<T>(2), c.input<statistic_t<D>>(3),
                               c.n(0), c.n(1));
}
template <class D>
void rms_norm_weight_grad(D&, const bound& c) {
  using T = element_t<D>;
  using A = statistic_t<D>;
  kernels::rms_norm_weight_grad<T>(c.output<A>(0), c.input<T>(0), c.input<T>(1), c.input<A>(2), c.n(0), c.n(1),
                                   c.n(2) != 0);
}

template <class D>
void layer_norm(D&, const bound& c) {
  using T = element_t<D>;
  using A = statistic_t<D>;
  kernels::layer_norm(c.output<T>(0), c.output<A>(1), c.output<A>(2), c.input<T>(0), c.input<T>(1), c.input<T>(2),
                      c.n(0), c.n(1), c.a(0));
}
template <class D>
void layer_norm_input_grad(D&, const bound& c) {
  using T = element_t<D>;
  using A = statistic_t<D>;
  kernels::layer_norm_input_grad(c.output<T>(0), c.input<T>(0), c.input<T>(1), c.input<T>(2), c.input<A>(3),
                                 c.input<A>(4), c.n(0), c.n(1));
}
template <class D>
void layer_norm_weight_grad(D&, const bound& c) {
  using T = element_t<D>;
  using A = statistic_t<D>;
  const bool adds = c.n(2) != 0 || c.n(3) != 0;
  for (int i = 0; i < 2; ++i)
    if (adds && c.n(2 + i) == 0) kernels::fill(c.output<A>(i), A{}, c.n(1));
  kernels::layer_norm_weight_grad<T>(c.output<A>(0), c.output<A>(1), c.input<T>(0), c.input<T>(1), c.input<A>(2),
                                     c.input<A>(3), c.n(0), c.n(1), adds);
}

template <class D>
void sum(D&, const bound& c) {
  using T = element_t<D>;
  if (c.out_type == dtype::f64)  // losses are, whatever the elements
    return kernels::add(c.output<double>(0), c.input<double>(0), c.input<double>(1), c.n(0));
  kernels::add(c.output<T>(0), c.input<T>(0), c.input<T>(1), c.n(0));
}
// A wide gradient in the element type.
template <class D>
void narrow(D&, const bound& c) {
  kernels::cast(c.output<element_t<D>>(0), c.input<statistic_t<D>>(0), c.n(0));
}
// A term, wide or narrow, is added to a parameter's gradient, wide or narrow; a loss to that of earlier micro-batches.
template <class D, class To>
void accumulate_in(const bound& c) {
  if (static_cast<dtype>(c.n(1)) == dtype_of<element_t<D>>)
    kernels::accumulate(c.output<To>(0), c.input<element_t<D>>(0), c.n(0));
  else kernels::accumulate(c.output<To>(0), c.input<statistic_t<D>>(0), c.n(0));
}
template <class D>
void accumulate(D&, const bound& c) {
  if (c.out_type == dtype::f64) return kernels::accumulate(c.output<double>(0), c.input<double>(0), c.n(0));
  if (c.out_type == dtype_of<element_t<D>>) accumulate_in<D, element_t<D>>(c);
  else accumulate_in<D, statistic_t<D>>(c);
}
template <class D>
void bias(D&, const bound& c) {
  using T = element_t<D>;
  kernels::add_bias(c.output<T>(0), c.input<T>(0), c.input<T>(1), c.n(0), c.n(1));
}
template <class D>
void bias_grad(D&, const bound& c) {
  kernels::bias_grad(c.output<statistic_t<D>>(0), c.input<element_t<D>>(0), c.n(0), c.n(1), c.n(2) != 0);
}

template <class D>
kernels::dropout_mask mask_of(const D& d, const bound& c, std::int64_t site, double rate) {
  return kernels::dropout_at(d.now.training ? rate : 0, d.now.seed, d.now.step,
                             static_cast<std::uint64_t>(c.site * tracer::record_limit + site));
}
template <class D>
void dropout(D& d, const bound& c) {
  using T = element_t<D>;
  const std::int64_t batch = c.n(3);
  kernels::dropout(c.output<T>(0), c.input<T>(0), mask_of(d, c, c.n(2), c.a(0)),
                   {c.first[0], d.now.first_sample + c.first[1], c.first[2], batch}, c.n(0), c.n(1));
}

template <class D>
void rotary(D&, const bound& c) {
  using T = element_t<D>;
  const auto* cosine = c.input<statistic_t<D>>(1);
  const std::int64_t positions = c.n(0), rows = c.n(1), d = c.n(2);
  kernels::rotary(c.output<T>(0), c.input<T>(0), kernels::consecutive_positions{c.first[0], 1}, cosine,
                  cosine + c.n(4) * d / 2, positions, rows, d, rows * d, rows * d, c.n(3) != 0);
}

template <class D>
void embedding(D&, const bound& c) {
  using T = element_t<D>;
  kernels::embedding(c.output<T>(0), c.input<T>(0), c.input<std::int32_t>(1), c.n(0), c.n(1), c.first[0],
                     c.first[0] + c.n(2));
}
// The third operand is the table, for its place in the vocabulary only.
template <class D>
void embedding_grad(D&, const bound& c) {
  auto* out = c.output<statistic_t<D>>(0);
  if (c.n(3) == 0) kernels::fill(out, statistic_t<D>{}, c.n(1) * c.n(2));
  kernels::embedding_grad(out, c.input<element_t<D>>(1), c.input<std::int32_t>(2), c.n(0), c.n(1), c.first[0],
                          c.first[0] + c.n(2));
}
template <class D>
void positions(D&, const bound& c) {
  using T = element_t<D>;
  const std::int64_t batch = c.n(1), width = c.n(2);
  for (std::int64_t p = 0; p < c.n(0); ++p)
    kernels::add_bias(c.output<T>(0) + p * batch * width, c.input<T>(0) + p * batch * width,
                      c.input<T>(1) + (c.first[0] + p) * width, batch, width);
}
template <class D>
void positions_grad(D&, const bound& c) {
  auto* out = c.output<statistic_t<D>>(0);
  const std::int64_t batch = c.n(1), width = c.n(2);
  if (c.n(3) == 0) kernels::fill(out, statistic_t<D>{}, c.n(4) * width);
  for (std::int64_t p = 0; p < c.n(0); ++p)
    kernels::bias_grad(out + (c.first[0] + p) * width, c.input<element_t<D>>(0) + p * batch * width, batch, width,
                       true);
}

template <class D>
kernels::attention_shape shape_of(const D& d, const bound& c) {
  const std::int64_t batch = c.n(1), heads = c.n(2), width = c.n(3), kv_heads = c.n(4);
  kernels::attention_shape s;
  s.batch = batch, s.heads = heads, s.kv_heads = kv_heads, s.head_dim = width;
  s.queries = s.keys = c.n(0);
  s.scale = c.a(0);
  s.q = s.o = kernels::position_major(batch, heads, width);
  s.k = s.v = kernels::position_major(batch, kv_heads, width);
  s.query_start = s.key_start = c.first[0];
  s.sample_start = d.now.first_sample + c.first[1];
  s.head_start = c.first[2];
  s.dropout = mask_of(d, c, c.n(5), c.a(1));
  return s;
}
template <class D>
void attention(D& d, const bound& c) {
  using T = element_t<D>;
  kernels::attention(c.output<T>(0), c.output<statistic_t<D>>(1), c.input<T>(0), c.input<T>(1), c.input<T>(2),
                     shape_of(d, c), c.out[2]);
}
// Operands are {q, k, v, dy, o, lse}.
template <class D>
void attention_grad(D& d, const bound& c) {
  using T = element_t<D>;
  kernels::attention_grad(c.output<T>(0), c.output<T>(1), c.output<T>(2), c.input<T>(3), c.input<T>(0), c.input<T>(1),
                          c.input<T>(2), c.input<T>(4), c.input<statistic_t<D>>(5), shape_of(d, c), c.out[3]);
}

// Of the columns held from first[2] on, those that exist.
inline std::int64_t valid_columns(const bound& c) {
  const std::int64_t left = c.n(2) - c.first[2];
  return left < 0 ? 0 : left < c.n(1) ? left : c.n(1);
}
template <class A>
kernels::row_terms<A> terms_of(void* sums, std::int64_t rows) {
  A* s = static_cast<A*>(sums);
  return {s, s + rows, s + 2 * rows};
}
template <class D>
void row_max(D&, const bound& c) {
  kernels::row_max(c.output<statistic_t<D>>(0), c.input<element_t<D>>(0), c.n(0), c.n(1), valid_columns(c));
}
template <class D>
void row_sums(D&, const bound& c) {
  kernels::row_sums(terms_of<statistic_t<D>>(c.out[0], c.n(0)), c.input<element_t<D>>(0), c.input<statistic_t<D>>(1),
                    c.input<std::int32_t>(2), c.first[2], c.n(0), c.n(1), valid_columns(c));
}
template <class D>
void cross_entropy(D&, const bound& c) {
  using A = statistic_t<D>;
  A* per_row = c.output<A>(1);
  kernels::row_loss(per_row, c.input<A>(1), terms_of<A>(c.in[2], c.n(0)), c.input<std::int32_t>(3), c.n(0), c.a(0),
                    c.n(2));
  double total = 0;
  for (std::int64_t r = 0; r < c.n(0); ++r) total += per_row[r];
  *c.output<double>(0) = total;
}
template <class D>
void cross_entropy_grad(D&, const bound& c) {
  using T = element_t<D>;
  using A = statistic_t<D>;
  kernels::logits_grad(c.output<T>(0), c.input<T>(0), c.input<A>(1), c.input<A>(2), c.input<std::int32_t>(3),
                       kernels::row_seed<A>{static_cast<A>(*c.input<double>(4))}, c.first[2], c.n(0), c.n(1),
                       valid_columns(c), c.a(0), c.n(2));
}

// A user's own function over this memory.
template <class D>
void host_function_of(D&, const bound& c) {
  c.what->op->on_host(c.what->type)(c);
}

template <class D>
inline constexpr runner<D> table[] = {
    {&to_op::info, &collective<D>},
    {&contract_op::info, &contract<D>},
    {&activation_op::info, &activate<D>},
    {&activation_op::grad_info, &activate_grad<D>},
    {&swiglu_op::info, &swiglu<D>},
    {&swiglu_op::grad_info, &swiglu_grad<D>},
    {&rms_norm_kind::info, &rms_norm<D>},
    {&rms_norm_kind::input_grad_info, &rms_norm_input_grad<D>},
    {&rms_norm_kind::weight_grad_info, &rms_norm_weight_grad<D>},
    {&layer_norm_kind::info, &layer_norm<D>},
    {&layer_norm_kind::input_grad_info, &layer_norm_input_grad<D>},
    {&layer_norm_kind::weight_grad_info, &layer_norm_weight_grad<D>},
    {&sum_op::info, &sum<D>},
    {&accumulate_op::sum_info, &sum<D>},
    {&accumulate_op::info, &accumulate<D>},
    {&accumulate_op::narrow_info, &narrow<D>},
    {&bias_op::info, &bias<D>},
    {&bias_op::grad_info, &bias_grad<D>},
    {&dropout_op::info, &dropout<D>},
    {&rotary_op::info, &rotary<D>},
    {&embedding_op::info, &embedding<D>},
    {&embedding_op::grad_info, &embedding_grad<D>},
    {&positions_op::info, &positions<D>},
    {&positions_op::grad_info, &positions_grad<D>},
    {&attention_op::info, &attention<D>},
    {&attention_op::grad_info, &attention_grad<D>},
    {&cross_entropy_op::max_info, &row_max<D>},
    {&cross_entropy_op::sums_info, &row_sums<D>},
    {&cross_entropy_op::info, &cross_entropy<D>},
    {&cross_entropy_op::grad_info, &cross_entropy_grad<D>},
    {&any_host_function, &host_function_of<D>},
};

// What a rank calls: the table itself, unless a log stands before it (trace/logged.hpp).
template <class D>
inline constexpr std::span<const runner<D>> calls_of{table<D>};

}  // namespace meshpar::inline v0::host_kinds
