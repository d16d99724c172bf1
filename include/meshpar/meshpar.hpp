// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
// Everything for training on the threads of one process. What more a program wants has a header of its own: onednn.hpp.
#include <meshpar/check.hpp>
#include <meshpar/meta/fits.hpp>
#include <meshpar/nn/decoder.hpp>
#include <meshpar/train/generate.hpp>
#include <meshpar/train/launch.hpp>
#include <meshpar/train/trainer.hpp>

namespace meshpar::inline v0::names {
namespace axes = v0::axes;
namespace dims = v0::dims;
}  // namespace meshpar::inline v0::names
