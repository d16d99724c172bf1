// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What strangers send costs the ranks of a run nothing.
#include <meshpar/comm/store.hpp>
#include <meshpar/comm/store_server.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace mp = meshpar;
namespace net = meshpar::net;

namespace {

constexpr double guard = 60;  // seconds; no passing test waits for so long

net::descriptor stranger(const mp::store_server& server) {
  int error = 0;
  return net::try_connect(net::addresses("127.0.0.1", server.port(), false), net::after(guard), error);
}
void say(const net::descriptor& fd, std::string_view bytes) { net::send_all(fd.get(), bytes, net::after(0.1)); }

// Reads to the end of the connection: whether the server has ended it.
bool is_dropped(const net::descriptor& fd) {
  char bytes[1024];
  for (const net::instant late = net::after(guard); net::clock::now() < late;) {
    if (net::receive_some(fd.get(), bytes, sizeof bytes) < 0) return true;
    net::ready(fd.get(), POLLIN, late);
  }
  return false;
}

std::string hello(std::string_view token) {
  net::writer w;
  w.number(std::uint8_t{0}).number(1).number(2).words(token).words("a stranger");
  return net::encode(net::frame_kind::hello, 0, w.take());
}

// Garbage of several kinds: noise, whole frames of noise, true frames cut short or with bytes changed.
std::string garbage(std::mt19937& draw) {
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(draw); };
  std::string s(below(700), ' ');
  for (char& c : s) c = static_cast<char>(below(256));
  const auto kind = static_cast<net::frame_kind>(below(20));
  switch (below(5)) {
    case 0: return s;
    case 1: return net::encode(kind, 7, s.substr(0, below(600) % (s.size() + 1)));
    case 2: return hello("guess").substr(0, below(60));
    case 3: {
      std::string h = hello("guess");
      for (std::size_t i = below(4); i-- > 0;) h[below(h.size())] = static_cast<char>(below(256));
      return h;
    }
    default: {
      std::string h = net::encode(kind, 7, "");
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
      std::vector<net::descriptor> open(20);  // left hanging for a while
      for (int i = 0; i < 300 || !over; ++i) {
        net::descriptor fd = stranger(server);
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
  const net::writer none;
  for (const std::string& bytes :
       {std::string("G"), std::string("GET / HTTP/1.1\r\n\r\n"), hello("wrong"), newer, longer,
        net::encode(net::frame_kind::get, 0, ""), net::encode(net::frame_kind::hello, 0, "")}) {
    const net::descriptor fd = stranger(server);
    say(fd, bytes);
    CHECK(is_dropped(fd));
  }
}

TEST_CASE("a stranger that says little or nothing is dropped in the end, and keeps nobody waiting meanwhile") {
  mp::store_server server({.size = 1, .token = "secret"});
  const net::descriptor mute = stranger(server), slow = stranger(server);
  say(slow, hello("secret").substr(0, 20));
  mp::store s({.port = server.port(), .token = "secret", .time_out = guard});
  s.set("a", "b");
  CHECK(s.get("a") == "b");
  CHECK(is_dropped(mute));
  CHECK(is_dropped(slow));
}

TEST_CASE("of too many strangers the oldest is dropped") {
  mp::store_server server({.size = 1, .token = "secret"});
  std::vector<net::descriptor> crowd;
  for (int i = 0; i < 300; ++i) crowd.push_back(stranger(server));
  mp::store s({.port = server.port(), .token = "secret", .time_out = guard});
  s.set("a", "b");
  CHECK(is_dropped(crowd.front()));
  CHECK(net::receive_some(crowd.back().get(), crowd.size() ? &std::string(1, ' ')[0] : nullptr, 1) == 0);
}

TEST_CASE("a rank that sends what a store or a watch does not say is dropped, and counts as lost") {
  for (const net::role as : {net::role::store, net::role::watch}) {
    mp::store_server server({.size = 2, .token = "secret"});
    const mp::store_options o{.port = server.port(), .rank = 1, .size = 2, .token = "secret", .time_out = guard};
    net::link l = net::join(o, as);
    CHECK(l.send(net::encode(net::frame_kind::welcome, 0, ""), net::after(guard)));
    net::frame f;
    net::heard h;
    while ((h = l.receive(f, net::after(guard))) == net::heard::frame) continue;
    CHECK(h == net::heard::closed);
  }
}

TEST_CASE("a client that meets another program says so") {
  const net::listener other = net::listen_at("127.0.0.1", 0);
  std::string said;
  std::thread client([&] {
    try {
      mp::store s({.port = other.port, .rank = 1, .size = 2, .time_out = guard});
    } catch (const mp::comm_error& e) {
      said = e.what();
    }
  });
  net::ready(other.fd.get(), POLLIN, net::after(guard));
  const net::descriptor fd = net::accept_from(other.fd);
  say(fd, "HTTP/1.1 400 Bad Request\r\n\r\n");
  client.join();
  CHECK(said == "rank 1: rank 0's store at 127.0.0.1:" + std::to_string(other.port) +
                    " is another program, or another version of meshpar; set MASTER_PORT to that of rank 0");
}

TEST_CASE("frames: what is written is read, whole or in pieces") {
  std::mt19937 draw(1);
  std::string all;
  for (std::uint32_t i = 0; i < 50; ++i) all += net::encode(net::frame_kind::set, i, std::string(draw() % 400, 'x'));
  net::inbox in;
  std::uint32_t next = 0;
  for (std::string_view left = all; !left.empty();) {
    const std::size_t piece = std::min<std::size_t>(1 + draw() % 100, left.size());
    in.add(left.substr(0, piece));
    left.remove_prefix(piece);
    for (net::frame f; in.next(f) == net::inbox::state::frame;) CHECK(f.tag == next++);
  }
  CHECK(next == 50);
}

TEST_CASE("readers end at the end, whatever a length says") {
  net::reader r("\xff\xff\xff\xff words");
  CHECK(r.words(net::body_limit).empty());
  CHECK(!r.whole());
  CHECK(r.number<int>() == 0);
  net::reader beyond(std::string_view("\x05\0\0\0abc", 7));
  CHECK(beyond.words(net::body_limit).empty());
  CHECK(!beyond.whole());
}

TEST_CASE("tokens are the same when they are the same") {
  CHECK(net::same_token("", ""));
  CHECK(net::same_token("secret", "secret"));
  CHECK(!net::same_token("secret", "secreT"));
  CHECK(!net::same_token("secret", "secret1"));
  CHECK(!net::same_token("secret", std::string_view("secret\0", 7)));
  CHECK(!net::same_token(std::string(129, 'a'), std::string(129, 'a')));
}
