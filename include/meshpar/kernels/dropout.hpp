// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/core/philox.hpp>
#include <meshpar/kernels/block.hpp>

namespace meshpar::inline v0::kernels {

// Which elements survive: a pure function of (seed, step, site) in the key and of the element's global sample,
// position, head and index in the counter, hence the same on every layout and again in backward. Rate 0 keeps all.
struct dropout_mask {
  philox_key key{};
  std::uint32_t dropped_below = 0;
  double keep_scale = 1;  // 1 / (1 - rate)

  MESHPAR_HD constexpr bool active() const { return dropped_below != 0; }
  // The numbers of indices 4 g .. 4 g + 3.
  MESHPAR_HD constexpr philox_counter four(long sample, long position, long head, long g) const {
    return philox({{word(g), word(position), word(sample), word(head)}}, key);
  }
  MESHPAR_HD constexpr bool keeps(long sample, long position, long head, long index) const {
    const philox_counter drawn = four(sample, position, head, index / 4);
    const std::uint32_t even = index & 1 ? drawn.word[1] : drawn.word[0];
    const std::uint32_t odd = index & 1 ? drawn.word[3] : drawn.word[2];
    return (index & 2 ? odd : even) >= dropped_below;
  }
  // 0 or keep_scale.
  template <class A>
  MESHPAR_HD constexpr A factor(long sample, long position, long head, long index) const {
    return keeps(sample, position, head, index) ? A(keep_scale) : A{};
  }

 private:
  MESHPAR_HD static constexpr std::uint32_t word(long i) { return static_cast<std::uint32_t>(i); }
};

// rate in [0, 1); `site` numbers the places of a model where dropout happens.
constexpr dropout_mask dropout_at(double rate, std::uint64_t seed, std::uint64_t step, std::uint64_t site) {
  return {philox_stream(seed, site, step), static_cast<std::uint32_t>(rate * 4294967296.0), 1 / (1 - rate)};
}

// Where the tokens of x[positions, batch, width] stand globally: token t is at position `position` + t / batch of
// sample `sample` + t % batch, and its elements are features `feature` and up.
struct token_origin {
  long position = 0, sample = 0, feature = 0, batch = 1;
};

// y = x factor, in forward; the same call on gradients is the pullback. y may be x.
template <block B, class T>
MESHPAR_HD void dropout(const B& b, index_range tokens, T* y, const T* x, dropout_mask mask, token_origin origin,
                        long width) {
  using A = accumulator_t<T>;
  for (long t = tokens.begin; t < tokens.end; ++t) {
    const long sample = origin.sample + t % origin.batch, position = origin.position + t / origin.batch;
    const T* xr = x + t * width;
    T* yr = y + t * width;
    const auto one = [=](long i) {
      yr[i] = T(A(xr[i]) * mask.template factor<A>(sample, position, 0, origin.feature + i));
    };
    const long whole = smaller(width, -origin.feature & 3), groups = (width - whole) / 4;
    for_each(b, {0, groups}, [=](long g) {
      const philox_counter drawn = mask.four(sample, position, 0, (origin.feature + whole) / 4 + g);
      for (int j = 0; j < 4; ++j) {
        const long i = whole + 4 * g + j;
        yr[i] = T(A(xr[i]) * (drawn.word[j] >= mask.dropped_below ? A(mask.keep_scale) : A{}));
      }
    });
    for_each(b, {0, whole}, one);
    for_each(b, {whole + 4 * groups, width}, one);
  }
}

template <class T>
void dropout(T* y, const T* x, dropout_mask mask, token_origin origin, long tokens, long width) {
  dropout(one_thread{}, {0, tokens}, y, x, mask, origin, width);
}

}  // namespace meshpar::inline v0::kernels
