// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/comm/watch/deadline.hpp>

#include <doctest/doctest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

namespace mp = meshpar;

namespace {

void forever() {
  for (;;) pause();
}
// A child that has stopped itself; it goes with its parent.
pid_t stopped() {
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    raise(SIGSTOP);
    forever();
  }
  int status = 0;
  waitpid(child, &status, WUNTRACED);
  return child;
}
int end_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}
// Runs `work` in a child, to its end.
template <class F>
int in_child(F work) {
  const pid_t child = fork();
  if (child == 0) {
    work();
    _exit(0);
  }
  return end_of(child);
}
bool is_there(pid_t child) { return waitpid(child, nullptr, WNOHANG) == 0; }

}  // namespace

TEST_CASE("a stopped sibling is killed; one that runs, and the child of another parent, are left alone") {
  const pid_t still = stopped();
  const pid_t runs = fork();
  if (runs == 0) forever();
  int pipe_of[2];
  REQUIRE(pipe(pipe_of) == 0);
  const pid_t parent = fork();
  if (parent == 0) {
    const pid_t strange = stopped();
    [[maybe_unused]] const ssize_t n = write(pipe_of[1], &strange, sizeof strange);
    _exit(end_of(strange) == SIGKILL ? 5 : 6);
  }
  pid_t strange = 0;
  REQUIRE(read(pipe_of[0], &strange, sizeof strange) == sizeof strange);

  CHECK(in_child([] { mp::kill_stopped_siblings(); }) == 0);
  const int status = end_of(still);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGKILL);
  CHECK(is_there(runs));
  CHECK(is_there(parent));  // it waits for the strange one
  kill(strange, SIGKILL);
  kill(runs, SIGKILL);
  end_of(parent);
  end_of(runs);
}

TEST_CASE(
    "a deadline that passes ends the process with its line and takes the stopped along; one that is left does "
    "nothing") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t still = stopped();
  const int status = in_child([&] {
    dup2(ends[1], 2);
    {
      const mp::watch_deadline left(60, "never said");
    }
    const mp::watch_deadline late(0.1, "rank 1: MPI_Init waited for 0.1 s");
    forever();
  });
  close(ends[1]);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 1);
  CHECK(WTERMSIG(end_of(still)) == SIGKILL);
  char text[200]{};
  CHECK(read(ends[0], text, sizeof text - 1) > 0);
  CHECK(std::string(text) == "meshpar: rank 1: MPI_Init waited for 0.1 s; ending\n");
}
