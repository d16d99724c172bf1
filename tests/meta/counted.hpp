// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/meta/cost.hpp>
#include <meshpar/trace/logged.hpp>

#include "arguments.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

// What a step has cost, counted from the log of its calls. Of the program only the size of each value is used, and that
// is compared with what the kernel makes of its arguments (arguments.hpp).
namespace counted {

using namespace meshpar;

struct range {
  std::int64_t begin = 0, bytes = 0;
};
struct touched {
  std::vector<range> read, written;
};

inline const tracer& tracer_of(const program& p, const logged_call& c) { return p.traced_block(p.kind_of(c.block)); }

inline std::int64_t bytes_of(const program& p, const logged_call& c, int id) {
  return tracer_of(p, c).values[id].bytes;
}

// What a call reads and writes, as offsets in the arena that starts at `base`.
inline touched ranges_of(const program& p, const logged_call& c, const unsigned char* base) {
  touched t;
  const auto at = [base](const void* x) { return static_cast<const unsigned char*>(x) - base; };
  if (c.what == nullptr) {
    const std::int64_t bytes = c.sent.inner * size_of(c.sent.element);
    t.read.push_back({at(c.in[0]), bytes});
    t.written.push_back({at(c.out[0]), bytes});
    return t;
  }
  for (int i = 0; i < c.what->in.size(); ++i) t.read.push_back({at(c.in[i]), bytes_of(p, c, c.what->in[i])});
  for (int i = 0; i < c.what->out.size(); ++i) t.written.push_back({at(c.out[i]), bytes_of(p, c, c.what->out[i])});
  return t;
}

// The most bytes of [begin, end) that at one call hold what that call or a later one reads: per byte, from the call
// that writes it to the last that reads it before the next one that writes it. What nobody reads counts while it is
// written.
class live_bytes {
 public:
  live_bytes(std::int64_t size, std::size_t calls)
      : from_(static_cast<std::size_t>(size), -1), to_(static_cast<std::size_t>(size), -1), change_(calls + 2) {}

  void play(const touched& t) {
    for (const range& r : t.read)
      each(r, [this](std::size_t byte) {
        if (from_[byte] < 0) ++read_unwritten_;
        to_[byte] = now_;
      });
    for (const range& r : t.written)
      each(r, [this](std::size_t byte) {
        close(byte);
        from_[byte] = to_[byte] == now_ ? now_ + 1 : now_;
        to_[byte] = now_;
      });
    ++now_;
  }
  std::int64_t peak() {
    for (std::size_t byte = 0; byte < from_.size(); ++byte) close(byte), from_[byte] = -1;
    std::int64_t alive = 0, most = 0;
    for (const std::int64_t c : change_) most = std::max(most, alive += c);
    return most;
  }
  std::int64_t read_unwritten() const { return read_unwritten_; }

  // Bytes outside of these two regions are none of this count's business.
  std::int64_t first[2] = {}, last[2] = {};

 private:
  template <class F>
  void each(const range& r, F f) const {
    for (int i = 0; i < 2; ++i)
      for (std::int64_t b = std::max(r.begin, first[i]); b < std::min(r.begin + r.bytes, last[i]); ++b)
        f(static_cast<std::size_t>(b));
  }
  void close(std::size_t byte) {
    if (from_[byte] < 0 || to_[byte] < from_[byte]) return;
    ++change_[static_cast<std::size_t>(from_[byte])];
    --change_[static_cast<std::size_t>(to_[byte]) + 1];
  }
  std::vector<std::int32_t> from_, to_;
  std::vector<std::int64_t> change_;
  std::int32_t now_ = 0;
  std::int64_t read_unwritten_ = 0;
};

// A matrix product of m x k and k x n: the sizes of its three matrices multiply to (m n k)^2. Attention: two products
// (five in the backward pass) of heads x seq x seq x head_dim, half of which is masked.
inline std::int64_t flops_of(const program& p, const logged_call& c) {
  if (c.what == nullptr) return 0;
  const tracer& t = tracer_of(p, c);
  const auto elements = [&](int id) { return static_cast<double>(t.values[id].bytes / size_of(t.values[id].type)); };
  if (c.what->op == &contract_op::info)
    return 2 * std::llround(std::sqrt(elements(c.what->in[0]) * elements(c.what->in[1]) * elements(c.what->out[0])));
  const bool backward = c.what->op == &attention_op::grad_info;
  if (!backward && c.what->op != &attention_op::info) return 0;
  const layout& q = t.shape(c.what->in[0]);
  const std::int64_t scores = q.dims[q.find(dims::seq)].local * q.local_count();
  return scores * (backward ? 5 : 2);
}

// Whether every operand and result has the size that the kernel makes of its arguments.
inline bool sizes_agree(const program& p, const logged_call& c) {
  if (c.what == nullptr) return true;
  const tracer& t = tracer_of(p, c);
  const record& r = *c.what;
  const sizes s =
      sizes_of(r, {size_of(t.plan.compute), size_of(accumulator_of(t.plan.compute))}, size_of(t.values[r.out[0]].type));
  const auto agree = [&](const std::vector<std::int64_t>& expected, const value_list& ids) {
    if (static_cast<int>(expected.size()) != ids.size()) return false;
    for (int i = 0; i < ids.size(); ++i)
      if (expected[static_cast<std::size_t>(i)] >= 0 && expected[static_cast<std::size_t>(i)] != t.values[ids[i]].bytes)
        return false;
    return true;
  };
  return agree(s.in, r.in) && agree(s.out, r.out);
}

struct step {
  std::vector<std::string> wrong_sizes;  // operations
  std::int64_t live = 0, read_unwritten = 0, flops = 0, collectives = 0, received = 0;
};

inline step count(const program& p, std::span<const logged_call> calls, const unsigned char* base) {
  const arena_plan& a = p.memory;
  live_bytes live(a.height, calls.size());
  live.first[0] = a.boundaries.offset, live.last[0] = a.ids.offset;
  live.first[1] = a.saved.offset, live.last[1] = a.height;
  step s;
  for (const logged_call& c : calls) {
    live.play(ranges_of(p, c, base));
    if (!sizes_agree(p, c)) s.wrong_sizes.push_back(c.name());
    s.flops += flops_of(p, c);
    s.collectives += c.sent.kind != call_kind::none;
    s.received += c.received;
  }
  s.live = live.peak();
  s.read_unwritten = live.read_unwritten();
  return s;
}

}  // namespace counted
