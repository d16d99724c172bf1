// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/call.hpp>
#include <meshpar/comm/error.hpp>
#include <meshpar/ops/backward.hpp>
#include <meshpar/ops/bound.hpp>

#include <cstring>

namespace meshpar::inline v0::host_kinds {

// A transition's record as one call of the communicator, or as a copy where no other rank is needed.
template <class D>
void collective(D& d, const bound& c) {
  using typing::collective;
  const std::int64_t outer = c.n(1), inner = c.n(2), ranks = c.n(3), size = size_of(c.out_type);
  const dtype wide = c.out_type == dtype::f64 ? dtype::f64 : static_cast<dtype>(c.n(4));  // losses in f32 models
  char* out = c.output<char>(0);
  const char* in = c.input<char>(0);
  switch (static_cast<collective>(c.n(0))) {
    case collective::none: return;
    case collective::all_gather: return d.comm->all_gather(c.ranks, in, out, outer, inner * size);
    case collective::reduce_scatter:
      return d.comm->reduce_scatter(c.ranks, in, out, outer, inner, c.out_type, wide, reduction::sum);
    case collective::all_reduce: return d.comm->all_reduce(c.ranks, in, out, inner, c.out_type, wide, reduction::sum);
    case collective::all_reduce_max:
      return d.comm->all_reduce(c.ranks, in, out, inner, c.out_type, wide, reduction::max);
    case collective::slice:
      for (std::int64_t o = 0; o < outer; ++o)
        std::memcpy(out + o * inner * size, in + (o * ranks + c.position) * inner * size,
                    static_cast<std::size_t>(inner * size));
      return;
    case collective::zero_pad:
      std::memset(out, 0, static_cast<std::size_t>(outer * ranks * inner * size));
      for (std::int64_t o = 0; o < outer; ++o)
        std::memcpy(out + (o * ranks + c.position) * inner * size, in + o * inner * size,
                    static_cast<std::size_t>(inner * size));
      return;
    case collective::keep_first:
      if (c.position == 0) std::memcpy(out, in, static_cast<std::size_t>(inner * size));
      else std::memset(out, 0, static_cast<std::size_t>(inner * size));
      return;
    case collective::all_to_all:
    case collective::permute: throw comm_error("this collective comes with context parallelism");
  }
}

}  // namespace meshpar::inline v0::host_kinds
