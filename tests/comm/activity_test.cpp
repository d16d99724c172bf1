// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/comm/watch/end_words.hpp>

#include "support/counted_new.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <thread>

namespace mp = meshpar;
namespace sockets = meshpar::sockets;

namespace {
sockets::instant at(double seconds) {
  return sockets::instant{} + std::chrono::milliseconds(1000 + std::lround(seconds * 1000));
}
mp::activity doing(long step) {
  mp::activity_board b;
  b.step(step);
  return b.read();
}
}  // namespace

TEST_CASE("an activity in words") {
  mp::activity_board b;
  CHECK(describe(b.read()) == "computing after no call yet");
  b.step(12);
  CHECK(describe(b.read()) == "step 12, computing after no call yet");
  b.start(mp::call_kind::all_reduce, "gradients"), b.become(mp::doing::waiting);
  CHECK(describe(b.read()) == "step 12, waiting in all_reduce 'gradients'");
  b.become(mp::doing::computing);
  CHECK(describe(b.read()) == "step 12, computing after all_reduce 'gradients'");
  b.start(mp::call_kind::barrier, ""), b.become(mp::doing::waiting);
  CHECK(describe(b.read()) == "step 12, waiting in barrier");
  b.start(mp::call_kind::send, std::string(100, 'x').c_str()), b.become(mp::doing::waiting);
  CHECK(describe(b.read()) == "step 12, waiting in send '" + std::string(47, 'x') + "'");
}

TEST_CASE("a reader never sees half of an activity, and the writer does not allocate") {
  mp::activity_board b;
  std::atomic<bool> over{false};
  long torn = 0;
  std::thread reads([&] {
    for (int seen = 0; seen < 100000;) {
      const mp::activity a = b.read();
      if (a.kind == mp::call_kind::none) continue;
      torn += std::string(a.label) != std::string(a.step % 2 != 0 ? 40 : 3, static_cast<char>('a' + a.step % 26));
      ++seen;
    }
    over = true;
  });
  const std::string* labels[26];
  for (int i = 0; i < 26; ++i) labels[i] = new std::string(i % 2 != 0 ? 40 : 3, static_cast<char>('a' + i));
  mp::activity_board mine;
  const long before = allocations;
  for (int i = 0; i < 20000; ++i)
    mine.step(i), mine.start(mp::call_kind::send, labels[i % 26]->c_str()), mine.become(mp::doing::computing),
        mine.become(mp::doing::waiting);
  CHECK(allocations == before);
  for (int i = 0; !over; i = (i + 1) % 26)
    b.write({.step = i, .kind = mp::call_kind::send, .now = mp::doing::waiting}, labels[i]->c_str());
  reads.join();
  CHECK(torn == 0);
  for (const std::string* l : labels) delete l;
}

TEST_CASE("an activity comes through a frame, and a hostile one is made harmless") {
  mp::activity_board b;
  b.step(-5);
  b.start(mp::call_kind::receive, "a'\n\x1b"), b.become(mp::doing::waiting);
  sockets::writer w;
  write(w, b.read());
  std::string bytes = w.take();
  sockets::reader r(bytes);
  mp::activity a = sockets::read_activity(r);
  CHECK(r.ends());
  CHECK(a.step == -5);
  CHECK(std::string(a.label) == "a'??");
  bytes[8] = 99;
  sockets::reader odd(bytes);
  CHECK(sockets::read_activity(odd).kind == mp::call_kind::none);
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    sockets::reader cut(std::string_view(bytes).substr(0, n));
    sockets::read_activity(cut);
    CHECK(!cut.whole());
  }
}

