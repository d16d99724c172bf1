// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/ops/host_kinds.hpp>
#include <meshpar/trace/call_log.hpp>

#include <array>
#include <iterator>
#include <span>
#include <utility>

namespace meshpar::inline v0 {

// A communicator that writes its blocking collectives into a log: `rank<Types, Gemm, logged<threads>>` is a rank of
// which every call is logged. Programs that don't name it are as they were.
template <class Comm>
class logged : public Comm {
 public:
  logged(const Comm& comm, call_log& log) : Comm(comm), log_(&log) {}

  call_log& log() { return *log_; }

  void all_gather(const group& g, const void* in, void* out, long outer, long inner_bytes) {
    write(g, {.kind = call_kind::all_gather, .element = dtype::bytes, .outer = outer, .inner = inner_bytes}, in, out,
          [&] { Comm::all_gather(g, in, out, outer, inner_bytes); });
  }
  void reduce_scatter(const group& g, const void* in, void* out, long outer, long inner_count, dtype element,
                      dtype accumulate, reduction how = reduction::sum) {
    write(g, {call_kind::reduce_scatter, element, accumulate, how, 0, outer, inner_count}, in, out,
          [&] { Comm::reduce_scatter(g, in, out, outer, inner_count, element, accumulate, how); });
  }
  void all_reduce(const group& g, const void* in, void* out, long count, dtype element, dtype accumulate,
                  reduction how = reduction::sum) {
    write(g, {call_kind::all_reduce, element, accumulate, how, 0, 1, count}, in, out,
          [&] { Comm::all_reduce(g, in, out, count, element, accumulate, how); });
  }

 private:
  template <class F>
  void write(const group& g, const call& sent, const void* in, void* out, F run) {
    log_->collective(g, sent, in, out, [&] {
      const long before = Comm::received(g);
      run();
      return Comm::received(g) - before;
    });
  }
  call_log* log_;
};

namespace host_kinds {

// The table of kinds with the log before each of them.
template <class D, std::size_t Kind>
void run_logged(D& d, const bound& c) {
  d.comm->log().begin(c);
  table<D>[Kind].run(d, c);
  d.comm->log().end();
}
template <class D, std::size_t... Kind>
constexpr std::array<runner<D>, sizeof...(Kind)> log_kinds(std::index_sequence<Kind...>) {
  return {{{table<D>[Kind].kind, &run_logged<D, Kind>}...}};
}
template <class D>
inline constexpr auto logged_table = log_kinds<D>(std::make_index_sequence<std::size(table<D>)>());

template <class T, class Gemm, class Comm>
inline constexpr std::span<const runner<host<T, Gemm, logged<Comm>>>> calls_of<host<T, Gemm, logged<Comm>>>{
    logged_table<host<T, Gemm, logged<Comm>>>};

}  // namespace host_kinds
}  // namespace meshpar::inline v0
