// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/store/server_loop.hpp>

#include <csignal>
#include <thread>

namespace meshpar::inline v0 {

// The store of a run, in the process of rank 0, on a thread of its own. Declare it before any store or watch.
class store_server {
 public:
  // Throws comm_error: one line, when it cannot listen there.
  explicit store_server(store_server_options options)
      : listener_(open(options)), loop_(options, listener_.fd), thread_([this] { run(); }) {}
  store_server(const store_server&) = delete;
  store_server& operator=(const store_server&) = delete;
  // What has been said still goes out.
  ~store_server() {
    loop_.stop();
    thread_.join();
  }

  int port() const { return listener_.port; }
  int watched() const { return loop_.watched(); }  // ranks with a watch that is open now

 private:
  static sockets::listener open(const store_server_options& o) try {
    return sockets::listen_at(o.address, o.port);
  } catch (const comm_error& e) {
    throw comm_error(std::string("rank 0: ") + e.what());
  }
  void run() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    loop_.run();
  }

  sockets::listener listener_;
  sockets::server_loop loop_;
  std::thread thread_;
};

}  // namespace meshpar::inline v0
