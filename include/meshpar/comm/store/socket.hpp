// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/error.hpp>

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

// POSIX sockets over TCP, IPv4 and IPv6; but for the resolver nothing here blocks beyond its deadline, and nothing
// raises SIGPIPE.
namespace meshpar::inline v0::sockets {

using clock = std::chrono::steady_clock;
using instant = clock::time_point;
// At most some thirty years, so that no sum of times overflows.
inline clock::duration seconds(double s) {
  return std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(std::min(s, 1e9)));
}
inline instant after(double s) { return clock::now() + seconds(s); }
// What poll() takes: milliseconds until then, rounded up, at most a minute.
inline int milliseconds_to(instant then) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(then - clock::now()).count();
  return left < 0 ? 0 : left > 60000 ? 60000 : static_cast<int>(left);
}

class descriptor {
 public:
  descriptor() = default;
  explicit descriptor(int fd) : fd_(fd) {}
  descriptor(descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  descriptor& operator=(descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// Is there something to do for `events` before the deadline? Errors and hang-ups count: the next call tells them.
inline bool ready(int fd, short events, instant deadline) {
  for (;;) {
    pollfd p{fd, events, 0};
    const int n = ::poll(&p, 1, milliseconds_to(deadline));
    if (n > 0) return true;
    if (n == 0 && clock::now() >= deadline) return false;
    if (n < 0 && errno != EINTR) return true;
  }
}

class addresses {
 public:
  // Several attempts of the resolver may take some seconds; they end by its own time-outs.
  addresses(const std::string& host, int port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV;
    error_ = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &first_);
    if (error_ != 0) first_ = nullptr;
  }
  addresses(const addresses&) = delete;
  addresses& operator=(const addresses&) = delete;
  ~addresses() {
    if (first_) ::freeaddrinfo(first_);
  }
  const addrinfo* first() const { return first_; }
  bool unknown() const { return error_ != 0 && error_ != EAI_AGAIN && error_ != EAI_SYSTEM && error_ != EAI_MEMORY; }
  std::string why() const { return error_ == EAI_SYSTEM ? std::strerror(errno) : ::gai_strerror(error_); }

 private:
  addrinfo* first_ = nullptr;
  int error_ = 0;
};

inline descriptor open_for(const addrinfo& a) {
  return descriptor(::socket(a.ai_family, a.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, a.ai_protocol));
}
inline void set(const descriptor& fd, int level, int option, int value) {
  ::setsockopt(fd.get(), level, option, &value, sizeof value);
}
// [::1]:29500
inline std::string at_text(const std::string& host, int port) {
  return (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + std::to_string(port);
}

struct listener {
  descriptor fd;
  int port = 0;  // the one that port 0 became
};

// Listens at one address of this machine ("": all of them; "::" takes those of IPv4 too). Throws one line.
inline listener listen_at(const std::string& host, int port) {
  if (host.empty()) try {
      return listen_at("::", port);
    } catch (const comm_error&) {  // a machine without IPv6
      return listen_at("0.0.0.0", port);
    }
  const addresses found(host, port);
  if (!found.first())
    throw comm_error("cannot listen at '" + host + "': " + found.why() + "; give an address of this machine");
  int error = 0;
  for (const addrinfo* a = found.first(); a; a = a->ai_next) {
    listener l{open_for(*a), 0};
    if (l.fd) set(l.fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (l.fd && a->ai_family == AF_INET6) set(l.fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    if (l.fd && ::bind(l.fd.get(), a->ai_addr, a->ai_addrlen) == 0 && ::listen(l.fd.get(), 1024) == 0) {
      sockaddr_storage bound{};
      socklen_t size = sizeof bound;
      char digits[8] = "0";
      if (::getsockname(l.fd.get(), reinterpret_cast<sockaddr*>(&bound), &size) == 0)
        ::getnameinfo(reinterpret_cast<sockaddr*>(&bound), size, nullptr, 0, digits, sizeof digits, NI_NUMERICSERV);
      l.port = std::stoi(digits);
      return l;
    }
    error = errno;
  }
  const std::string where = at_text(host, port);
  if (error == EADDRINUSE)
    throw comm_error("port " + std::to_string(port) + " is in use at " + where +
                     " by another program or an earlier run; choose a free one, or 0 for any");
  if (error == EADDRNOTAVAIL) throw comm_error("'" + host + "' is no address of this machine; rank 0 must run on it");
  throw comm_error("cannot listen at " + where + ": " + std::strerror(error));
}

// Where nobody listens at a port that the system also gives to clients, a client can be connected with itself.
inline bool with_itself(const descriptor& fd) {
  sockaddr_storage mine{}, peer{};
  socklen_t size = sizeof mine, peer_size = sizeof peer;
  return ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&mine), &size) == 0 &&
         ::getpeername(fd.get(), reinterpret_cast<sockaddr*>(&peer), &peer_size) == 0 && size == peer_size &&
         std::memcmp(&mine, &peer, size) == 0;
}

// One attempt at each address of a host, none of which takes all the time. No descriptor: `error` is errno of the last
// attempt.
inline descriptor try_connect(const addresses& to, instant deadline, int& error) {
  constexpr double longest = 5;  // seconds
  for (const addrinfo* a = to.first(); a; a = a->ai_next) {
    descriptor fd = open_for(*a);
    if (!fd) {
      error = errno;
      continue;
    }
    error = ::connect(fd.get(), a->ai_addr, a->ai_addrlen) == 0 ? 0 : errno;
    if (error == EINPROGRESS || error == EINTR) {
      socklen_t size = sizeof error;
      if (!ready(fd.get(), POLLOUT, std::min(deadline, after(longest)))) error = ETIMEDOUT;
      else if (::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
    }
    if (error == 0 && with_itself(fd)) error = ECONNREFUSED;
    if (error != 0) continue;
    set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    return fd;
  }
  return {};
}

inline descriptor accept_from(const descriptor& fd) {
  descriptor made(::accept4(fd.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (made) set(made, IPPROTO_TCP, TCP_NODELAY, 1);
  return made;
}

// What recv and send did without waiting: bytes moved; 0: nothing now; -1: the connection is at its end.
inline long receive_some(int fd, char* to, std::size_t room) {
  const ssize_t n = ::recv(fd, to, room, 0);
  if (n > 0) return n;
  return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) ? 0 : -1;
}
inline long send_some(int fd, std::string_view bytes) {
  const ssize_t n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (n >= 0) return n;
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? 0 : -1;
}

inline bool send_all(int fd, std::string_view bytes, instant deadline) {
  while (!bytes.empty()) {
    const long n = send_some(fd, bytes);
    if (n < 0 || (n == 0 && !ready(fd, POLLOUT, deadline))) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace meshpar::inline v0::sockets
