// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// What the store and its clients say to each other: a header of 16 bytes (magic, version, kind, tag, length of the
// body), then the body. All numbers are little-endian.
namespace meshpar::inline v0::sockets {

inline constexpr std::uint32_t frame_magic = 0x5250534d;  // "MSPR"
inline constexpr std::uint16_t frame_version = 1;
inline constexpr std::size_t header_bytes = 16;
inline constexpr std::size_t token_limit = 128;
inline constexpr std::size_t key_limit = 256;
inline constexpr std::size_t value_limit = 1 << 20;
inline constexpr std::size_t stranger_limit = 512;  // a body from one who has not joined yet
inline constexpr std::size_t body_limit = value_limit + 1024;

enum class frame_kind : std::uint16_t {
  none,
  hello,       // role, rank, size, token, name: I join
  welcome,     // to it
  refused,     // to it: a line
  set,         // key, value
  get,         // milliseconds, key
  barrier,     // milliseconds, name
  answer,      // to set, get and barrier: the value
  failure,     // to them: a line
  goodbye,     // the run is done here
  beat,        // the activity of a rank; from the server: that of rank 0
  terminated,  // a signal asks this process to end
  failed,      // a line: this rank cannot go on
  all_done,    // every rank has said goodbye
  end_of_run,  // rank, reason, line, activity of each rank
};
inline constexpr int frame_kinds = 15;

struct frame {
  frame_kind kind = frame_kind::none;
  std::uint32_t tag = 0;  // of the request that an answer belongs to
  std::string body;
};

class writer {
 public:
  template <class Integer>
  writer& number(Integer value) {
    for (std::size_t i = 0; i < sizeof value; ++i)
      bytes_ += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i) & 255);
    return *this;
  }
  writer& words(std::string_view s) {
    number(static_cast<std::uint32_t>(s.size())).bytes_ += s;
    return *this;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Reads what a writer wrote. What is not there reads as zero, and is no longer whole().
class reader {
 public:
  explicit reader(std::string_view bytes) : left_(bytes) {}

  template <class Integer>
  Integer number() {
    std::uint64_t value = 0;
    const std::string_view bytes = raw(sizeof(Integer));
    for (std::size_t i = 0; i < bytes.size(); ++i)
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
    return static_cast<Integer>(value);
  }
  std::string_view words(std::size_t limit) {
    const auto size = number<std::uint32_t>();
    if (size > limit) whole_ = false;
    return raw(whole_ ? size : 0);
  }
  std::string_view raw(std::size_t size) {
    if (size > left_.size()) whole_ = false;
    if (!whole_) return {};
    const std::string_view taken = left_.substr(0, size);
    left_.remove_prefix(size);
    return taken;
  }
  bool whole() const { return whole_; }
  bool ends() const { return whole_ && left_.empty(); }

 private:
  std::string_view left_;
  bool whole_ = true;
};

inline std::string encode(frame_kind kind, std::uint32_t tag, std::string_view body) {
  writer w;
  w.number(frame_magic).number(frame_version).number(static_cast<std::uint16_t>(kind)).number(tag).words(body);
  return w.take();
}

// Bytes as they come in, and the frames they make. Holds what has come and no more, whatever a header announces.
class inbox {
 public:
  enum class state { waiting, frame, garbage };

  void limit(std::size_t body_bytes) { limit_ = body_bytes; }
  void add(std::string_view bytes) { bytes_ += bytes; }

  state next(frame& f) {
    reader r(bytes_);
    const auto magic = r.number<std::uint32_t>();
    const auto version = r.number<std::uint16_t>();
    const auto kind = r.number<std::uint16_t>();
    f.tag = r.number<std::uint32_t>();
    const auto length = r.number<std::uint32_t>();
    if (!r.whole()) return begins_well() ? state::waiting : state::garbage;
    if (magic != frame_magic || version != frame_version || kind == 0 || kind >= frame_kinds || length > limit_)
      return state::garbage;
    if (bytes_.size() < header_bytes + length) return state::waiting;
    f.kind = static_cast<frame_kind>(kind);
    f.body.assign(bytes_, header_bytes, length);
    bytes_.erase(0, header_bytes + length);
    return state::frame;
  }

 private:
  bool begins_well() const {
    const std::string magic = writer().number(frame_magic).take();
    return std::string_view(magic).starts_with(std::string_view(bytes_).substr(0, magic.size()));
  }

  std::size_t limit_ = stranger_limit;
  std::string bytes_;
};

// Time does not depend on where two tokens differ.
inline bool same_token(std::string_view a, std::string_view b) {
  volatile unsigned differs = a.size() == b.size() && a.size() <= token_limit ? 0 : 1;
  for (std::size_t i = 0; i < token_limit; ++i) {
    const unsigned x = i < a.size() ? static_cast<unsigned char>(a[i]) : 0;
    const unsigned y = i < b.size() ? static_cast<unsigned char>(b[i]) : 0;
    differs = differs | (x ^ y);
  }
  return differs == 0;
}

}  // namespace meshpar::inline v0::sockets
