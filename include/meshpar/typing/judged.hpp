// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/core/verdict.hpp>
#include <meshpar/layout/layout.hpp>

namespace meshpar::inline v0 {

// What a typing rule returns: the layout of the result, or a refusal with its words.
struct judged {
  layout out{};
  verdict no{};
  constexpr bool holds() const { return no.holds(); }
};

}  // namespace meshpar::inline v0
