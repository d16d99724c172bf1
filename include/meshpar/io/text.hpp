// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/core/philox.hpp>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace meshpar::inline v0 {

// A text as tokens, one per byte. Training draws windows from all but its last part, evaluation from that part.
class text_data {
 public:
  explicit text_data(std::vector<std::int32_t> tokens) : tokens_(std::move(tokens)) {}

  std::int64_t size() const { return static_cast<std::int64_t>(tokens_.size()); }
  std::int64_t training_size() const { return size() - size() / 20; }

  // Where sample `index` of a step begins: a function of the seed, the step and the global index alone, so that every
  // plan reads the same batch. A window is `length` tokens; needs length <= training_size(),
  // or, for evaluation, a twentieth of size().
  std::int64_t training_window(std::uint64_t seed, std::uint64_t step, std::int64_t index, std::int64_t length) const {
    return draw(seed, step, index) % (training_size() - length + 1);
  }
  std::int64_t evaluation_window(std::int64_t index, std::int64_t length) const {
    return training_size() + index * length % (size() - training_size() - length + 1);
  }
  std::int32_t token(std::int64_t at) const { return tokens_[static_cast<std::size_t>(at)]; }

 private:
  static std::int64_t draw(std::uint64_t seed, std::uint64_t step, std::int64_t index) {
    const philox_counter c = philox({{static_cast<std::uint32_t>(index), 0, 0, 0}}, philox_stream(seed, 0x7e47, step));
    return static_cast<std::int64_t>((std::uint64_t{c.word[0]} << 31) ^ c.word[1]);
  }
  std::vector<std::int32_t> tokens_;
};

// The bytes of a file as tokens. Throws one line that names the file when it cannot be read or is shorter than
// `at_least` bytes.
inline text_data read_text(const std::string& path, std::int64_t at_least = 1024) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read the text '" + path + "': give a readable file");
  std::vector<std::int32_t> tokens;
  try {
    constexpr std::size_t most = std::size_t{1} << 28;  // bytes: a device that never ends is a file, too
    for (std::istreambuf_iterator<char> c(file), end; c != end; ++c) {
      if (tokens.size() == most)
        throw std::runtime_error("the text '" + path + "' is longer than 256 MiB: give a part of it");
      tokens.push_back(static_cast<unsigned char>(*c));
    }
  } catch (const std::ios_base::failure&) {  // as for a folder
    throw std::runtime_error("reading the text '" + path + "' failed: give a readable file");
  }
  if (static_cast<std::int64_t>(tokens.size()) < at_least)
    throw std::runtime_error("the text '" + path + "' has " + std::to_string(tokens.size()) + " bytes, but at least " +
                             std::to_string(at_least) + " are needed: give a longer one");
  return text_data(std::move(tokens));
}

}  // namespace meshpar::inline v0
