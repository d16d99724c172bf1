// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

namespace meshpar::inline v0 {

namespace siblings {

inline std::string program_of(const std::string& pid) {
  char path[4096];
  const ssize_t n = ::readlink(("/proc/" + pid + "/exe").c_str(), path, sizeof path);
  return n > 0 ? std::string(path, static_cast<std::size_t>(n)) : "";
}

struct status {
  char state = '?';  // T: stopped by a signal
  long parent = 0;
};
// /proc/<pid>/stat: pid (name) state parent; a name may hold anything.
inline status status_of(const std::string& pid) {
  const int file = ::open(("/proc/" + pid + "/stat").c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  char bytes[1024];
  const ssize_t n = ::read(file, bytes, sizeof bytes - 1);
  ::close(file);
  const std::string text(bytes, n > 0 ? static_cast<std::size_t>(n) : 0);
  const std::size_t name_ends = text.rfind(')');
  if (name_ends == std::string::npos || name_ends + 4 >= text.size()) return {};
  return {text[name_ends + 2], std::strtol(text.c_str() + name_ends + 4, nullptr, 10)};
}

}  // namespace siblings

// A stopped process cannot end by itself, and not every launcher ends it. Kills what is stopped and runs this program
// as a child of this process's own parent: of a launcher, which starts the ranks of one run.
inline void kill_stopped_siblings() {
  const std::string program = siblings::program_of("self");
  const pid_t launcher = ::getppid();
  DIR* const all = launcher > 1 ? ::opendir("/proc") : nullptr;  // 1: the launcher is gone
  if (all == nullptr) return;
  while (const dirent* e = ::readdir(all)) {
    const std::string pid = e->d_name;
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    const siblings::status s = siblings::status_of(pid);
    if (s.state == 'T' && s.parent == launcher && siblings::program_of(pid) == program)
      ::kill(static_cast<pid_t>(std::strtol(pid.c_str(), nullptr, 10)), SIGKILL);
  }
  ::closedir(all);
}

}  // namespace meshpar::inline v0
