// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/call.hpp>
#include <meshpar/comm/group.hpp>

#include <span>

namespace meshpar::inline v0 {

// The blocking form of every call of a communicator: start, then wait. A communicator derives from blocking<itself>;
// arguments are those of the start_ form.
template <class Comm>
class blocking {
 public:
  void all_gather(const group& g, const void* in, void* out, long outer, long inner_bytes) {
    self().start_all_gather(g, in, out, outer, inner_bytes).wait();
  }
  void reduce_scatter(const group& g, const void* in, void* out, long outer, long inner_count, dtype element,
                      dtype accumulate, reduction how = reduction::sum) {
    self().start_reduce_scatter(g, in, out, outer, inner_count, element, accumulate, how).wait();
  }
  void all_reduce(const group& g, const void* in, void* out, long count, dtype element, dtype accumulate,
                  reduction how = reduction::sum) {
    self().start_all_reduce(g, in, out, count, element, accumulate, how).wait();
  }
  void all_to_all(const group& g, const void* in, void* out, long bytes_per_peer) {
    self().start_all_to_all(g, in, out, bytes_per_peer).wait();
  }
  void all_to_all_v(const group& g, const void* in, std::span<const long> send_bytes,
                    std::span<const long> send_offsets, void* out, std::span<const long> receive_bytes,
                    std::span<const long> receive_offsets) {
    self().start_all_to_all_v(g, in, send_bytes, send_offsets, out, receive_bytes, receive_offsets).wait();
  }
  void broadcast(const group& g, void* buffer, long bytes, int root) {
    self().start_broadcast(g, buffer, bytes, root).wait();
  }
  void barrier(const group& g) { self().start_barrier(g).wait(); }
  void send(const group& g, int peer, const void* data, long bytes, long tag = 0) {
    self().start_send(g, peer, data, bytes, tag).wait();
  }
  void receive(const group& g, int peer, void* data, long bytes, long tag = 0) {
    self().start_receive(g, peer, data, bytes, tag).wait();
  }

 private:
  Comm& self() { return static_cast<Comm&>(*this); }
};

}  // namespace meshpar::inline v0
