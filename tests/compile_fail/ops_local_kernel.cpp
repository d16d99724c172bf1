// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels of local regions whose functions do not take what their edges declare, beside one whose do.
#include <meshpar/nn/check_layer.hpp>
#include <meshpar/ops/local.hpp>

namespace mp = meshpar;
namespace dims = mp::dims;

struct scaled {
  static constexpr const char* name = "scaled";
  static constexpr mp::local_edges edges{
      .inputs = {{"x", {dims::seq, dims::batch, dims::hidden}}, {"gain", {dims::hidden}}},
      .result = {"y", {dims::seq, dims::batch, dims::hidden}},
      .splits = {dims::seq, dims::batch}};
  static void forward(const float* x, const float* gain, float* y);
  static void backward(const float* x, const float* gain, const float* dy, float* dx, float* dgain);
};
struct forward_of_one : scaled {
  static void forward(const float* x, float* y);
};
struct backward_of_one : scaled {
  static void backward(const float* x, const float* dy, float* dx);
};
struct reads_one : backward_of_one {  // two gradients are asked of it all the same
  static constexpr mp::local_reads reads{.in = {true}};
};

struct gain {
  mp::param<dims::hidden> of{"gain"};
};
struct with_forward_of_one : gain {
  constexpr auto forward(const auto& r, auto x) const {
    // told: &local_op<forward_of_one>::info, fix::add_a_kernel
    return mp::local<forward_of_one>(x, r(of, x));  // expect: device_has_no_kernel
  }
};
struct with_backward_of_one : gain {
  constexpr auto forward(const auto& r, auto x) const {
    // told: &local_op<backward_of_one>::info, fix::add_a_kernel
    return mp::local<backward_of_one>(x, r(of, x));  // expect: device_has_no_kernel
  }
};
struct with_reads_one : gain {
  constexpr auto forward(const auto& r, auto x) const {
    // told: &local_op<reads_one>::info, fix::add_a_kernel
    return mp::local<reads_one>(x, r(of, x));  // expect: device_has_no_kernel
  }
};
struct with_scaled : gain {
  constexpr auto forward(const auto& r, auto x) const { return mp::local<scaled>(x, r(of, x)); }
};
static_assert(mp::check_layer<with_forward_of_one>());
static_assert(mp::check_layer<with_backward_of_one>());
static_assert(mp::check_layer<with_reads_one>());
static_assert(mp::check_layer<with_scaled>());
