// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/version.hpp>

#include <doctest/doctest.h>

namespace mp = meshpar;

static_assert(mp::version_number{1, 2, 3}.as_integer() == 10203);

// The build system read the version from the same header.
TEST_CASE("version: the header and the package agree") {
  CHECK(mp::version.major_part == MESHPAR_VERSION_MAJOR);
  CHECK(mp::version.as_integer() == PROJECT_MAJOR * 10000 + PROJECT_MINOR * 100 + PROJECT_PATCH);
}
