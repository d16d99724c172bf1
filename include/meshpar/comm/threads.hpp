// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
// All ranks in one process: the embedded default and the debugging mode.
#include <meshpar/comm/threads/communicator.hpp>
#include <meshpar/comm/threads/world.hpp>
