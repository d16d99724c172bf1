// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
// What every communicator must do, as test cases. Who includes this first declares what it runs them on:
//   struct ranks {
//     using comm = ...;                                        // the communicator
//     static std::vector<int> sizes();                         // groups of so many ranks there are
//     static bool has(int n);
//     static std::atomic<int>& entered();                      // shared by all ranks
//     template <class F> static int wrong(int n, F body);      // runs body(comm&, group of ranks 0..n-1, tally&) on
//   };                                                         // each of them; failures that this process counted
#include <meshpar/comm/concept.hpp>

#include "comm/rank_tests.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <numeric>
#include <random>
#include <vector>

namespace mp = meshpar;
using mp::dtype;

static_assert(mp::communicator<ranks::comm>);

namespace {

// The same in every rank; changes sign, and sums of it round.
template <class T>
std::vector<T> values(long count, int rank, int salt = 0) {
  std::mt19937 random(static_cast<unsigned>(1000 * rank + salt));
  std::vector<T> v;
  for (long i = 0; i < count; ++i) {
    const double x = static_cast<double>(random()) / 4294967296.0 * 2 - 1;
    if constexpr (std::is_same_v<T, std::int32_t>) v.push_back(static_cast<T>(x * 100000));
    else v.push_back(static_cast<T>(x));
  }
  return v;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

// The definition: in group order, in the accumulation type, rounded once.
template <class T, class A>
std::vector<T> serial(int n, long count, mp::reduction how, int salt = 0) {
  std::vector<std::vector<T>> in;
  for (int q = 0; q < n; ++q) in.push_back(values<T>(count, q, salt));
  std::vector<T> out;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    A sum = static_cast<A>(in[0][i]);
    for (std::size_t q = 1; q < static_cast<std::size_t>(n); ++q) {
      const A next = static_cast<A>(in[q][i]);
      sum = how == mp::reduction::sum ? sum + next : std::max(sum, next);
    }
    out.push_back(static_cast<T>(sum));
  }
  return out;
}

template <class T, class A>
void check_all_reduce(mp::reduction how) {
  for (const int n : ranks::sizes())
    for (const long count : {0L, 1L, 7L, 64L, 1000L, 1023L, 5003L, 70001L}) {
      CAPTURE(n);
      CAPTURE(count);
      const auto expected = serial<T, A>(n, count, how);
      CHECK(ranks::wrong(n, [&](ranks::comm& comm, const mp::group& g, tally& t) {
              auto in = values<T>(count, comm.rank());
              std::vector<T> out(in.size());
              comm.all_reduce(g, in.data(), out.data(), count, mp::dtype_of<T>, mp::dtype_of<A>, how);
              t.expect(same_bits(out, expected));
              comm.all_reduce(g, in.data(), in.data(), count, mp::dtype_of<T>, mp::dtype_of<A>, how);
              t.expect(same_bits(in, expected));
            }) == 0);
    }
}

template <class T, class A>
void check_reduce_scatter(mp::reduction how) {
  for (const int n : ranks::sizes())
    for (const long outer : {1L, 3L})
      for (const long inner : {0L, 1L, 77L, 4001L}) {
        CAPTURE(n);
        CAPTURE(outer);
        CAPTURE(inner);
        const auto sum = serial<T, A>(n, outer * n * inner, how);
        CHECK(ranks::wrong(n, [&](ranks::comm& comm, const mp::group& g, tally& t) {
                auto in = values<T>(outer * n * inner, comm.rank());
                std::vector<T> out(static_cast<std::size_t>(outer * inner)), expected;
                for (long o = 0; o < outer; ++o)
                  for (long i = 0; i < inner; ++i)
                    expected.push_back(sum[static_cast<std::size_t>((o * n + g.index()) * inner + i)]);
                comm.reduce_scatter(g, in.data(), out.data(), outer, inner, mp::dtype_of<T>, mp::dtype_of<A>, how);
                t.expect(same_bits(out, expected));
                if (outer > 1) return;
                T* own = in.data() + g.index() * inner;
                comm.reduce_scatter(g, in.data(), own, 1, inner, mp::dtype_of<T>, mp::dtype_of<A>, how);
                t.expect(same_bits(std::vector<T>(own, own + inner), expected));
              }) == 0);
      }
}

}  // namespace

