// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/store/frame.hpp>
#include <meshpar/comm/store/socket.hpp>
#include <meshpar/comm/words.hpp>

#include <thread>

namespace meshpar::inline v0 {

// A rank, and where rank 0's store is.
struct store_options {
  std::string address = "127.0.0.1";
  int port = 0;
  int rank = 0, size = 1;
  std::string token{};   // the same on all ranks; it travels unencrypted
  double time_out = 30;  // seconds that one call may wait
};

}  // namespace meshpar::inline v0

namespace meshpar::inline v0::sockets {

enum class role : std::uint8_t { store, watch };

enum class heard { frame, late, closed, garbage };

// One connection to the server, which has welcomed it.
class link {
 public:
  link() = default;
  explicit link(descriptor fd) : fd_(std::move(fd)) { in_.limit(body_limit); }

  int fd() const { return fd_.get(); }
  bool send(std::string_view bytes, instant deadline) { return send_all(fd_.get(), bytes, deadline); }
  heard receive(frame& f, instant deadline) {
    for (;;) {
      const inbox::state s = in_.next(f);
      if (s != inbox::state::waiting) return s == inbox::state::frame ? heard::frame : heard::garbage;
      char bytes[16384];
      const long n = receive_some(fd_.get(), bytes, sizeof bytes);
      if (n < 0) return heard::closed;
      if (n > 0) in_.add({bytes, static_cast<std::size_t>(n)});
      else if (!ready(fd_.get(), POLLIN, deadline)) return heard::late;
    }
  }

 private:
  descriptor fd_;
  inbox in_;
};

// pid 812 on node3
inline std::string process_words() {
  char host[65] = "";
  ::gethostname(host, sizeof host - 1);
  return "pid " + std::to_string(::getpid()) + " on " + host;
}

inline std::string rank_prefix(const store_options& o) { return "rank " + std::to_string(o.rank) + ": "; }

// Tries until the time is over, for rank 0 may start later than the others. What cannot mend is refused at once.
inline link join(const store_options& o, role as) {
  const instant deadline = after(o.time_out);
  const auto fail = [&](const std::string& why) { return comm_error(rank_prefix(o) + why); };
  const std::string where = "rank 0's store at " + at_text(o.address, o.port);
  if (o.token.size() > token_limit)
    throw fail("the token has " + std::to_string(o.token.size()) + " characters; give at most " +
               std::to_string(token_limit));
  writer hello;
  hello.number(static_cast<std::uint8_t>(as)).number(o.rank).number(o.size).words(o.token).words(process_words());
  const std::string bytes = encode(frame_kind::hello, 0, hello.take());

  std::string why = "nobody answers";
  for (auto nap = std::chrono::milliseconds(5);; nap = std::min(nap * 2, std::chrono::milliseconds(500))) {
    const addresses found(o.address, o.port);
    if (found.unknown())
      throw fail("does not know the host '" + o.address + "' (" + found.why() + "); set MASTER_ADDR to that of rank 0");
    int error = 0;
    if (descriptor fd = try_connect(found, deadline, error); fd) {
      link made(std::move(fd));
      frame f;
      const heard h = made.send(bytes, deadline) ? made.receive(f, deadline) : heard::closed;
      if (h == heard::frame && f.kind == frame_kind::welcome) return made;
      if (h == heard::frame && f.kind == frame_kind::refused) throw fail(where + " refuses this process: " + f.body);
      if (h == heard::frame || h == heard::garbage)
        throw fail(where + " is another program, or another version of meshpar; set MASTER_PORT to that of rank 0");
      why = h == heard::late ? "who listens there does not answer" : "who listens there closes the connection";
    } else {
      why = found.first() ? std::strerror(error) : found.why();
    }
    if (clock::now() + nap >= deadline)
      throw fail("no way to " + where + " within " + seconds_words(o.time_out) + " (" + why +
                 "); is rank 0 running there, and are MASTER_ADDR and MASTER_PORT right?");
    std::this_thread::sleep_for(nap);
  }
}

}  // namespace meshpar::inline v0::sockets
