// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/core/require.hpp>
#include <meshpar/nn/program.hpp>
#include <meshpar/ops/kinds.hpp>

namespace meshpar::inline v0 {

// The first kind of operation in a decoder's program that a device's table lacks, or null.
template <class Net, class Device, const auto& Kinds>
constexpr const operation* first_missing_kind() {
  const program p(Net::what, Net::task, Net::how, Net::make_layers());
  for (const tracer& t : p.blocks)
    if (const operation* missing = missing_kind<Device>(t, Kinds)) return missing;
  return nullptr;
}

template <class Device, const operation* Missing>
struct kernel_check {
  static constexpr verdict judge() {
    if (Missing == nullptr) return {};
    text t;
    t << "the device has no kernel for the operation " << Missing->name << "; add it to the table of kinds";
    return {.broken = rule::device_has_no_kernel, .why = t, .remedy = fix::add_a_kernel};
  }
  static constexpr verdict result = judge();
};

// static_assert(mp::runs_on<net, my_device, my_table>::ok): my_device, whose table of kinds is my_table (an array of
// runner<my_device>), has every kernel that the decoder's program needs.
template <class Net, class Device, const auto& Kinds>
struct runs_on {
  static_assert(require<kernel_check<Device, first_missing_kind<Net, Device, Kinds>()>>::ok);
  static constexpr bool ok = true;
};

}  // namespace meshpar::inline v0
