// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/train/launch.hpp>

#include "counted.hpp"

#include <unistd.h>

// One step of one rank, as predicted and as counted.
namespace counted {

struct bytes_along {
  int group = 0;
  std::int64_t predicted = 0, received = 0;
};

struct observed {
  step_cost predicted;
  std::int64_t mapped = 0, top = 0, live = 0, read_unwritten = 0, flops = 0, logged = 0, collectives = 0;
  bool guarded = false;
  std::vector<bytes_along> bytes, calls;  // per group, and per group and kind
  std::int64_t lost = 0;
  std::string wrong_sizes;
};

inline call_kind kind_of(collective k) {
  switch (k) {
    case collective::all_gather: return call_kind::all_gather;
    case collective::reduce_scatter: return call_kind::reduce_scatter;
    default: return call_kind::all_reduce;
  }
}

// Whether the byte cannot be read.
inline bool is_inaccessible(const unsigned char* byte) {
  int ends[2];
  if (::pipe(ends) != 0) return false;
  const bool refused = ::write(ends[1], byte, 1) < 0;
  ::close(ends[0]);
  ::close(ends[1]);
  return refused;
}

inline int token(std::int64_t sample, std::int64_t position, int vocab) {
  return static_cast<int>((sample * 7919 + position * 104729 + sample * position * 13) % vocab);
}

template <class Rank>
void play_step(Rank& r, const program& p) {
  const auto id = [&](std::int64_t s, std::int64_t q) { return token(s, q, p.what.vocab); };
  const auto label = [&](std::int64_t s, std::int64_t q) { return token(s, q + 1, p.what.vocab); };
  r.step(1, id, label, {});
}

// Adds to the row of a group.
inline void add(std::vector<bytes_along>& rows, int group, std::int64_t predicted) {
  for (bytes_along& row : rows)
    if (row.group == group) {
      row.predicted += predicted;
      return;
    }
  rows.push_back({group, predicted, 0});
}

template <class Types>
observed observe(const program& p, threads& plain) {
  call_log log(plain.rank());
  logged<threads> comm(plain, log);
  const auto r = std::make_unique<rank<Types, plain_gemm, logged<threads>>>(p, comm);
  observed o;
  o.predicted = price(p, plain.rank());

  std::vector<group> groups;
  for (const traffic& t : o.predicted.whole.sent) {
    const group g = r->calls().group_along(t.along);
    add(o.bytes, g.id(), t.bytes);
    add(o.calls, g.id() * call_kinds + static_cast<int>(kind_of(t.kind)), t.calls);
    groups.push_back(g);
  }
  const auto count_received = [&](std::int64_t sign) {
    for (bytes_along& row : o.bytes)
      for (const group& g : groups)
        if (g.id() == row.group) {
          row.received += sign * comm.received(g);
          break;
        }
    for (bytes_along& row : o.calls)
      for (const group& g : groups)
        if (g.id() == row.group / call_kinds) {
          row.received += sign * comm.calls(g, static_cast<call_kind>(row.group % call_kinds));
          break;
        }
  };

  // All that is not at rest.
  const std::int64_t rest = p.memory.boundaries.offset;
  std::memset(r->memory().at(rest), arena::paint_byte, static_cast<std::size_t>(p.memory.height - rest));
  count_received(-1);
  play_step(*r, p);
  count_received(1);

  o.mapped = r->memory().size();
  o.guarded = is_inaccessible(r->memory().at(o.mapped)) && !is_inaccessible(r->memory().at(o.mapped - 1));
  o.top = r->memory().highest_touched();
  const step s = count(p, log.calls(), r->memory().at(0));
  o.live = rest + p.memory.ids.bytes + p.memory.labels.bytes + p.memory.scalars.bytes + s.live;
  o.read_unwritten = s.read_unwritten;
  o.flops = s.flops;
  for (const std::string& name : s.wrong_sizes) o.wrong_sizes += name + " ";
  o.logged = s.received;
  o.collectives = s.collectives;
  o.lost = static_cast<std::int64_t>(log.lost());
  return o;
}

template <class Types>
std::vector<observed> observe_ranks(const program& p) {
  std::vector<observed> all(static_cast<std::size_t>(p.where.ranks.size()));
  threads_world world(p.where.ranks.size());
  world.run([&](threads& comm) { all[static_cast<std::size_t>(comm.rank())] = observe<Types>(p, comm); });
  return all;
}

}  // namespace counted
