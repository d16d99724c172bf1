// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/blocking.hpp>
#include <meshpar/comm/in_flight.hpp>
#include <meshpar/comm/overlap.hpp>
#include <meshpar/comm/reduce.hpp>

namespace meshpar::inline v0 {

// The calls of one rank, over the engine that carries them out. A communicator derives from starting<itself, engine>.
//
// Every start_ call returns an in_flight; its buffers are the call's until wait() returns. At most 16 calls of a rank
// may be in flight on one group, and 16 messages under way from one rank to another. All members of a group make the
// same collectives in the same order; they may wait in any order. Where they disagree, comm_error names both sides.
// Sums are taken in group order in the accumulation type and rounded once, so the result is the same bits on all
// ranks, in all runs and with every communicator. Zero counts are calls like any other. Peers and roots are indices in
// the group.
template <class Comm, class Engine>
class starting : public blocking<Comm> {
 public:
  using in_flight = basic_in_flight<Engine>;
  explicit starting(Engine& engine) : engine_(&engine) {}

  int rank() const { return engine_->rank(); }
  int size() const { return engine_->size(); }

  // members: world ranks in increasing order, this one among them. All members call it with the same list; the same
  // list gives the same group.
  meshpar::group group(std::span<const int> members) { return engine_->join(members); }

  // Names the calls that follow, for error messages and logs; a literal, or text that outlives the run.
  void label(const char* text) { engine_->label(text); }

  // Numbers the step that begins, from 1, for the same.
  void step(long number) { engine_->step(number); }

  // in [outer][inner] bytes, out [outer][n][inner]. With outer = 1, `in` may be this rank's place in `out`.
  in_flight start_all_gather(const meshpar::group& g, const void* in, void* out, long outer, long inner_bytes) {
    const call what = make(call_kind::all_gather, outer, inner_bytes);
    const long bytes = outer * inner_bytes;
    require_apart(what, {in, bytes}, {out, bytes * g.size()}, outer == 1 ? -g.index() * inner_bytes : no_offset);
    return start(g, what, in, bytes, out);
  }

  // in [outer][n][inner] elements, out [outer][inner]: the reduction of everyone's piece `index`. With outer = 1, `out`
  // may be this rank's piece of `in`.
  in_flight start_reduce_scatter(const meshpar::group& g, const void* in, void* out, long outer, long inner_count,
                                 dtype element, dtype accumulate, reduction how = reduction::sum) {
    const call what = make_reduction(call_kind::reduce_scatter, outer, inner_count, element, accumulate, how);
    const long bytes = outer * inner_count * size_of(element);
    require_apart(what, {in, bytes * g.size()}, {out, bytes}, outer == 1 ? g.index() * bytes : no_offset);
    return start(g, what, in, bytes * g.size(), out);
  }

  // in and out [count]; they may be the same.
  in_flight start_all_reduce(const meshpar::group& g, const void* in, void* out, long count, dtype element,
                             dtype accumulate, reduction how = reduction::sum) {
    const call what = make_reduction(call_kind::all_reduce, 1, count, element, accumulate, how);
    const long bytes = count * size_of(element);
    require_apart(what, {in, bytes}, {out, bytes}, 0);
    return start(g, what, in, bytes, out);
  }

  // in and out [n][bytes_per_peer], apart: piece q of `in` goes to q, piece q of `out` comes from q.
  in_flight start_all_to_all(const meshpar::group& g, const void* in, void* out, long bytes_per_peer) {
    const call what = make(call_kind::all_to_all, 1, bytes_per_peer);
    const long bytes = bytes_per_peer * g.size();
    require_apart(what, {in, bytes}, {out, bytes}, no_offset);
    return start(g, what, in, bytes, out);
  }

