// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
// Checks a plan and nothing else, for files that must compile in no time.
#include <meshpar/config/cluster.hpp>
#include <meshpar/core/require.hpp>  // here, so that errors tell of few inclusions
#include <meshpar/mesh/of_plan.hpp>
#include <meshpar/rules/catalogue.hpp>
#include <meshpar/rules/require_plan.hpp>
#include <meshpar/rules/world.hpp>
