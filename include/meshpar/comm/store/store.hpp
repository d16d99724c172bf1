// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/store/join.hpp>

namespace meshpar::inline v0 {

// Small values that the ranks of a run tell each other before they can talk otherwise. Every call ends within
// options.time_out and a little, or throws comm_error: one line that starts with this rank. For one thread.
class store {
 public:
  explicit store(store_options options)
      : options_(std::move(options)), link_(sockets::join(options_, sockets::role::store)) {}
  store(store&&) = default;
  ~store() {
    if (link_.fd() >= 0) link_.send(sockets::encode(sockets::frame_kind::goodbye, 0, ""), sockets::after(1));
  }

  int rank() const { return options_.rank; }
  int size() const { return options_.size; }

  // A key has one value for the whole run.
  void set(std::string_view key, std::string_view value) {
    if (value.size() > sockets::value_limit)
      throw refusal("value of '" + std::string(key) + "' has " + std::to_string(value.size()) + " bytes; at most " +
                    std::to_string(sockets::value_limit) + " fit");
    sockets::writer w;
    w.words(checked(key)).words(value);
    request(sockets::frame_kind::set, w);
  }
  // Waits until some rank has set it.
  std::string get(std::string_view key) { return request(sockets::frame_kind::get, waiting(key)); }
  // Waits until all ranks are in the barrier of this name.
  void barrier(std::string_view name) { request(sockets::frame_kind::barrier, waiting(name)); }

 private:
  comm_error refusal(const std::string& why) const { return comm_error(sockets::rank_prefix(options_) + why); }
  std::string_view checked(std::string_view key) const {
    if (key.size() > sockets::key_limit)
      throw refusal("a key has at most " + std::to_string(sockets::key_limit) + " characters");
    return key;
  }
  sockets::writer waiting(std::string_view key) const {
    sockets::writer w;
    w.number(static_cast<std::int64_t>(std::min(options_.time_out, 1e9) * 1000)).words(checked(key));
    return w;
  }

  // The server tells who is missing when the time is over; that it says nothing at all takes a little longer.
  std::string request(sockets::frame_kind kind, sockets::writer w) {
    static constexpr double grace = 5;
    const sockets::instant deadline = sockets::after(options_.time_out + grace);
    if (!link_.send(sockets::encode(kind, ++tag_, w.take()), deadline)) throw refusal(gone);
    for (sockets::frame f;;) {
      switch (link_.receive(f, deadline)) {
        case sockets::heard::late:
          throw refusal("rank 0's store has not answered for " + seconds_words(options_.time_out + grace) +
                        ": it was stopped");
        case sockets::heard::closed: throw refusal(gone);
        case sockets::heard::garbage: throw refusal("rank 0's store answers with garbage");
        case sockets::heard::frame: break;
      }
      if (f.tag != tag_) continue;
      if (f.kind == sockets::frame_kind::answer) return std::move(f.body);
      throw refusal(f.body);
    }
  }

  static constexpr const char* gone = "rank 0's store closed the connection: rank 0 was killed or exited";

  store_options options_;
  sockets::link link_;
  std::uint32_t tag_ = 0;
};

}  // namespace meshpar::inline v0
