// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/ops/bound.hpp>
#include <meshpar/ops/buffer.hpp>
#include <meshpar/ops/tracer.hpp>
#include <meshpar/typing/local_edges.hpp>

#include <tuple>
#include <type_traits>
#include <utility>

namespace meshpar::inline v0 {

// A region of a user's own code: local<kernel>(x, w) inside a layer. The kernel is a struct with
//
//   static constexpr const char* name;
//   static constexpr local_edges edges;  // typing/local_edges.hpp
//   static void forward(inputs..., y [, statistics] [, scratch]);
//   static void backward(reads..., dy [, statistics], d inputs... [, scratch]);
//
// over buffers: of const T what is read, of T what is written, every element of it. It may have
//
//   static constexpr local_reads reads;       // what backward reads; if not said, all inputs
//   static constexpr bool takes_bf16 = true;  // its functions are templates that take bf16 too
//   static constexpr std::int64_t statistics(layouts of inputs...), scratch(layouts of inputs...);
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

// Whether the kernel has both functions, for some element type; if not, which it lacks, as it would be called.
template <class K>
constexpr verdict functions_fit() {
  constexpr bool forward = has_forward<K, float> || has_forward<K, double> || has_forward<K, bf16>;
  constexpr bool backward = has_backward<K, float> || has_backward<K, double> || has_backward<K, bf16>;
  if (forward && backward) return {};
  text t;
  t << K::name << " has no ";
  if (forward) {
    t << "backward(";
    for (int i = 0; i < K::edges.count(); ++i)
      if (reads_of<K>().in[i]) t << K::edges.inputs[i].name << ", ";
    if (reads_of<K>().result) t << K::edges.result.name << ", ";
    t << 'd' << K::edges.result.name << (has_statistics<K> ? ", statistics" : "");
    for (int i = 0; i < K::edges.count(); ++i) t << ", d" << K::edges.inputs[i].name;
  } else {
    t << "forward(";
    for (int i = 0; i < K::edges.count(); ++i) t << K::edges.inputs[i].name << ", ";
    t << K::edges.result.name << (has_statistics<K> ? ", statistics" : "");
  }
  t << (has_scratch<K> ? ", scratch)" : ")") << " over mp::buffer<const T>, mp::buffer<T>";
  return {.broken = rule::device_has_no_kernel, .why = t, .remedy = fix::add_a_kernel};
}

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

}  // namespace meshpar::inline v0
