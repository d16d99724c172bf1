// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What strangers send costs the ranks of a run nothing.
#include <meshpar/comm/store/server.hpp>
#include <meshpar/comm/store/store.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace mp = meshpar;
namespace sockets = meshpar::sockets;

namespace {

constexpr double guard = 60;  // seconds; no passing test waits for so long

sockets::descriptor stranger(const mp::store_server& server) {
  int error = 0;
  return sockets::try_connect(sockets::addresses("127.0.0.1", server.port()), sockets::after(guard), error);
}
void say(const sockets::descriptor& fd, std::string_view bytes) {
  sockets::send_all(fd.get(), bytes, sockets::after(0.1));
}

void say_all(sockets::link& l, const std::vector<std::string>& frames) {
  for (const std::string& f : frames) CHECK(l.send(f, sockets::after(guard)));
}

// Reads to the end of the connection: whether the server has ended it.
bool is_dropped(const sockets::descriptor& fd) {
  char bytes[1024];
  for (const sockets::instant late = sockets::after(guard); sockets::clock::now() < late;) {
    if (sockets::receive_some(fd.get(), bytes, sizeof bytes) < 0) return true;
    sockets::ready(fd.get(), POLLIN, late);
  }
  return false;
}

std::string hello(std::string_view token) {
  sockets::writer w;
  w.number(std::uint8_t{0}).number(1).number(2).words(token).words("a stranger");
  return sockets::encode(sockets::frame_kind::hello, 0, w.take());
}

// Garbage of several kinds: noise, whole frames of noise, true frames cut short or with bytes changed.
std::string garbage(std::mt19937& draw) {
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(draw); };
  std::string s(below(700), ' ');
  for (char& c : s) c = static_cast<char>(below(256));
  const auto kind = static_cast<sockets::frame_kind>(below(20));
  switch (below(5)) {
    case 0: return s;
    case 1: return sockets::encode(kind, 7, s.substr(0, below(600) % (s.size() + 1)));
    case 2: return hello("guess").substr(0, below(60));
    case 3: {
      std::string h = hello("guess");
      for (std::size_t i = below(4); i-- > 0;) h[below(h.size())] = static_cast<char>(below(256));
      return h;
    }
    default: {
      std::string h = sockets::encode(kind, 7, "");
      for (std::size_t i = 12; i < 16; ++i) h[i] = static_cast<char>(below(256));  // a length of anything
      return h + s;
    }
  }
}

}  // namespace

TEST_CASE("clients work on while strangers send garbage") {
  mp::store_server server({.size = 2, .token = "secret"});
  std::atomic<bool> over{false};
  std::vector<std::thread> strangers;
  for (unsigned seed = 0; seed < 2; ++seed)
    strangers.emplace_back([&, seed] {
      std::mt19937 draw(seed);
      std::vector<sockets::descriptor> open(20);  // left hanging for a while
      for (int i = 0; i < 300 || !over; ++i) {
        sockets::descriptor fd = stranger(server);
        if (!fd) continue;
        say(fd, garbage(draw));
        if (i % 3 == 0) open[static_cast<std::size_t>(i / 3) % open.size()] = std::move(fd);
      }
    });
  std::vector<std::thread> ranks;
  std::vector<std::string> said(2);
  for (int rank = 0; rank < 2; ++rank)
    ranks.emplace_back([&, rank] {
      try {
        for (int i = 0; i < 10; ++i) {
          mp::store s({.port = server.port(), .rank = rank, .size = 2, .token = "secret", .time_out = guard});
          for (int j = 0; j < 10; ++j) {
            const std::string key = std::to_string(i) + " " + std::to_string(j);
            if (rank == j % 2) s.set(key, key);
            if (s.get(key) != key) said[static_cast<std::size_t>(rank)] = "another value";
            s.barrier("b");
          }
          s.barrier("again");
        }
      } catch (const std::exception& e) {
        said[static_cast<std::size_t>(rank)] = e.what();
      }
    });
  for (std::thread& t : ranks) t.join();
  over = true;
  for (std::thread& t : strangers) t.join();
  for (const std::string& s : said) CHECK(s == "");
}