TEST_CASE("all_reduce is the ordered serial reduction, bit for bit, in place or not") {
  for (const auto how : {mp::reduction::sum, mp::reduction::max}) {
    check_all_reduce<float, float>(how);
    check_all_reduce<float, double>(how);
    check_all_reduce<double, double>(how);
    check_all_reduce<mp::bf16, float>(how);
    check_all_reduce<mp::bf16, double>(how);
    check_all_reduce<std::int32_t, std::int32_t>(how);
  }
}

TEST_CASE("reduce_scatter keeps the own piece of the ordered serial reduction") {
  for (const auto how : {mp::reduction::sum, mp::reduction::max}) {
    check_reduce_scatter<float, float>(how);
    check_reduce_scatter<double, double>(how);
    check_reduce_scatter<mp::bf16, float>(how);
    check_reduce_scatter<std::int32_t, std::int32_t>(how);
  }
}

TEST_CASE("a bf16 sum rounds once") {
  if (!ranks::has(8)) return;
  // 256 + 1 is 256 in bf16: rounding after each addition would lose all ones.
  CHECK(ranks::wrong(8, [](ranks::comm& comm, const mp::group& g, tally& t) {
          mp::bf16 x(comm.rank() == 0 ? 256.f : 1.f);
          comm.all_reduce(g, &x, &x, 1, dtype::bf16, dtype::f32);
          t.expect(x == 264.f);  // 263 to even
        }) == 0);
}

TEST_CASE("all_gather places the pieces of [outer][n][inner]") {
  for (const int n : ranks::sizes())
    for (const long outer : {0L, 1L, 5L})
      for (const long inner : {0L, 3L, 4096L, 10000L}) {
        CAPTURE(n);
        CAPTURE(outer);
        CAPTURE(inner);
        CHECK(ranks::wrong(n, [&](ranks::comm& comm, const mp::group& g, tally& t) {
                const auto at = [&](int q, long o, long i) { return static_cast<char>(q * 31 + o * 7 + i); };
                std::vector<char> in, out(static_cast<std::size_t>(outer * n * inner)), expected;
                for (long o = 0; o < outer; ++o)
                  for (int q = 0; q < n; ++q)
                    for (long i = 0; i < inner; ++i) {
                      expected.push_back(at(q, o, i));
                      if (q == g.index()) in.push_back(at(q, o, i));
                    }
                comm.all_gather(g, in.data(), out.data(), outer, inner);
                t.expect(out == expected);
                if (outer != 1) return;
                std::vector<char> whole(out.size());
                std::copy(in.begin(), in.end(), whole.begin() + g.index() * inner);
                comm.all_gather(g, whole.data() + g.index() * inner, whole.data(), 1, inner);
                t.expect(whole == expected);
              }) == 0);
      }
}

TEST_CASE("all_to_all transposes pieces") {
  for (const int n : ranks::sizes())
    for (const long bytes : {0L, 5L, 600L, 5000L}) {
      CAPTURE(n);
      CAPTURE(bytes);
      CHECK(ranks::wrong(n, [&](ranks::comm& comm, const mp::group& g, tally& t) {
              std::vector<char> in, expected, out(static_cast<std::size_t>(n * bytes));
              for (int q = 0; q < n; ++q)
                for (long i = 0; i < bytes; ++i) {
                  in.push_back(static_cast<char>(g.index() * 8 + q + i));
                  expected.push_back(static_cast<char>(q * 8 + g.index() + i));
                }
              comm.all_to_all(g, in.data(), out.data(), bytes);
              t.expect(out == expected);
            }) == 0);
    }
}

TEST_CASE("all_to_all_v moves uneven pieces from and to any offsets") {
  for (const int n : ranks::sizes())
    for (const long unit : {0L, 9L, 3000L}) {
      CAPTURE(n);
      CAPTURE(unit);
      CHECK(ranks::wrong(n, [&](ranks::comm& comm, const mp::group& g, tally& t) {
              const int me = g.index();
              const auto bytes = [&](int from, int to) { return unit * ((from + 2 * to) % 4); };  // some are zero
              std::vector<long> sent, from, got, to;
              long in_size = 0, out_size = 0;
              for (int q = 0; q < n; ++q) {
                sent.push_back(bytes(me, q));
                from.push_back(in_size);
                in_size += bytes(me, q) + 3;
              }
              got.resize(static_cast<std::size_t>(n));
              to.resize(static_cast<std::size_t>(n));
              for (int q = n - 1; q >= 0; --q) {  // received in reverse order
                got[static_cast<std::size_t>(q)] = bytes(q, me);
                to[static_cast<std::size_t>(q)] = out_size;
                out_size += bytes(q, me);
              }
              std::vector<char> in(static_cast<std::size_t>(in_size)), out(static_cast<std::size_t>(out_size));
              for (int q = 0; q < n; ++q)
                std::fill_n(in.begin() + from[static_cast<std::size_t>(q)], bytes(me, q),
                            static_cast<char>(8 * me + q));
              comm.all_to_all_v(g, in.data(), sent, from, out.data(), got, to);
              for (int q = 0; q < n; ++q)
                for (long i = 0; i < bytes(q, me); ++i)
                  t.expect(out[static_cast<std::size_t>(to[static_cast<std::size_t>(q)] + i)] == 8 * q + me);
            }) == 0);
    }
}

