// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/ops/bound.hpp>
#include <meshpar/ops/buffer.hpp>
#include <meshpar/ops/tensor.hpp>
#include <meshpar/typing/local.hpp>

#include <tuple>
#include <utility>

namespace meshpar::inline v0 {

// A region of a user's own code: local<kernel>(x, w) inside a layer. The kernel is a struct with
//
//   static constexpr const char* name;
//   static constexpr local_edges edges;                             // typing/local.hpp
//   static void forward(inputs..., y [, statistics] [, scratch]);
//   static void backward(reads..., dy [, statistics], d inputs... [, scratch]);
//
// over buffers: of const T what is read, of T what is written, every element of it. As it may have
//
//   static constexpr local_reads reads;                       // what backward reads; if not said, all inputs
//   static constexpr std::int64_t statistics(layouts of inputs...), scratch(layouts of inputs...);
//   static constexpr bool takes_bf16 = true;                   // its functions are templates that take bf16 too
//   static constexpr long flops(layouts of inputs...), backward_flops(layouts of inputs...);
//
// statistics pass from forward to backward, scratch does not live beyond either: pointers to that many
// accumulator_t<T>. Backward flops that are not said are twice those of forward.
//
// The gradient of an edge has the layout dual to the edge's, and what calls for it is done outside: sums, transitions,
// gradient groups. So a kernel differentiates what it does to its own buffers, and nothing else.

// Which of its values backward reads: inputs by their number, and the result.
struct local_reads {
  bool in[local_inputs]{};
  bool result = false;
};

namespace local_detail {

template <class K>
constexpr local_reads reads_of() {
  local_reads r;
  if constexpr (requires { K::reads; }) r = K::reads;
  else
    for (int i = 0; i < K::edges.count(); ++i) r.in[i] = true;
  return r;
}
// f(layouts of the inputs...)
template <class K, class F, std::size_t... I>
constexpr std::int64_t of_inputs(const tracer& t, const record& r, F f, std::index_sequence<I...>) {
  return f(t.shape(r.in[static_cast<int>(I)])...);
}
template <class K>
using inputs_of = std::make_index_sequence<static_cast<std::size_t>(K::edges.count())>;

template <class K>
constexpr std::int64_t statistics_of(const tracer& t, const record& r) {
  if constexpr (requires { &K::statistics; })
    return of_inputs<K>(t, r, [](const auto&... x) { return K::statistics(x...); }, inputs_of<K>{});
  else return 0;
}
template <class K>
constexpr std::int64_t scratch_of(const tracer& t, const record& r) {
  if constexpr (requires { &K::scratch; })
    return of_inputs<K>(t, r, [](const auto&... x) { return K::scratch(x...); }, inputs_of<K>{});
  else return 0;
}
template <class K>
constexpr std::int64_t flops_of(const tracer& t, const record& r) {
  if constexpr (requires { &K::flops; })
    return of_inputs<K>(t, r, [](const auto&... x) { return K::flops(x...); }, inputs_of<K>{});
  else return 0;
}
template <class K>
constexpr std::int64_t backward_flops_of(const tracer& t, const record& r) {
  if constexpr (requires { &K::backward_flops; })
    return of_inputs<K>(t, r, [](const auto&... x) { return K::backward_flops(x...); }, inputs_of<K>{});
  else return 2 * flops_of<K>(t, r);
}

// ---- the arguments of a kernel's functions

template <class T>
buffer<const T> read(const bound& c, int i) {
  return {c.input<T>(i), &c.traced->shape(c.what->in[i]), &c.traced->plan.ranks, c.rank};
}
template <class T>
buffer<T> written(const bound& c, int i) {
  return {c.output<T>(i), &c.traced->shape(c.what->out[i]), &c.traced->plan.ranks, c.rank};
}
template <bool Has, class... X>
auto only_if(X... x) {
  if constexpr (Has) return std::tuple<X...>(x...);
  else return std::tuple<>();
}

template <class K>
inline constexpr bool has_statistics = requires { &K::statistics; };
template <class K>
inline constexpr bool has_scratch = requires { &K::scratch; };
template <class K>
inline constexpr int read_count = [] {
  int n = 0;
  for (int i = 0; i < local_inputs; ++i) n += reads_of<K>().in[i];
  return n + reads_of<K>().result;
}();

// The record's in is {inputs}, its out {y, statistics, scratch}.
template <class K, class T>
auto forward_arguments(const bound& c) {
  using A = accumulator_t<T>;
  return std::tuple_cat(
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        return std::tuple(read<T>(c, static_cast<int>(I))..., written<T>(c, 0));
      }(inputs_of<K>{}),
      only_if<has_statistics<K>>(c.output<A>(1)), only_if<has_scratch<K>>(c.output<A>(1 + has_statistics<K>)));
}
// Its in is {reads, dy, statistics}, its out {gradients of inputs, scratch}.
template <class K, class T>
auto backward_arguments(const bound& c) {
  using A = accumulator_t<T>;
  constexpr int n = read_count<K>, inputs = K::edges.count();
  return std::tuple_cat(
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        return std::tuple(read<T>(c, static_cast<int>(I))...);
      }(std::make_index_sequence<static_cast<std::size_t>(n + 1)>{}),
      only_if<has_statistics<K>>(c.input<A>(n + 1)),
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        return std::tuple(written<T>(c, static_cast<int>(I))...);
      }(inputs_of<K>{}),
      only_if<has_scratch<K>>(c.output<A>(inputs)));
}

