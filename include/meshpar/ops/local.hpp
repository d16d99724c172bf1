// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/ops/local_kernel.hpp>
#include <meshpar/ops/tensor.hpp>
#include <meshpar/typing/local.hpp>

namespace meshpar::inline v0 {

// A kernel (ops/local_kernel.hpp) as one kind of operation: its rule follows from its edges, its gradients' layouts
// from their duals. n = {flops}.
template <class K>
struct local_op {
  static constexpr void input_grad(tracer& t, const record& r);
  static constexpr long flops(const record& r) { return r.n[0]; }
  static constexpr operation info{
      .name = K::name, .input_grad = &input_grad, .flops = &flops, .on_host = &local_detail::function_of<K, true>};
  static constexpr operation grad_info{
      .name = K::name, .flops = &flops, .on_host = &local_detail::function_of<K, false>};

  template <class... X>
  static constexpr judged rule(const X&... operands_and_mesh) {
    if (const verdict v = local_detail::functions_fit<K>(); !v.holds()) return {{}, v};
    typing::operands given;
    (given.add(operands_and_mesh), ...);
    return typing::local(K::name, K::edges, given);
  }
  template <class... Ids>
  constexpr int emit(tracer& t, int line, const layout& out, Ids... x) const {
    record r{.op = &info, .in = values_of(x...)};
    const int y = t.make(out, t.plan.compute);
    r.out = values_of(y);
    add_memory<local_detail::has_statistics<K>>(t, r, local_detail::statistics_of<K>(t, r));
    add_memory<local_detail::has_scratch<K>>(t, r, local_detail::scratch_of<K>(t, r));
    r.n[0] = local_detail::flops_of<K>(t, r);
    t.add(r, line);
    return y;
  }
  template <bool Has>
  static constexpr void add_memory(tracer& t, record& r, std::int64_t elements) {
    if (Has) r.out.push_back(static_cast<std::int16_t>(t.make_raw(elements, accumulator_of(t.plan.compute))));
  }
};

// One record makes all gradients; those of parameters are added to what other uses and micro-batches have left.
template <class K>
constexpr void local_op<K>::input_grad(tracer& t, const record& r) {
  constexpr local_reads reads = local_detail::reads_of<K>();
  record g{.op = &grad_info};
  const auto add_to = [](value_list& list, int id) { list.push_back(static_cast<std::int16_t>(id)); };
  for (int i = 0; i < r.in.size(); ++i)
    if (reads.in[i]) add_to(g.in, t.need(r.in[i]));
  if (reads.result) add_to(g.in, r.out[0]);
  add_to(g.in, t.grad_of(r.out[0]));
  if (local_detail::has_statistics<K>) add_to(g.in, r.out[1]);
  for (int i = 0; i < r.in.size(); ++i)
    add_to(g.out, t.make(dual(t.shape(r.in[i]), t.plan.ranks), t.values[r.in[i]].type));
  const value_list gradients = g.out;
  add_memory<local_detail::has_scratch<K>>(t, g, local_detail::scratch_of<K>(t, r));
  g.n[0] = local_detail::backward_flops_of<K>(t, r);
  t.add(g, r.line);
  for (int i = 0; i < r.in.size(); ++i) t.contribute(r.in[i], gradients[i]);
}

// local<kernel>(x, w): up to five operands, in the order of the kernel's inputs.
template <class K, class A>
constexpr auto local(A a, int line = __builtin_LINE()) {
  static_assert(decltype(judge<local_op<K>>(a))::ok);
  return apply(local_op<K>{}, line, a);
}
template <class K, class A, class B>
constexpr auto local(A a, B b, int line = __builtin_LINE()) {
  static_assert(decltype(judge<local_op<K>>(a, b))::ok);
  return apply(local_op<K>{}, line, a, b);
}
template <class K, class A, class B, class C>
constexpr auto local(A a, B b, C c, int line = __builtin_LINE()) {
  static_assert(decltype(judge<local_op<K>>(a, b, c))::ok);
  return apply(local_op<K>{}, line, a, b, c);
}
template <class K, class A, class B, class C, class D>
constexpr auto local(A a, B b, C c, D d, int line = __builtin_LINE()) {
  static_assert(decltype(judge<local_op<K>>(a, b, c, d))::ok);
  return apply(local_op<K>{}, line, a, b, c, d);
}
template <class K, class A, class B, class C, class D, class E>
constexpr auto local(A a, B b, C c, D d, E e, int line = __builtin_LINE()) {
  static_assert(decltype(judge<local_op<K>>(a, b, c, d, e))::ok);
  return apply(local_op<K>{}, line, a, b, c, d, e);
}

}  // namespace meshpar::inline v0
