// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/core/philox.hpp>
#include <meshpar/train/executor.hpp>

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace meshpar::inline v0 {

// Writes on from a prompt, one token at a time, each from a forward pass over the last `seq` tokens; every rank of tp
// gathers the pieces of the vocabulary and draws the same token. Sample 0 of the micro-batch carries the text.
template <class Rank>
class generator {
 public:
  explicit generator(Rank& r)
      : rank_(r),
        block_(r.plan().block_count() - 1),
        logits_(find_logits(r.plan())),
        split_(layout_of_logits().dims.back().by.axes()) {
    if (!split_.empty()) group_ = r.calls().group_along(split_);
    gathered_.resize(static_cast<std::size_t>(width() * r.plan().where.ranks.size(split_)));
  }

  // `count` tokens after `prompt`, drawn at a temperature (0: the likeliest); the same on every plan up to rounding.
  std::vector<std::int32_t> write(std::vector<std::int32_t> prompt, int count, double temperature, std::uint64_t seed) {
    if (prompt.empty()) throw std::invalid_argument("a text is written on from a prompt of at least one token");
    for (int i = 0; i < count; ++i) prompt.push_back(next(prompt, temperature, seed, i));
    return prompt;
  }

 private:
  using element = typename Rank::T;

  static int find_logits(const program& p) {
    for (const record& r : p.traced_block(block_kind::last).records)
      if (r.op == &cross_entropy_op::max_info) return r.in[0];
    return no_value;
  }
  const layout& layout_of_logits() const { return rank_.plan().traced_block(block_kind::last).shape(logits_); }
  std::int64_t width() const { return layout_of_logits().dims.back().local; }

  std::int32_t next(const std::vector<std::int32_t>& so_far, double temperature, std::uint64_t seed, int number) {
    const std::int64_t seq = rank_.plan().what.seq, length = static_cast<std::int64_t>(so_far.size());
    const std::int64_t start = length > seq ? length - seq : 0, last = length - start - 1;
    rank_.evaluate(
        0,
        [&](std::int64_t, std::int64_t position) {
          return start + position < length ? so_far[static_cast<std::size_t>(start + position)] : 0;
        },
        [](std::int64_t, std::int64_t) { return -1; });
    const std::int64_t batch = layout_of_logits().dims[1].local;
    const auto* row = static_cast<const element*>(rank_.calls().address(block_, logits_)) + last * batch * width();
    if (split_.empty()) std::copy(row, row + width(), gathered_.begin());
    else
      rank_.comm().all_gather(group_, row, gathered_.data(), 1, width() * static_cast<std::int64_t>(sizeof(element)));
    return draw(temperature, seed, number);
  }
  std::int32_t draw(double temperature, std::uint64_t seed, int number) const {
    const int vocab = rank_.plan().what.vocab;
    double top = -1e300, total = 0;
    for (int i = 0; i < vocab; ++i) top = std::fmax(top, at(i));
    for (int i = 0; i < vocab && temperature <= 0; ++i)
      if (at(i) == top) return i;
    for (int i = 0; i < vocab; ++i) total += std::exp((at(i) - top) / temperature);
    const philox_counter c = philox({{static_cast<std::uint32_t>(number), 0, 0, 0}}, philox_stream(seed, 0x9e4, 0));
    double left = total * c.word[0] / 4294967296.0;
    for (int i = 0; i < vocab; ++i)
      if ((left -= std::exp((at(i) - top) / temperature)) < 0) return i;
    return vocab - 1;
  }
  double at(int i) const { return static_cast<double>(gathered_[static_cast<std::size_t>(i)]); }

  Rank& rank_;
  int block_;
  int logits_;
  axis_set split_;
  group group_{};
  std::vector<element> gathered_;
};

}  // namespace meshpar::inline v0