template <class K>
inline constexpr auto call_forward = [](auto... x) -> decltype(K::forward(x...)) { return K::forward(x...); };
template <class K>
inline constexpr auto call_backward = [](auto... x) -> decltype(K::backward(x...)) { return K::backward(x...); };
template <class F, class Tuple>
inline constexpr bool takes = false;
template <class F, class... X>
inline constexpr bool takes<F, std::tuple<X...>> = std::is_invocable_v<F, X...>;

template <class K, class T>
inline constexpr bool has_forward = takes<decltype(call_forward<K>), decltype(forward_arguments<K, T>(bound{}))>;
template <class K, class T>
inline constexpr bool has_backward = takes<decltype(call_backward<K>), decltype(backward_arguments<K, T>(bound{}))>;

template <class K, class T>
void run_forward(const bound& c) {
  std::apply(call_forward<K>, forward_arguments<K, T>(c));
}
template <class K, class T>
void run_backward(const bound& c) {
  std::apply(call_backward<K>, backward_arguments<K, T>(c));
}

template <class K, class T, bool Forward>
constexpr host_function function_for() {
  if constexpr (!(has_forward<K, T> && has_backward<K, T>)) return nullptr;
  else if constexpr (Forward) return &run_forward<K, T>;
  else return &run_backward<K, T>;
}
template <class K, bool Forward>
constexpr host_function function_of(dtype t) {
  switch (t) {
    case dtype::f32: return function_for<K, float, Forward>();
    case dtype::f64: return function_for<K, double, Forward>();
    case dtype::bf16:
      if constexpr (requires { requires K::takes_bf16; }) return function_for<K, bf16, Forward>();
      else return nullptr;
    default: return nullptr;
  }
}

}  // namespace local_detail

// n = {flops}
template <class K>
struct local_op {
  static_assert(K::edges.count() > 0,
                "a local kernel names its inputs: local_edges{.inputs = {{\"x\", {dims::seq, ...}}}}");
  static_assert(local_detail::has_forward<K, float> || local_detail::has_forward<K, double> ||
                    local_detail::has_forward<K, bf16>,
                "a local kernel has forward(inputs..., result), over mp::buffer<const T> and mp::buffer<T>");
  static_assert(local_detail::has_backward<K, float> || local_detail::has_backward<K, double> ||
                    local_detail::has_backward<K, bf16>,
                "a local kernel has backward(what it reads..., gradient of the result, gradients of the inputs...)");

  static constexpr void input_grad(tracer& t, const record& r);
  static constexpr long flops(const record& r) { return r.n[0]; }
  static constexpr operation info{
      .name = K::name, .input_grad = &input_grad, .flops = &flops, .on_host = &local_detail::function_of<K, true>};
  static constexpr operation grad_info{
      .name = K::name, .flops = &flops, .on_host = &local_detail::function_of<K, false>};

  template <class... X>
  static constexpr judged rule(const X&... operands_and_mesh) {
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
