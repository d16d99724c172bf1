// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/threads_world.hpp>
#include <meshpar/device/host_gemm.hpp>
#include <meshpar/meta/fits.hpp>
#include <meshpar/train/rank.hpp>

#include <memory>
#include <stdexcept>

namespace meshpar::inline v0 {

// fn(rank&) for the rank that a communicator speaks for.
template <class Types, class Gemm, class Comm, class F>
void run_rank(const program& p, Comm& comm, F& fn) {
  const auto r = std::make_unique<rank<Types, Gemm, Comm>>(p, comm);
  fn(*r);
}

// Runs fn(rank&) on every rank of a plan, each a thread of this process. The first rank that throws ends the run, and
// its message is thrown from here.
template <class Types, class Gemm = plain_gemm, class F>
void run_ranks(const program& p, F fn, threads_options options = {}) {
  threads_world world(p.where.ranks.size(), options);
  world.run([&](threads& comm) { run_rank<Types, Gemm>(p, comm, fn); });
}

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

// The parts that a program adds to the library's defaults: with<onednn_gemm>.
template <class... Parts>
struct with {};
template <class... Parts>
struct gemm_in {
  using type = plain_gemm;
};
template <class First, class... More>
struct gemm_in<First, More...> {
  using type = First;
};

// Runs fn(rank&) for every rank of a decoder. Parts choose what multiplies matrices.
template <class Net, class... Parts, class F>
void launch(F fn, threads_options options = {}) {
  const auto p = std::make_unique<program>(Net::what, Net::task, Net::how, Net::make_layers());
  if (p->memory.height != cost_of<Net>.height)
    throw std::logic_error(
        "a layer traces differently at run time than as a constant: in its forward, give each call "
        "that uses a parameter a statement of its own, so that their order is fixed");
  run_ranks<types_of<Net>, typename gemm_in<Parts...>::type>(*p, fn, options);
}

}  // namespace meshpar::inline v0
