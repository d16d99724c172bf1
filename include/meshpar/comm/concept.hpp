// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/call.hpp>
#include <meshpar/comm/group.hpp>

#include <concepts>
#include <span>
#include <utility>

namespace meshpar::inline v0 {

// A started call: moved, never copied, and waited for.
template <class F>
concept awaitable = std::movable<F> && !std::copyable<F> && requires(F f) { f.wait(); };

// What threads, mpi and nccl have in common. The laws and the shapes stand with class threads; whoever has the start_
// forms gets the blocking ones from blocking<Comm>.
template <class C>
concept communicator = awaitable<typename C::in_flight> &&
                       requires(C c, const group& g, const void* in, void* out, long n, int peer, dtype t,
                                reduction how, std::span<const long> each, std::span<const int> ranks) {
                         { c.rank() } -> std::same_as<int>;
                         { c.size() } -> std::same_as<int>;
                         { c.group(ranks) } -> std::same_as<group>;
                         c.label("");
                         c.step(n);
                         { c.start_all_gather(g, in, out, n, n) } -> std::same_as<typename C::in_flight>;
                         { c.start_reduce_scatter(g, in, out, n, n, t, t, how) } -> std::same_as<typename C::in_flight>;
                         { c.start_all_reduce(g, in, out, n, t, t, how) } -> std::same_as<typename C::in_flight>;
                         { c.start_all_to_all(g, in, out, n) } -> std::same_as<typename C::in_flight>;
                         {
                           c.start_all_to_all_v(g, in, each, each, out, each, each)
                         } -> std::same_as<typename C::in_flight>;
                         { c.start_broadcast(g, out, n, peer) } -> std::same_as<typename C::in_flight>;
                         { c.start_barrier(g) } -> std::same_as<typename C::in_flight>;
                         { c.start_send(g, peer, in, n, n) } -> std::same_as<typename C::in_flight>;
                         { c.start_receive(g, peer, out, n, n) } -> std::same_as<typename C::in_flight>;
                         { c.received(g) } -> std::same_as<long>;
                         { c.calls(g, call_kind::all_reduce) } -> std::same_as<long>;
                         c.all_reduce(g, in, out, n, t, t, how);
                         c.barrier(g);
                       };

}  // namespace meshpar::inline v0
