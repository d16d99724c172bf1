// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/store/connection.hpp>
#include <meshpar/comm/store/table.hpp>
#include <meshpar/comm/store/wake.hpp>
#include <meshpar/comm/watch/roll.hpp>

#include <atomic>
#include <list>

namespace meshpar::inline v0 {

struct store_server_options {
  std::string address = "127.0.0.1";  // of this machine; "": all of its addresses
  int port = 0;                       // 0: any; port() tells which
  int size = 1;                       // ranks of the run
  std::string token{};
  double join_time_out = 30;  // seconds from the first watch of a rank to the last one's
  double heartbeat = 0.5;     // seconds from one sign of life to the next
  double time_out = 10;       // seconds of silence after which a rank counts as stopped
};

}  // namespace meshpar::inline v0

namespace meshpar::inline v0::sockets {

// All connections of the server in one thread, none of which can make it wait. Who has not joined yet is a stranger:
// it may say stranger_limit bytes in stranger_time, and the oldest of too many is dropped.
class server_loop {
 public:
  server_loop(const store_server_options& options, const descriptor& listening)
      : options_(options),
        listening_(listening),
        table_(options.size),
        roll_(options.size, options.join_time_out, options.time_out) {}

  void stop() {
    stopping_ = true;
    wake_.ring();
  }
  int watched() const { return watched_; }

  void run() {
    for (instant last = clock::now(); !stopping_;) {
      poll_all();
      const instant now = clock::now();
      roll_.slept(std::chrono::duration<double>(now - last).count(), now);
      last = now;
      for (connection& c : connections_)
        if (c.events & (POLLIN | POLLHUP | POLLERR)) receive(c);
      accept_all();
      table_.expire(now);
      send_replies();
      for (connection& c : connections_) c.flush();
      drop_closed(now);
      watch_over(now);
    }
    const instant deadline = after(1);
    for (connection& c : connections_)
      if (c.rank >= 0) send_all(c.fd.get(), c.out, deadline);
  }

 private:
  static constexpr double stranger_time = 5;
  static constexpr std::size_t strangers_at_once = 256;
  using connection = server_connection;

  void poll_all() {
    polled_.clear();
    polled_.push_back({wake_.fd(), POLLIN, 0});
    polled_.push_back({clock::now() < resting_ ? -1 : listening_.get(), POLLIN, 0});
    for (const connection& c : connections_)
      polled_.push_back({c.fd.get(), static_cast<short>((c.over ? 0 : POLLIN) | (c.out.empty() ? 0 : POLLOUT)), 0});
    const bool busy = strangers_ > 0 || table_.somebody_waits() || roll_.suspects() || clock::now() < resting_;
    if (::poll(polled_.data(), polled_.size(), milliseconds_to(after(busy ? 0.05 : options_.heartbeat / 2))) < 0)
      for (pollfd& p : polled_) p.revents = 0;
    wake_.quiet();
    auto p = polled_.begin() + 2;
    for (connection& c : connections_) c.events = (p++)->revents;
  }