  // The same with bytes and byte offsets per peer, [n] each; they are copied. What a sends to b must be what b expects.
  in_flight start_all_to_all_v(const meshpar::group& g, const void* in, std::span<const long> send_bytes,
                               std::span<const long> send_offsets, void* out, std::span<const long> receive_bytes,
                               std::span<const long> receive_offsets) {
    const call what = make(call_kind::all_to_all_v, 1, 0);
    const exchange each{{send_bytes, send_offsets, receive_bytes, receive_offsets}};
    for (const auto part : each.parts)
      if (static_cast<int>(part.size()) != g.size()) engine_->refuse(what, "needs one count and one offset per member");
    return {*engine_, engine_->start_exchange(g, what, in, out, each)};
  }

  in_flight start_broadcast(const meshpar::group& g, void* buffer, long bytes, int root) {
    call what = make(call_kind::broadcast, 1, bytes);
    what.peer = root;
    require_member(g, what);
    return start(g, what, buffer, g.index() == root ? bytes : 0, buffer);
  }

  in_flight start_barrier(const meshpar::group& g) {
    return start(g, make(call_kind::barrier, 1, 0), nullptr, 0, nullptr);
  }

  // A message reaches the oldest receive of its tag; both sides state its bytes. Up to 4 KiB are buffered, a longer
  // send completes when it has been received.
  in_flight start_send(const meshpar::group& g, int peer, const void* data, long bytes, long tag = 0) {
    const call what = make_message(call_kind::send, peer, bytes, tag);
    require_member(g, what);
    return {*engine_, engine_->start_send(g, what, data)};
  }
  in_flight start_receive(const meshpar::group& g, int peer, void* data, long bytes, long tag = 0) {
    const call what = make_message(call_kind::receive, peer, bytes, tag);
    require_member(g, what);
    return {*engine_, engine_->start_receive(g, what, data)};
  }

  // Bytes that reached this rank from the other members of g in calls so far, counted where they are moved:
  //   all_gather, all_to_all(_v), broadcast, receive: what was copied from others;
  //   reduce_scatter: (n - 1) x the own piece, read from others;
  //   all_reduce: (n - 1) x the own chunk, read from others, and the chunks that the others sum and write here. A short
  //   one, in which every rank sums everything itself, counts the same.
  // For counts that n divides these are the bytes that a ring sends: (n-1)/n of the whole vector for all_gather and
  // reduce_scatter, twice that for all_reduce. Where it does not, ring rank r sends as much in total over all ranks,
  // and chunk_of says which ranks have the longer chunks.
  long received(const meshpar::group& g) const { return engine_->received(g); }

  // Calls started on g.
  long calls(const meshpar::group& g, call_kind kind) const { return engine_->calls(g)[static_cast<int>(kind)]; }
  long calls(const meshpar::group& g) const {
    long sum = 0;
    for (int kind = 0; kind < call_kinds; ++kind) sum += engine_->calls(g)[kind];
    return sum;
  }

 private:
  static call make(call_kind kind, long outer, long inner) { return {.kind = kind, .outer = outer, .inner = inner}; }
  static call make_message(call_kind kind, int peer, long bytes, long tag) {
    return {.kind = kind, .peer = peer, .outer = tag, .inner = bytes};
  }
  call make_reduction(call_kind kind, long outer, long inner, dtype element, dtype accumulate, reduction how) {
    const call what{
        .kind = kind, .element = element, .accumulate = accumulate, .how = how, .outer = outer, .inner = inner};
    if (!reducer(element, accumulate, how)) engine_->refuse(what, "has no such accumulation");
    return what;
  }
  void require_apart(const call& what, memory_range in, memory_range out, long allowed) const {
    if (!apart(in, out, allowed)) engine_->refuse(what, "has an input and an output that overlap");
  }
  void require_member(const meshpar::group& g, const call& what) const {
    if (what.peer < 0 || what.peer >= g.size())
      engine_->refuse(what, "names member " + std::to_string(what.peer) + " of a group of " + std::to_string(g.size()));
  }
  in_flight start(const meshpar::group& g, const call& what, const void* in, long in_bytes, void* out) {
    return {*engine_, engine_->start_collective(g, what, in, in_bytes, out)};
  }

  Engine* engine_;
};

}  // namespace meshpar::inline v0
