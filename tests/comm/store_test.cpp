// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/comm/store/server.hpp>
#include <meshpar/comm/store/store.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace mp = meshpar;

namespace {

constexpr double guard = 60;  // seconds; no passing test waits for so long

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

mp::store_options at(const mp::store_server& server, int rank, int size, double time_out = guard) {
  return {.port = server.port(), .rank = rank, .size = size, .token = "secret", .time_out = time_out};
}

template <class F>
std::string failure(F body) {
  try {
    body();
  } catch (const mp::comm_error& e) {
    return e.what();
  }
  return "no failure";
}

// fn(rank) for each rank on its own thread; what each throws.
template <class F>
std::vector<std::string> on_ranks(const std::vector<int>& ranks, F fn) {
  std::vector<std::string> said(ranks.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    threads.emplace_back([&, i] { said[i] = failure([&] { fn(ranks[i]); }); });
  for (std::thread& t : threads) t.join();
  return said;
}

// A port where nobody listens: it was free a moment ago.
int free_port() { return mp::sockets::listen_at("127.0.0.1", 0).port; }

}  // namespace

TEST_CASE("ranks tell each other values of any bytes") {
  mp::store_server server({.size = 4, .token = "secret"});
  const std::string id("\0\1\377 id", 6), large(mp::sockets::value_limit, 'x');
  for (const std::string& said : on_ranks({0, 1, 2, 3}, [&](int rank) {
         mp::store s(at(server, rank, 4));
         if (rank == 2) s.set("id", id), s.set("large", large), s.set("empty", "");
         CHECK(s.get("id") == id);
         CHECK(s.get("large") == large);
         CHECK(s.get("empty").empty());
         s.set("from " + std::to_string(rank), std::to_string(rank));
         for (int r = 0; r < 4; ++r) CHECK(s.get("from " + std::to_string(r)) == std::to_string(r));
         for (int i = 0; i < 10; ++i) s.barrier("step");
       }))
    CHECK(said == "no failure");
}

TEST_CASE("nobody leaves a barrier before all are in it") {
  mp::store_server server({.size = 3, .token = "secret"});
  std::atomic<int> in{0};
  for (const std::string& said : on_ranks({0, 1, 2}, [&](int rank) {
         mp::store s(at(server, rank, 3));
         for (int i = 1; i <= 20; ++i) {
           ++in;
           s.barrier("b");
           CHECK(in >= 3 * i);
           s.barrier("c");
         }
       }))
    CHECK(said == "no failure");
}

TEST_CASE("IPv6, and a host by its name") {
  mp::store_server six({.address = "::1", .size = 1});
  mp::store({.address = "::1", .port = six.port(), .time_out = guard}).set("a", "b");
  mp::store_server any({.address = "", .size = 1});
  for (const char* host : {"localhost", "127.0.0.1", "::1"})
    mp::store({.address = host, .port = any.port(), .time_out = guard}).set("a", "b");
}

TEST_CASE("a time-out without end is one of many years") {
  mp::store_server server({.size = 1, .token = "secret"});
  mp::store s(at(server, 0, 1, std::numeric_limits<double>::infinity()));
  s.set("a", "b");
  CHECK(s.get("a") == "b");
  s.barrier("c");
}

TEST_CASE("a client that is connected with itself is not connected") {
  namespace sockets = mp::sockets;
  const sockets::listener there = sockets::listen_at("127.0.0.1", 0);
  const sockets::addresses to("127.0.0.1", there.port);
  int error = -1;
  const sockets::descriptor good = sockets::try_connect(to, sockets::after(guard), error);
  CHECK(error == 0);
  CHECK_FALSE(sockets::with_itself(good));

  const sockets::addresses own("127.0.0.1", free_port());
  const sockets::descriptor fd = sockets::open_for(*own.first());
  REQUIRE(::bind(fd.get(), own.first()->ai_addr, own.first()->ai_addrlen) == 0);
  ::connect(fd.get(), own.first()->ai_addr, own.first()->ai_addrlen);
  REQUIRE(sockets::ready(fd.get(), POLLOUT, sockets::after(guard)));
  CHECK(sockets::with_itself(fd));
}

TEST_CASE("a value for which there is no room takes none") {
  mp::sockets::store_table table(1);
  const auto set = [&](const char* key, std::size_t mib) {
    table.set(0, 0, key, std::string(mib << 20, 'x'));
    return table.take_replies().front();
  };
  CHECK(set("a", 60).kind == mp::sockets::frame_kind::answer);
  CHECK(set("b", 10).body == "the store is full: it takes small values, 67108864 bytes in all");
  CHECK(set("c", 1).kind == mp::sockets::frame_kind::answer);
}

TEST_CASE("who is missing is named") {
  mp::store_server server({.size = 8, .token = "secret"});
  for (const std::string& said : on_ranks({0, 1, 3, 4, 6, 7}, [&](int rank) {
         mp::store s(at(server, rank, 8, 1));
         s.barrier("start");
       }))
    CHECK(contains(said,
                   ": ranks 2 and 5 of 8 did not come to barrier 'start' within 1.0 s; ranks 2 and 5 never reached "
                   "rank 0's store"));
}

TEST_CASE("a key that nobody sets is named") {
  mp::store_server server({.size = 2, .token = "secret"});
  CHECK(failure([&] { mp::store(at(server, 1, 2, 0.2)).get("nccl id"); }) ==
        "rank 1: no rank set 'nccl id' within 0.2 s; rank 0 never reached rank 0's store");
}

TEST_CASE("after a time-out the store goes on") {
  mp::store_server server({.size = 1, .token = "secret"});
  mp::store s(at(server, 0, 1, 0.1));
  CHECK(contains(failure([&] { s.get("a"); }), "no rank set 'a'"));
  s.set("b", "2");
  CHECK(s.get("b") == "2");
}

TEST_CASE("a key has one value") {
  mp::store_server server({.size = 2, .token = "secret"});
  mp::store a(at(server, 0, 2)), b(at(server, 1, 2));
  a.set("k", "v");
  b.set("k", "v");
  CHECK(failure([&] { b.set("k", "w"); }) == "rank 1: rank 0 has already set 'k' to another value");
  CHECK(contains(failure([&] { b.set(std::string(257, 'k'), "w"); }), "a key has at most 256 characters"));
  CHECK(contains(failure([&] { b.set("k", std::string(mp::sockets::value_limit + 1, 'v')); }), "at most 1048576 fit"));
}

TEST_CASE("who cannot be a rank of this run is refused and told why") {
  mp::store_server server({.size = 4, .token = "secret"});
  const auto refusal = [&](mp::store_options o) { return failure([&] { mp::store s(o); }); };
  mp::store first(at(server, 3, 4));
  const std::string twice = refusal(at(server, 3, 4));
  CHECK(contains(twice, "rank 3: rank 0's store at 127.0.0.1:"));
  CHECK(contains(twice, " refuses this process: rank 3 came twice: pid "));
  CHECK(contains(twice, "; give each process its own rank"));
  CHECK(contains(refusal(at(server, 1, 8)),
                 "rank 1 was started for 8 ranks, rank 0 for 4; start all for the same number"));
  CHECK(contains(refusal(at(server, 4, 4)), "rank 4 is no rank of 4"));
  mp::store_options wrong = at(server, 2, 4);
  for (const char* token : {"Secret", "secret ", "secre", ""}) {
    wrong.token = token;
    CHECK(contains(refusal(wrong), "a wrong token; give all ranks the same MESHPAR_TOKEN"));
  }
  wrong.token = std::string(129, 't');
  CHECK(contains(refusal(wrong), "the token has 129 characters; give at most 128"));
  first.set("still", "here");
  mp::store_options patient = at(server, 0, 4, 0.2);
  CHECK(contains(failure([&] { mp::store(patient).barrier("b"); }),
                 "; refused there: 7, the last because a wrong token"));
}

TEST_CASE("a rank may come again after a goodbye") {
  mp::store_server server({.size = 1, .token = "secret"});
  for (int i = 0; i < 200; ++i) mp::store(at(server, 0, 1)).set(std::to_string(i), "");
}

TEST_CASE("an address that does not lead to rank 0 is named") {
  const int port = free_port();
  const auto refusal = [&](const std::string& host, int to) {
    return failure([&] { mp::store s({.address = host, .port = to, .rank = 1, .size = 2, .time_out = 0.2}); });
  };
  CHECK(refusal("127.0.0.1", port) == "rank 1: no way to rank 0's store at 127.0.0.1:" + std::to_string(port) +
                                          " within 0.2 s (Connection refused); is rank 0 running there, and are "
                                          "MASTER_ADDR and MASTER_PORT right?");
  CHECK(contains(refusal("::1", port), "store at [::1]:"));
  CHECK(contains(refusal("no host.invalid", port), "rank 1: does not know the host 'no host.invalid' ("));
  const mp::sockets::listener mute = mp::sockets::listen_at("127.0.0.1", 0);
  CHECK(contains(refusal("127.0.0.1", mute.port), "(who listens there does not answer)"));
}

TEST_CASE("clients may start before the server") {
  const int port = free_port();
  std::string said;
  std::thread early([&] {
    said = failure([&] { mp::store({.port = port, .rank = 1, .size = 2, .time_out = guard}).set("a", "b"); });
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  mp::store_server server({.port = port, .size = 2});
  early.join();
  CHECK(said == "no failure");
}

TEST_CASE("a server that cannot listen says why") {
  const auto refusal = [](const std::string& host, int port) {
    return failure([&] { mp::store_server s({.address = host, .port = port}); });
  };
  mp::store_server server({.size = 1});
  const std::string port = std::to_string(server.port());
  CHECK(refusal("127.0.0.1", server.port()) ==
        "rank 0: port " + port + " is in use at 127.0.0.1:" + port +
            " by another program or an earlier run; choose a free one, or 0 for any");
  CHECK(refusal("203.0.113.7", 0) == "rank 0: '203.0.113.7' is no address of this machine; rank 0 must run on it");
  CHECK(contains(refusal("no host.invalid", 0), "rank 0: cannot listen at 'no host.invalid': "));
}

TEST_CASE("the ports of a run that has ended can be used at once") {
  const int port = free_port();
  for (int i = 0; i < 3; ++i) {
    auto server = std::make_unique<mp::store_server>(mp::store_server_options{.port = port, .size = 1});
    const mp::sockets::link client = mp::sockets::join({.port = port, .time_out = guard}, mp::sockets::role::store);
    server.reset();  // first, so that it is the server's end which lingers in the system
  }
}

TEST_CASE("who waits is told when a rank goes without goodbye, and when rank 0 does") {
  auto server = std::make_unique<mp::store_server>(mp::store_server_options{.size = 3, .token = "secret"});
  std::string waiting, later;
  std::thread waiter([&] {
    waiting = failure([&] {
      mp::store s(at(*server, 1, 3));
      s.set("here", "");
      s.barrier("b");
    });
  });
  mp::store zero(at(*server, 0, 3));
  zero.get("here");
  {
    const mp::sockets::link dies = mp::sockets::join(at(*server, 2, 3), mp::sockets::role::store);
  }
  waiter.join();
  CHECK(waiting == "rank 1: rank 2 was killed or exited");
  server.reset();
  CHECK(failure([&] { zero.get("x"); }) == "rank 0: rank 0's store closed the connection: rank 0 was killed or exited");
}