TEST_CASE("who ends a run: deaths before failures, failures before silence") {
  const auto all_here = [] {
    sockets::watch_roll roll(4, 30, 10);
    for (int r = 0; r < 4; ++r) roll.joined(r, at(0)), roll.beat(r, doing(r), at(0));
    return roll;
  };
  sockets::watch_roll quiet = all_here();
  CHECK(!quiet.judge(at(9)));
  for (const int r : {0, 1, 3}) quiet.beat(r, doing(7), at(9));
  CHECK(quiet.judge(at(11)));
  CHECK(quiet.end().line ==
        "rank 2 was silent for 10.0 s: stopped, or the host is gone (its last: step 2, computing after no call yet)");
  CHECK(quiet.end().last.size() == 4);
  CHECK(!quiet.judge(at(12)));  // once

  sockets::watch_roll slept = all_here();
  slept.slept(90, at(100));
  CHECK(!slept.judge(at(100)));
  slept.slept(0.5, at(100.5));
  slept.closed(1);
  CHECK(slept.judge(at(100.5)));
  CHECK(slept.end().rank == 1);

  sockets::watch_roll given_up = all_here();
  given_up.slept(90, at(100));
  given_up.closed(1);
  CHECK(given_up.judge(at(100)));
  CHECK(given_up.end().line == "rank 0 was stopped for 90.0 s, and the others gave it up");

  sockets::watch_roll failed = all_here();
  failed.failed(1, "no more data", at(1));
  CHECK(!failed.judge(at(1)));
  CHECK(failed.judge(at(2)));
  CHECK(failed.end().line == "rank 1 failed: no more data");

  sockets::watch_roll caused = all_here();
  caused.failed(1, "lost rank 3", at(1));
  caused.closed(3);
  caused.closed(2);
  CHECK(caused.judge(at(1)));
  CHECK(caused.end().rank == 2);
  CHECK(caused.end().line ==
        "ranks 2 and 3 were killed or exited (the first's last: step 2, computing after no call yet)");

  sockets::watch_roll told = all_here();
  told.terminated(3, at(1));
  told.terminated(0, at(1));
  told.closed(3);
  CHECK(!told.judge(at(1)));
  CHECK(told.judge(at(2)));
  CHECK(told.end().line ==
        "ranks 0 and 3 were ended from outside (SIGTERM); rank 3's last: step 3, computing after no call yet");

  sockets::watch_roll done = all_here();
  for (int r = 0; r < 4; ++r) {
    CHECK(!done.all_done());
    done.goodbye(r);
    done.closed(r);
    CHECK(!done.judge(at(5)));
  }
  CHECK(done.all_done());
  CHECK(!done.judge(at(100)));

  sockets::watch_roll late(4, 30, 10);
  late.joined(1, at(0));
  CHECK(!late.judge(at(5)));
  late.beat(1, doing(0), at(31));
  CHECK(late.judge(at(31)));
  CHECK(late.end().line == "ranks 0, 2 and 3 were absent: did not come within 30.0 s");
}

TEST_CASE("an end comes through a frame") {
  const mp::end_of_run e{2, mp::end_reason::failed, "rank 2 failed: x", {doing(1), doing(2)}};
  const std::string bytes = sockets::encode(e);
  const mp::end_of_run got = sockets::read_end_of_run(bytes, 2);
  CHECK(got.rank == 2);
  CHECK(got.reason == mp::end_reason::failed);
  CHECK(got.line == e.line);
  CHECK(got.last.size() == 2);
  for (std::size_t n = 0; n < bytes.size(); ++n) sockets::read_end_of_run(std::string_view(bytes).substr(0, n), 2);
  CHECK(mp::end_words(got, 0) ==
        "meshpar: rank 0: rank 2 failed: x; ending\nmeshpar: last seen of each rank:\nmeshpar:   rank 0: step 1, "
        "computing after no call yet\nmeshpar:   rank 1: step 2, computing after no call yet\n");
  CHECK(mp::last_words({doing(1), doing(2), doing(1), doing(1), doing(1)}) ==
        "meshpar:   ranks 0 and 2-4: step 1, computing after no call yet\nmeshpar:   rank 1: step 2, computing after "
        "no call yet\n");
}

TEST_CASE("ranks in words") {
  CHECK(mp::rank_words({3}) == "rank 3");
  CHECK(mp::rank_words({2, 5}) == "ranks 2 and 5");
  CHECK(mp::rank_words({0, 1, 2, 3, 6, 7}) == "ranks 0-3, 6 and 7");
  std::vector<int> even;
  for (int i = 0; i < 100; i += 2) even.push_back(i);
  CHECK(mp::rank_words(even).ends_with(", 28, 30 and 34 more"));
}
