// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/concept.hpp>
#include <meshpar/comm/threads/world.hpp>
#include <meshpar/device/host_gemm.hpp>
#include <meshpar/train/rank.hpp>

namespace meshpar::inline v0 {

// The element types of a precision that is a constant.
template <dtype T>
struct element_of;
template <>
struct element_of<dtype::f32> {
  using type = float;
};
template <>
struct element_of<dtype::f64> {
  using type = double;
};
template <>
struct element_of<dtype::bf16> {
  using type = bf16;
};
template <dtype T>
using element_of_t = typename element_of<T>::type;
template <class Net>
using types_of = element_types<element_of_t<Net::how.precision.param>, element_of_t<Net::how.precision.grad>,
                               element_of_t<Net::how.precision.master>, element_of_t<Net::how.precision.moments>>;

// The parts that a program adds to the library's defaults, in any order: a communicator of processes, and what
// multiplies matrices.
template <class... Parts>
struct parts {
  using gemm = plain_gemm;
  using comm = threads;
};
template <class First, class... More>
struct parts<First, More...> {
  using gemm = First;
  using comm = typename parts<More...>::comm;
};
template <communicator First, class... More>
struct parts<First, More...> {
  using gemm = typename parts<More...>::gemm;
  using comm = First;
};

}  // namespace meshpar::inline v0