TEST_CASE("broadcast reaches all from any root; barrier lets nobody pass early") {
  for (const int n : ranks::sizes())
    for (const long bytes : {0L, 10L, 100000L})
      CHECK(ranks::wrong(n, [&](ranks::comm& comm, const mp::group& g, tally& t) {
              for (int root = 0; root < n; ++root) {
                std::vector<char> buffer(static_cast<std::size_t>(bytes), static_cast<char>(g.index()));
                comm.broadcast(g, buffer.data(), bytes, root);
                t.expect(buffer == std::vector<char>(buffer.size(), static_cast<char>(root)));
              }
              comm.barrier(g);
              const int before = ranks::entered();
              comm.barrier(g);
              ++ranks::entered();
              comm.barrier(g);
              t.expect(ranks::entered() - before == n);
            }) == 0);
}

TEST_CASE("messages match by tag, in order within a tag, and to oneself") {
  if (!ranks::has(3)) return;
  for (const long bytes : {8L, 50000L}) {
    CHECK(ranks::wrong(3, [&](ranks::comm& comm, const mp::group& g, tally& t) {
            const auto content = [&](int from, int tag, int i) {
              return std::vector<char>(static_cast<std::size_t>(bytes), static_cast<char>(from * 40 + tag * 10 + i));
            };
            std::vector<ranks::comm::in_flight> calls;
            std::vector<std::vector<char>> kept;
            for (int to = 0; to < 3; ++to)
              for (int tag = 0; tag < 2; ++tag)
                for (int i = 0; i < 3; ++i) {
                  kept.push_back(content(g.index(), tag, i));
                  calls.push_back(comm.start_send(g, to, kept.back().data(), bytes, tag));
                }
            for (int from = 0; from < 3; ++from)
              for (int tag = 1; tag >= 0; --tag)
                for (int i = 0; i < 3; ++i) {
                  std::vector<char> in(static_cast<std::size_t>(bytes));
                  comm.receive(g, from, in.data(), bytes, tag);
                  t.expect(in == content(from, tag, i));
                }
            for (auto& c : calls) c.wait();
          }) == 0);
  }
}

TEST_CASE("a hundred small sends run ahead of their receives") {
  if (!ranks::has(2)) return;
  CHECK(ranks::wrong(2, [&](ranks::comm& comm, const mp::group& g, tally& t) {
          for (int i = 0; i < 100; ++i) {
            int x = i;
            if (comm.rank() == 0) comm.send(g, 1, &x, sizeof x);
            else {
              comm.receive(g, 0, &x, sizeof x);
              t.expect(x == i);
            }
          }
        }) == 0);
}

TEST_CASE("sub-groups of strided ranks work in parallel and one list is one group") {
  if (!ranks::has(8)) return;
  CHECK(ranks::wrong(8, [&](ranks::comm& comm, const mp::group&, tally& t) {
          const auto rows = first(4, 1, comm.rank() / 4 * 4), columns = first(2, 4, comm.rank() % 4);
          const mp::group row = comm.group(rows), column = comm.group(columns);
          t.expect(comm.group(rows).id() == row.id() && row.id() != column.id());
          t.expect(row.members()[static_cast<std::size_t>(row.index())] == comm.rank());
          for (int i = 0; i < 200; ++i) {
            std::vector<double> x(static_cast<std::size_t>(1 + i * 7), comm.rank()), y(x.size());
            comm.all_reduce(row, x.data(), y.data(), static_cast<long>(x.size()), dtype::f64, dtype::f64);
            t.expect(y.back() == (comm.rank() < 4 ? 6 : 22));
            comm.all_reduce(column, y.data(), x.data(), static_cast<long>(x.size()), dtype::f64, dtype::f64);
            t.expect(x.front() == 28);
          }
        }) == 0);
}

