// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/concept.hpp>
#include <meshpar/core/dtype.hpp>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace meshpar_tests {

namespace mp = meshpar;

inline std::uint64_t hash_of(std::uint64_t h, const std::vector<std::byte>& bytes) {
  for (const std::byte b : bytes) h = (h ^ static_cast<std::uint64_t>(b)) * 1099511628211u;
  return h;
}

// Finite values of the type, in as many bytes as asked for.
inline std::vector<std::byte> contents(mp::dtype t, long count, unsigned seed) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(count * mp::size_of(t)));
  std::minstd_rand random(seed);
  const auto fill = [&](auto zero) {
    for (long i = 0; i < count; ++i) {
      const double x = static_cast<double>(random()) / 1e9 - 1;
      const auto v = static_cast<decltype(zero)>(std::is_same_v<decltype(zero), std::int32_t> ? x * 1e5 : x);
      __builtin_memcpy(bytes.data() + i * mp::size_of(t), &v, sizeof v);
    }
  };
  if (t == mp::dtype::f32) fill(0.f);
  else if (t == mp::dtype::f64) fill(0.0);
  else if (t == mp::dtype::bf16) fill(mp::bf16(0.f));
  else fill(std::int32_t{0});
  return bytes;
}

// The same random collectives on every communicator: all element types, up to 1 MiB, on the whole world, on pairs and
// on every second rank. The hash of all that this rank received.
template <class Comm>
std::uint64_t random_calls(Comm& comm, int calls, unsigned seed) {
  using mp::dtype;
  constexpr std::pair<dtype, dtype> types[] = {{dtype::f32, dtype::f32},  {dtype::f32, dtype::f64},
                                               {dtype::f64, dtype::f64},  {dtype::bf16, dtype::f32},
                                               {dtype::bf16, dtype::f64}, {dtype::i32, dtype::i32}};
  std::mt19937 random(seed);
  std::uint64_t h = 14695981039346656037u;
  for (int i = 0; i < calls; ++i) {
    const auto pick = [&](unsigned n) { return static_cast<int>(random() % n); };
    const auto [element, accumulate] = types[pick(6)];
    const auto how = pick(4) ? mp::reduction::sum : mp::reduction::max;
    const int kind = pick(5), partition = pick(3), outer = 1 + pick(2) * 2;
    const double exponent = static_cast<double>(random()) / 4294967296.0;
    std::vector<int> members;
    for (int r = 0; r < comm.size(); ++r)
      if (partition == 0 || (partition == 1 ? r / 2 == comm.rank() / 2 : r % 2 == comm.rank() % 2))
        members.push_back(r);
    const mp::group g = comm.group(members);
    const long size = mp::size_of(element), n = g.size();
    const long each = static_cast<long>(std::pow(2.0, 20 * exponent) - 1) / size / n / outer;  // elements
    const long many = each * n * outer;
    const auto in = contents(element, many, static_cast<unsigned>(i * 100 + comm.rank()));
    std::vector<std::byte> out(in.size());
    if (kind == 0) comm.all_reduce(g, in.data(), out.data(), many, element, accumulate, how);
    else if (kind == 1) comm.reduce_scatter(g, in.data(), out.data(), outer, each, element, accumulate, how);
    else if (kind == 2) comm.all_gather(g, in.data(), out.data(), outer, each * size);
    else if (kind == 3) comm.all_to_all(g, in.data(), out.data(), each * outer * size);
    else {
      out = in;
      comm.broadcast(g, out.data(), many * size, pick(1000) % g.size());
    }
    h = hash_of(h, out);
  }
  return h;
}

}  // namespace meshpar_tests
