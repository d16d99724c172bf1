// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/store/server.hpp>
#include <meshpar/comm/watch/end_words.hpp>
#include <meshpar/comm/watch/sigterm.hpp>

#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>

namespace meshpar::inline v0 {

struct watch_options {
  double heartbeat = 0.5;  // seconds from one sign of life to the next
  double time_out = 10;    // seconds of silence after which rank 0 counts as stopped
  // Seconds after SIGTERM in which its cause may still be heard; a launcher's SIGKILL comes after about one.
  double patience = 0.5;
  void (*at_end)(const end_of_run&, int me) = print_end;
};

// Keeps an eye on all ranks. When one dies, stops, fails or is told to end, at_end is called in every process, on the
// watch's thread, and then the process is left with _exit(1), wherever its other threads are. A rank that goes without
// goodbye() has failed, whatever its exit status: exit() and the end of this object tell the others before they end the
// process. One at a time in a process.
class watch {
 public:
  // `where` is that of a store; `server` is given on rank 0.
  watch(const store_options& where, const activity_board& board, watch_options options = {},
        const store_server* server = nullptr)
      : me_(where.rank),
        size_(where.size),
        board_(board),
        options_(options),
        server_(server),
        link_(sockets::join(where, sockets::role::watch)),
        thread_([this] { run(); }) {
    [[maybe_unused]] static const int registered = std::atexit([] {
      if (watch* w = current.load()) w->fail("called exit() without a goodbye");
    });
    current = this;
  }
  watch(const watch&) = delete;
  watch& operator=(const watch&) = delete;
  // An exception goes on unwinding, for its message is worth more; the others are told of a death.
  ~watch() {
    if (!all_done_ && std::uncaught_exceptions() == 0) fail("left its work without a goodbye");
    current = nullptr;
    stopping_ = true;
    wake_.ring();
    thread_.join();
  }

  // This rank's work is done. Returns when that of all ranks is; until then it is still told of an end.
  void goodbye() {
    post(sockets::frame_kind::goodbye, "");
    wait_for_all();
  }

  // This rank cannot go on, for the reason in one line. All ranks are told, and the process ends.
  [[noreturn]] void fail(const std::string& line) {
    post(sockets::frame_kind::failed, line.substr(0, 4096));
    std::this_thread::sleep_for(std::chrono::duration<double>(options_.time_out));
    ::_exit(1);
  }

 private:
  // Some launchers kill all processes when the first has gone: give the others time to say why, and all of them time to
  // hear it from rank 0.
  static constexpr double linger = 0.2, linger_of_0 = 0.7;

  static inline std::atomic<watch*> current{nullptr};

  void post(sockets::frame_kind kind, std::string_view body) {
    {
      const std::lock_guard lock(mutex_);
      posted_ += sockets::encode(kind, 0, body);
    }
    wake_.ring();
  }
  void wait_for_all() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return all_done_.load(); });
  }

  void run() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    sockets::instant last = sockets::clock::now(), next_beat = last;
    for (heard_ = last; !stopping_ && !all_done_;) {
      if (last >= next_beat) {
        sockets::writer w;
        sockets::write(w, board_.read());
        out_ += sockets::encode(sockets::frame_kind::beat, 0, w.take());
        next_beat = last + sockets::seconds(options_.heartbeat);
      }
      send_out();
      wait_until(std::min(next_beat, told_to_end_));
      const sockets::instant now = sockets::clock::now();
      if (now > last + sockets::seconds(options_.time_out / 2)) heard_ = now;  // this process was stopped itself
      last = now;
      listen();
      if (all_done_) return;
      if (now >= told_to_end_)
        end_alone(end_reason::terminated, me_,
                  "this process was told to end (SIGTERM), perhaps by its launcher, in: " + describe(board_.read()));
      if (now > heard_ + sockets::seconds(options_.time_out))
        end_alone(end_reason::silent, 0,
                  "rank 0 was silent for " + seconds_words(options_.time_out) + ": stopped, or the host is gone" +
                      last_of_0());
    }
  }

  void send_out() {
    {
      const std::lock_guard lock(mutex_);
      out_ += std::exchange(posted_, {});
    }
    const long n = out_.empty() ? 0 : sockets::send_some(link_.fd(), out_);
    if (n > 0) out_.erase(0, static_cast<std::size_t>(n));
  }

  void wait_until(sockets::instant then) {
    pollfd p[] = {{link_.fd(), static_cast<short>(out_.empty() ? POLLIN : POLLIN | POLLOUT), 0},
                  {wake_.fd(), POLLIN, 0},
                  {ear_.fd(), POLLIN, 0}};
    ::poll(p, 3, sockets::milliseconds_to(then));
    wake_.quiet();
    if (!ear_.rang() || told_to_end_ != sockets::instant::max()) return;
    out_ += sockets::encode(sockets::frame_kind::terminated, 0, "");
    told_to_end_ = sockets::after(options_.patience);
    send_out();
  }

  // All that has come.
  void listen() {
    for (sockets::frame f;;) {
      const sockets::heard h = link_.receive(f, sockets::instant{});
      if (h == sockets::heard::late) return;
      if (h != sockets::heard::frame)
        return end_alone(end_reason::died, 0, "rank 0 was killed or exited" + last_of_0());
      heard_ = sockets::clock::now();
      if (f.kind == sockets::frame_kind::beat) {
        sockets::reader r(f.body);
        last_of_0_ = sockets::read_activity(r);
      } else if (f.kind == sockets::frame_kind::end_of_run) {
        end(sockets::read_end_of_run(f.body, size_));
      } else if (f.kind == sockets::frame_kind::all_done) {
        const std::lock_guard lock(mutex_);
        all_done_ = true;
        return changed_.notify_all();
      }
    }
  }

  std::string last_of_0() const { return " (its last: " + describe(last_of_0_) + ")"; }
  void end_alone(end_reason reason, int rank, const std::string& line) { end({rank, reason, line, {}}); }

  [[noreturn]] void end(const end_of_run& e) {
    bound_the_end();
    options_.at_end(e, me_);
    const sockets::instant late = sockets::after(linger_of_0);
    std::this_thread::sleep_for(std::chrono::duration<double>(linger));
    while (server_ && server_->watched() > 1 && sockets::clock::now() < late)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ::_exit(1);
  }
  // Whatever at_end does: SIGALRM ends the process.
  static void bound_the_end() {
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, SIGALRM);
    std::signal(SIGALRM, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
    ::alarm(5);
  }

  int me_, size_;
  const activity_board& board_;
  watch_options options_;
  const store_server* server_;
  sockets::link link_;
  sockets::wake wake_;
  sockets::sigterm_ear ear_;
  std::atomic<bool> stopping_{false}, all_done_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string posted_, out_;
  activity last_of_0_;
  sockets::instant heard_{}, told_to_end_ = sockets::instant::max();
  std::thread thread_;
};

}  // namespace meshpar::inline v0
