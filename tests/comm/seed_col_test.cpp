// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The collectives of the worked example, by the ids of its figures.
#include <meshpar/comm/threads.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace mp = meshpar;
using mp::dtype;
using vec = std::vector<float>;

namespace {

// What each rank's body returns.
template <class F>
std::vector<vec> on_ranks(int n, F body) {
  mp::threads_world world{n, {.time_out = 60}};
  std::vector<vec> results(static_cast<std::size_t>(n));
  world.run([&](mp::threads& comm) {
    std::vector<int> all;
    for (int r = 0; r < n; ++r) all.push_back(r);
    const mp::group g = comm.group(all);
    results[static_cast<std::size_t>(comm.rank())] = body(comm, g);
  });
  return results;
}

long count(const vec& v) { return static_cast<long>(v.size()); }

vec all_reduce(mp::threads& comm, const mp::group& g, const vec& in) {
  vec out(in.size());
  comm.all_reduce(g, in.data(), out.data(), count(in), dtype::f32, dtype::f32);
  return out;
}
vec reduce_scatter(mp::threads& comm, const mp::group& g, const vec& in) {
  vec out(in.size() / static_cast<std::size_t>(g.size()));
  comm.reduce_scatter(g, in.data(), out.data(), 1, count(out), dtype::f32, dtype::f32);
  return out;
}
vec all_gather(mp::threads& comm, const mp::group& g, const vec& in) {
  vec out(in.size() * static_cast<std::size_t>(g.size()));
  comm.all_gather(g, in.data(), out.data(), 1, count(in) * 4);
  return out;
}

const std::vector<vec> example{{1, 2, 3, 4}, {10, 20, 30, 40}};
const vec& of(const std::vector<vec>& v, const mp::group& g) { return v[static_cast<std::size_t>(g.index())]; }

}  // namespace

TEST_CASE("COL-01 all-reduce of two 4-vectors") {
  const auto got = on_ranks(2, [](auto& comm, auto& g) { return all_reduce(comm, g, of(example, g)); });
  CHECK(got == std::vector<vec>{{11, 22, 33, 44}, {11, 22, 33, 44}});
}

TEST_CASE("COL-02 reduce-scatter of the same vectors") {
  const auto got = on_ranks(2, [](auto& comm, auto& g) { return reduce_scatter(comm, g, of(example, g)); });
  CHECK(got == std::vector<vec>{{11, 22}, {33, 44}});
}

TEST_CASE("COL-03 all-gather of the two chunks") {
  const std::vector<vec> chunks{{11, 22}, {33, 44}};
  const auto got = on_ranks(2, [&](auto& comm, auto& g) { return all_gather(comm, g, of(chunks, g)); });
  CHECK(got == std::vector<vec>{{11, 22, 33, 44}, {11, 22, 33, 44}});
}

TEST_CASE("COL-04 all-reduce is reduce-scatter, then all-gather") {
  const auto once = on_ranks(2, [](auto& comm, auto& g) { return all_reduce(comm, g, of(example, g)); });
  const auto both =
      on_ranks(2, [](auto& comm, auto& g) { return all_gather(comm, g, reduce_scatter(comm, g, of(example, g))); });
  CHECK(once == both);
}

namespace {
// Values received by a rank for RS, AG and AR of N values, from the communicator's counter.
void check_ring(int t, long n_values, const vec& expected) {
  const auto got = on_ranks(t, [&](auto& comm, auto& g) {
    vec counted;
    auto count_since = [&, last = 0L]() mutable {
      counted.push_back(static_cast<float>((comm.received(g) - last) / 4));
      last = comm.received(g);
    };
    const vec whole(static_cast<std::size_t>(n_values), 1.f);
    const vec piece = reduce_scatter(comm, g, whole);
    count_since();
    all_gather(comm, g, piece);
    count_since();
    all_reduce(comm, g, whole);
    count_since();
    return counted;
  });
  for (const vec& one : got) CHECK(one == expected);
}
}  // namespace

TEST_CASE("COL-05.t2 ring bytes per rank, 4 values on 2 ranks") { check_ring(2, 4, {2, 2, 4}); }
TEST_CASE("COL-05.t8 ring bytes per rank, 4096 values on 8 ranks") { check_ring(8, 4096, {3584, 3584, 7168}); }

TEST_CASE("COL-06 all-gather and reduce-scatter are adjoint: <AG x, y> == <x, RS y>") {
  const auto dot = [](const vec& a, const vec& b) {
    float sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
  };
  for (const auto& x : {std::vector<vec>{{1, 2}, {3, 4}}, std::vector<vec>{{-5, 7}, {11, -2}}}) {
    const auto sides = on_ranks(2, [&](auto& comm, auto& g) {
      return vec{dot(all_gather(comm, g, of(x, g)), of(example, g)),
                 dot(of(x, g), reduce_scatter(comm, g, of(example, g)))};
    });
    CHECK(sides[0][0] + sides[1][0] == sides[0][1] + sides[1][1]);
  }
}