TEST_CASE("a stranger is dropped at the first wrong byte, at a wrong token, and at a frame that is too long") {
  mp::store_server server({.size = 2, .token = "secret"});
  std::string newer = hello("secret"), longer = hello("secret");
  newer[4] = 2;
  longer[12] = 1, longer[13] = 2;  // 513 bytes
  const sockets::writer none;
  for (const std::string& bytes :
       {std::string("G"), std::string("GET / HTTP/1.1\r\n\r\n"), hello("wrong"), newer, longer,
        sockets::encode(sockets::frame_kind::get, 0, ""), sockets::encode(sockets::frame_kind::hello, 0, "")}) {
    const sockets::descriptor fd = stranger(server);
    say(fd, bytes);
    CHECK(is_dropped(fd));
  }
}

TEST_CASE("a stranger that says little or nothing is dropped in the end, and keeps nobody waiting meanwhile") {
  mp::store_server server({.size = 1, .token = "secret"});
  const sockets::descriptor mute = stranger(server), slow = stranger(server);
  say(slow, hello("secret").substr(0, 20));
  mp::store s({.port = server.port(), .token = "secret", .time_out = guard});
  s.set("a", "b");
  CHECK(s.get("a") == "b");
  CHECK(is_dropped(mute));
  CHECK(is_dropped(slow));
}

TEST_CASE("of too many strangers the oldest is dropped") {
  mp::store_server server({.size = 1, .token = "secret"});
  std::vector<sockets::descriptor> crowd;
  for (int i = 0; i < 300; ++i) crowd.push_back(stranger(server));
  mp::store s({.port = server.port(), .token = "secret", .time_out = guard});
  s.set("a", "b");
  CHECK(is_dropped(crowd.front()));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));  // were it age alone, all would be dropped by now
  const sockets::descriptor& last = crowd.back();               // may still say who it is
  say(last, hello("wrong"));
  char kind[8]{};
  CHECK(sockets::ready(last.get(), POLLIN, sockets::after(guard)));
  CHECK(sockets::receive_some(last.get(), kind, sizeof kind) == sizeof kind);
  CHECK(kind[6] == static_cast<char>(sockets::frame_kind::refused));
}

TEST_CASE("a rank that sends what a store or a watch does not say is dropped, and counts as lost") {
  for (const sockets::role as : {sockets::role::store, sockets::role::watch}) {
    mp::store_server server({.size = 2, .token = "secret"});
    const mp::store_options o{.port = server.port(), .rank = 1, .size = 2, .token = "secret", .time_out = guard};
    sockets::link l = sockets::join(o, as);
    CHECK(l.send(sockets::encode(sockets::frame_kind::welcome, 0, ""), sockets::after(guard)));
    sockets::frame f;
    sockets::heard h;
    while ((h = l.receive(f, sockets::after(guard))) == sockets::heard::frame) continue;
    CHECK(h == sockets::heard::closed);
  }
}

TEST_CASE("a client that meets another program says so") {
  const sockets::listener other = sockets::listen_at("127.0.0.1", 0);
  std::string said;
  std::thread client([&] {
    try {
      mp::store s({.port = other.port, .rank = 1, .size = 2, .time_out = guard});
    } catch (const mp::comm_error& e) {
      said = e.what();
    }
  });
  sockets::ready(other.fd.get(), POLLIN, sockets::after(guard));
  const sockets::descriptor fd = sockets::accept_from(other.fd);
  say(fd, "HTTP/1.1 400 Bad Request\r\n\r\n");
  client.join();
  CHECK(said == "rank 1: rank 0's store at 127.0.0.1:" + std::to_string(other.port) +
                    " is another program, or another version of meshpar; set MASTER_PORT to that of rank 0");
}

