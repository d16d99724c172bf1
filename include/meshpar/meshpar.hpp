// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
// Everything for training on the threads of one process. What more a program wants has a header of its own: onednn.hpp.
#include <meshpar/check.hpp>
// clang-format off: operations before what uses them, so that errors tell of few inclusions
#include <meshpar/ops/activation.hpp>
#include <meshpar/ops/attention.hpp>
#include <meshpar/ops/contract.hpp>
#include <meshpar/ops/cross_entropy.hpp>
#include <meshpar/ops/dropout.hpp>
#include <meshpar/ops/embedding.hpp>
#include <meshpar/ops/local.hpp>
#include <meshpar/ops/norm.hpp>
#include <meshpar/ops/rotary.hpp>
#include <meshpar/ops/sum.hpp>
#include <meshpar/ops/to.hpp>
// clang-format on
#include <meshpar/meta/fits.hpp>
#include <meshpar/nn/decoder.hpp>
#include <meshpar/train/generate.hpp>
#include <meshpar/train/launch.hpp>
#include <meshpar/train/step_log.hpp>
#include <meshpar/train/trainer.hpp>

namespace meshpar::inline v0::names {
namespace axes = v0::axes;
namespace dims = v0::dims;
}  // namespace meshpar::inline v0::names
