// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/store/join.hpp>

namespace meshpar::inline v0::sockets {

// One client as the server sees it. Nothing here waits.
struct server_connection {
  static constexpr std::size_t out_limit = 4 * body_limit;  // for one that does not read

  descriptor fd;
  inbox in{};
  std::string out{};
  instant since = clock::now();
  int rank = -1;  // -1: a stranger
  role as = role::store;
  std::string who{};
  short events = 0;  // of the last poll()
  bool goodbye = false;
  bool over = false;  // to be closed once `out` has gone

  bool is(int r, role a) const { return rank == r && as == a && !over; }

  void drop() {
    over = true;
    out.clear();
  }
  void flush() {
    if (out.empty()) return;
    const long n = send_some(fd.get(), out);
    if (n < 0 || out.size() > out_limit) drop();
    else out.erase(0, static_cast<std::size_t>(n));
  }
  // take(frame) for each frame that has come; what it refuses, and garbage, ends the connection.
  template <class Take>
  void receive(Take take) {
    char bytes[16384];
    for (int turn = 0; turn < 16 && !over; ++turn) {  // then others have theirs
      const long n = receive_some(fd.get(), bytes, rank < 0 ? stranger_limit : sizeof bytes);
      if (n == 0) return;
      if (n < 0) return drop();
      in.add({bytes, static_cast<std::size_t>(n)});
      for (frame f; !over;) {
        const inbox::state s = in.next(f);
        if (s == inbox::state::waiting) break;
        if (s == inbox::state::garbage || !take(f)) over = true;
      }
    }
  }
};

inline std::string printable(std::string_view words) {
  std::string s;
  for (const char c : words) s += c >= ' ' && c <= '~' ? c : '?';
  return s;
}

}  // namespace meshpar::inline v0::sockets
