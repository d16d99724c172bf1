// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#if defined(__linux__)
#include <sched.h>
#endif

namespace meshpar::inline v0::threading {

// The core on which the caller runs just now; 0 where nobody can tell. It may run elsewhere a moment later.
inline int this_core() {
#if defined(__linux__)
  return sched_getcpu();
#else
  return 0;
#endif
}

}  // namespace meshpar::inline v0::threading