TEST_CASE("an answer to an earlier request is passed over") {
  const sockets::listener other = sockets::listen_at("127.0.0.1", 0);
  std::string got;
  std::thread client([&] { got = mp::store({.port = other.port, .time_out = guard}).get("key"); });
  sockets::ready(other.fd.get(), POLLIN, sockets::after(guard));
  sockets::link l(sockets::accept_from(other.fd));
  sockets::frame f;
  CHECK(l.receive(f, sockets::after(guard)) == sockets::heard::frame);
  say_all(l, {sockets::encode(sockets::frame_kind::welcome, 0, "")});
  CHECK(l.receive(f, sockets::after(guard)) == sockets::heard::frame);
  CHECK(f.kind == sockets::frame_kind::get);
  say_all(l, {sockets::encode(sockets::frame_kind::failure, f.tag - 1, "late"),
              sockets::encode(sockets::frame_kind::answer, f.tag, "value")});
  client.join();
  CHECK(got == "value");
}

TEST_CASE("frames: what is written is read, whole or in pieces") {
  std::mt19937 draw(1);
  std::string all;
  for (std::uint32_t i = 0; i < 50; ++i)
    all += sockets::encode(sockets::frame_kind::set, i, std::string(draw() % 400, 'x'));
  sockets::inbox in;
  std::uint32_t next = 0;
  for (std::string_view left = all; !left.empty();) {
    const std::size_t piece = std::min<std::size_t>(1 + draw() % 100, left.size());
    in.add(left.substr(0, piece));
    left.remove_prefix(piece);
    for (sockets::frame f; in.next(f) == sockets::inbox::state::frame;) CHECK(f.tag == next++);
  }
  CHECK(next == 50);
}

TEST_CASE("an inbox knows garbage at once, and waits for the rest of what may be a frame") {
  const auto state = [](std::string_view bytes) {
    sockets::inbox in;
    in.add(bytes);
    sockets::frame f;
    return in.next(f);
  };
  const std::string longest = sockets::encode(sockets::frame_kind::hello, 0, std::string(sockets::stranger_limit, 'x'));
  for (std::size_t n = 0; n < longest.size(); ++n)
    CHECK(state(std::string_view(longest).substr(0, n)) == sockets::inbox::state::waiting);
  CHECK(state(longest) == sockets::inbox::state::frame);
  const std::string longer =
      sockets::encode(sockets::frame_kind::hello, 0, std::string(sockets::stranger_limit + 1, 'x'));
  CHECK(state(longer.substr(0, sockets::header_bytes)) == sockets::inbox::state::garbage);
  CHECK(state("G") == sockets::inbox::state::garbage);
  CHECK(state("MSPX") == sockets::inbox::state::garbage);
  CHECK(state(sockets::encode(sockets::frame_kind{sockets::frame_kinds}, 0, "")) == sockets::inbox::state::garbage);
  CHECK(state(sockets::encode(sockets::frame_kind::none, 0, "")) == sockets::inbox::state::garbage);
}

TEST_CASE("readers end at the end, whatever a length says") {
  sockets::reader r("\xff\xff\xff\xff words");
  CHECK(r.words(sockets::body_limit).empty());
  CHECK(!r.whole());
  CHECK(r.number<int>() == 0);
  sockets::reader beyond(std::string_view("\x05\0\0\0abc", 7));
  CHECK(beyond.words(sockets::body_limit).empty());
  CHECK(!beyond.whole());
}

TEST_CASE("tokens are the same when they are the same") {
  CHECK(sockets::same_token("", ""));
  CHECK(sockets::same_token("secret", "secret"));
  CHECK(!sockets::same_token("secret", "secreT"));
  CHECK(!sockets::same_token("secret", "secret1"));
  CHECK(!sockets::same_token("secret", std::string_view("secret\0", 7)));
  CHECK(!sockets::same_token(std::string(129, 'a'), std::string(129, 'a')));
}
