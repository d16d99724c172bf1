// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
// All typing rules.
#include <meshpar/typing/attention.hpp>
#include <meshpar/typing/contract.hpp>
#include <meshpar/typing/elementwise.hpp>
#include <meshpar/typing/embedding.hpp>
#include <meshpar/typing/fused.hpp>
#include <meshpar/typing/local.hpp>
#include <meshpar/typing/loss.hpp>
#include <meshpar/typing/norm.hpp>
#include <meshpar/typing/placement.hpp>
#include <meshpar/typing/reduction.hpp>
#include <meshpar/typing/reshape.hpp>
#include <meshpar/typing/target.hpp>
#include <meshpar/typing/traffic.hpp>
#include <meshpar/typing/transition.hpp>