  void accept_all() {
    if (!(polled_[1].revents & POLLIN)) return;
    for (int i = 0; i < 64; ++i) {
      descriptor made = accept_from(listening_);
      if (!made) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) resting_ = after(0.1);
        return;
      }
      connections_.emplace_back().fd = std::move(made);
      if (++strangers_ > strangers_at_once) drop_oldest_stranger();
    }
  }
  void drop_oldest_stranger() {
    for (auto c = connections_.begin(); c != connections_.end(); ++c)
      if (c->rank < 0) {
        connections_.erase(c);
        --strangers_;
        return;
      }
  }

  void receive(connection& c) {
    c.receive([&](const frame& f) { return c.rank < 0 ? meet(c, f) : c.as == role::store ? serve(c, f) : hear(c, f); });
    if (c.over && c.events & (POLLHUP | POLLERR)) c.drop();
  }

  bool meet(connection& c, const frame& f) {
    if (f.kind != frame_kind::hello) return false;
    reader r(f.body);
    const auto as = r.number<std::uint8_t>();
    const int rank = r.number<int>(), size = r.number<int>();
    const std::string_view token = r.words(token_limit), who = r.words(128);
    if (!r.ends() || as > 1) return false;
    const std::string me = "rank " + std::to_string(rank);
    if (!same_token(token, options_.token)) return refuse(c, "a wrong token; give all ranks the same MESHPAR_TOKEN");
    if (size != options_.size)
      return refuse(c, me + " was started for " + std::to_string(size) + " ranks, rank 0 for " +
                           std::to_string(options_.size) + "; start all for the same number");
    if (rank < 0 || rank >= size) return refuse(c, me + " is no rank of " + std::to_string(size));
    for (connection& other : connections_) {
      if (!other.is(rank, static_cast<role>(as))) continue;
      receive(other);  // its goodbye may have come since the last poll
      if (!other.over && !other.goodbye)
        return refuse(
            c, me + " came twice: " + other.who + ", and " + printable(who) + "; give each process its own rank");
      leave(other);
    }
    c.rank = rank;
    c.as = static_cast<role>(as);
    c.who = printable(who);
    c.in.limit(body_limit);
    --strangers_;
    c.out += encode(frame_kind::welcome, 0, "");
    if (c.as == role::store) return table_.joined(rank), true;
    ++watched_;
    roll_.joined(rank, clock::now());
    if (roll_.ended()) c.out += encode(frame_kind::end_of_run, 0, encode(roll_.end()));
    return true;
  }
  bool refuse(connection& c, const std::string& why) {
    table_.refused(why);
    c.out += encode(frame_kind::refused, 0, why);
    return false;
  }

  bool serve(connection& c, const frame& f) {
    reader r(f.body);
    if (f.kind == frame_kind::goodbye) return c.goodbye = true;
    if (f.kind == frame_kind::set) {
      const std::string_view key = r.words(key_limit), value = r.words(value_limit);
      if (!r.ends()) return false;
      return table_.set(c.rank, f.tag, key, value), true;
    }
    if (f.kind != frame_kind::get && f.kind != frame_kind::barrier) return false;
    const double wait = static_cast<double>(std::clamp<std::int64_t>(r.number<std::int64_t>(), 0, 1000000000)) / 1000;
    const std::string_view key = r.words(key_limit);
    if (!r.ends()) return false;
    f.kind == frame_kind::get ? table_.get(c.rank, f.tag, key, wait) : table_.barrier(c.rank, f.tag, key, wait);
    return true;
  }

  bool hear(connection& c, const frame& f) {
    reader r(f.body);
    switch (f.kind) {
      case frame_kind::beat: {
        const activity a = read_activity(r);
        if (r.ends()) roll_.beat(c.rank, a, clock::now());
        if (c.rank == 0) next_beat_ = {};  // the others hear what rank 0 does
        return r.ends();
      }
      case frame_kind::goodbye: return c.goodbye = true, roll_.goodbye(c.rank), true;
      case frame_kind::terminated: return roll_.terminated(c.rank, clock::now()), true;
      case frame_kind::failed: return roll_.failed(c.rank, printable(f.body), clock::now()), true;
      default: return false;
    }
  }

  void send_replies() {
    for (const reply& a : table_.take_replies())
      for (connection& c : connections_)
        if (c.is(a.rank, role::store)) c.out += encode(a.kind, a.tag, a.body);
  }

  void watch_over(instant now) {
    if (watched_ == 0 && !roll_.suspects()) return;
    if (roll_.judge(now)) return tell_all(frame_kind::end_of_run, encode(roll_.end()));
    if (roll_.all_done() && !done_) return done_ = true, tell_all(frame_kind::all_done, "");
    if (now < next_beat_) return;
    next_beat_ = now + seconds(options_.heartbeat);
    writer w;
    write(w, roll_.last(0));
    tell_all(frame_kind::beat, w.take());
  }
  // Rank 0 last: when it hears the end, all others have been told.
  void tell_all(frame_kind kind, const std::string& body) {
    const std::string bytes = encode(kind, 0, body);
    for (const bool first : {false, true})
      for (connection& c : connections_)
        if (c.is(c.rank, role::watch) && c.rank >= 0 && (c.rank == 0) == first) {
          c.out += bytes;
          c.flush();
        }
  }

  // From here on it is nobody's.
  void leave(connection& c) {
    c.drop();
    if (c.rank < 0) return;
    if (c.as == role::store) table_.left(c.rank, c.goodbye);
    else --watched_, roll_.closed(c.rank);
    c.rank = -1;
    ++strangers_;
  }
  void drop_closed(instant now) {
    for (auto c = connections_.begin(); c != connections_.end();) {
      const bool late = now > c->since + seconds(stranger_time);
      if (c->rank < 0 && late) c->drop();
      if (!c->over || !(c->out.empty() || late)) {
        ++c;
        continue;
      }
      leave(*c);
      --strangers_;
      c = connections_.erase(c);
    }
    send_replies();
  }

  store_server_options options_;
  const descriptor& listening_;
  wake wake_;
  std::atomic<bool> stopping_{false};
  std::atomic<int> watched_{0};
  std::list<connection> connections_;
  std::vector<pollfd> polled_;
  std::size_t strangers_ = 0;
  store_table table_;
  watch_roll roll_;
  instant next_beat_{}, resting_{};
  bool done_ = false;
};

}  // namespace meshpar::inline v0::sockets