TEST_CASE("sixteen calls in flight per group, waited for in another order on every rank") {
  if (!ranks::has(4)) return;
  for (const long count : {100L, 20000L})
    CHECK(ranks::wrong(4, [&](ranks::comm& comm, const mp::group& all, tally& t) {
            const mp::group pair = comm.group(first(2, 1, comm.rank() / 2 * 2));
            for (int round = 0; round < 5; ++round) {
              std::vector<std::vector<float>> out;
              std::vector<ranks::comm::in_flight> calls;
              const auto in = values<float>(count, comm.rank(), round);
              for (int i = 0; i < 32; ++i) {
                out.emplace_back(static_cast<std::size_t>(count));
                calls.push_back(comm.start_all_reduce(i % 2 ? pair : all, in.data(), out.back().data(), count,
                                                      dtype::f32, dtype::f32));
              }
              std::vector<std::size_t> order(32);
              std::iota(order.begin(), order.end(), 0u);
              std::shuffle(order.begin(), order.end(), std::mt19937(static_cast<unsigned>(comm.rank() + 10 * round)));
              for (const std::size_t i : order) calls[i].wait();
              const auto expected = serial<float, float>(4, count, mp::reduction::sum, round);
              for (std::size_t i = 0; i < 32; i += 2) t.expect(same_bits(out[i], expected));
              for (std::size_t i = 1; i < 32; i += 2) t.expect(same_bits(out[i], out[1]));
            }
          }) == 0);
}

TEST_CASE("received counts what a ring sends") {
  if (!ranks::has(8)) return;
  constexpr long count = 8 * 5000;
  for (const long scale : {1L, 100L})  // buffered and not
    CHECK(ranks::wrong(8, [&](ranks::comm& comm, const mp::group& g, tally& t) {
            const long whole = count / scale;  // elements, 8 divides it
            const long calls = comm.calls(g), all_reduces = comm.calls(g, mp::call_kind::all_reduce);
            std::vector<float> a(static_cast<std::size_t>(whole)), b(a.size());
            auto since = [&, last = comm.received(g)]() mutable {
              return comm.received(g) - std::exchange(last, comm.received(g));
            };
            comm.all_reduce(g, a.data(), b.data(), whole, dtype::f32, dtype::f32);
            t.expect(since() == 2 * whole * 4 * 7 / 8);
            comm.reduce_scatter(g, a.data(), b.data(), 2, whole / 16, dtype::f32, dtype::f32);
            t.expect(since() == whole * 4 * 7 / 8);
            comm.all_gather(g, a.data(), b.data(), 2, whole / 16 * 4);
            t.expect(since() == whole * 4 * 7 / 8);
            comm.all_to_all(g, a.data(), b.data(), whole / 8 * 4);
            t.expect(since() == whole * 4 * 7 / 8);
            comm.broadcast(g, a.data(), whole * 4, 3);
            t.expect(since() == (g.index() == 3 ? 0 : whole * 4));
            comm.barrier(g);
            t.expect(since() == 0);
            if (g.index() == 0) comm.send(g, 1, a.data(), 60);
            if (g.index() == 1) comm.receive(g, 0, a.data(), 60);
            t.expect(since() == (g.index() == 1 ? 60 : 0));
            t.expect(comm.calls(g) - calls == 6 + (g.index() < 2));
            t.expect(comm.calls(g, mp::call_kind::all_reduce) - all_reduces == 1);
          }) == 0);
}

TEST_CASE("uneven all_reduce: over all ranks, 2 (n - 1) vectors are received") {
  if (!ranks::has(4)) return;
  for (const long count : {11L, 10007L})
    CHECK(ranks::wrong(4, [&](ranks::comm& comm, const mp::group& g, tally& t) {
            std::vector<float> x(static_cast<std::size_t>(count));
            const long before = comm.received(g);
            comm.all_reduce(g, x.data(), x.data(), count, dtype::f32, dtype::f32);
            const long own = mp::chunk_of(count, 4, g.index()).size(), got = comm.received(g) - before;
            t.expect(got == (3 * own + count - own) * 4);
            double sum = static_cast<double>(got);
            comm.all_reduce(g, &sum, &sum, 1, dtype::f64, dtype::f64);
            t.expect(sum == static_cast<double>(2 * 3 * count * 4));
          }) == 0);
}
