// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ranks of a run under mpirun are killed, stopped or leave early at a random moment. Every other rank must end with a
// line that names the one at fault, mpirun with a status that is not 0, and no process may remain.
//   MESHPAR_END_LAUNCH    the words that start processes; "-n <n>" and a program follow
//   MESHPAR_END_PROGRAM   endless_run, linked with that launcher's MPI
//   MESHPAR_END_POINTS    how many (6)
//   MESHPAR_END_SEED      of all that is random; drawn and printed where it is not given
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace fs = std::filesystem;
using clock_type = std::chrono::steady_clock;

constexpr double guard = 90;  // seconds; no passing test waits for so long

double since(clock_type::time_point t) { return std::chrono::duration<double>(clock_type::now() - t).count(); }
void nap(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }
std::string setting(const char* name, const std::string& otherwise = "") {
  const char* said = std::getenv(name);
  return said ? said : otherwise;
}
std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

unsigned seed() {
  static const unsigned s = [] {
    const std::string said = setting("MESHPAR_END_SEED");
    const unsigned drawn = said.empty() ? std::random_device{}() : static_cast<unsigned>(std::stoul(said));
    std::printf("MESHPAR_END_SEED=%u\n", drawn);
    return drawn;
  }();
  return s;
}

// One mpirun. What belongs to it is known by a variable of its environment, which all that it starts inherit.
class run {
 public:
  run(int ranks, const std::string& options) : ranks_(ranks) {
    std::string name = (fs::temp_directory_path() / "meshpar_end_XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    folder_ = name;
    std::vector<std::string> words = split(setting("MESHPAR_END_LAUNCH"));
    // Past the launcher, which may drop what it has not forwarded yet.
    const char* own_files =
        "r=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; echo $$ > $MESHPAR_END_FOLDER/$r.pid; exec \"$@\" "
        "2> $MESHPAR_END_FOLDER/$r.said";
    for (const std::string& w : {std::string("-n"), std::to_string(ranks), std::string("sh"), std::string("-c"),
                                 std::string(own_files), std::string("rank"), setting("MESHPAR_END_PROGRAM")})
      words.push_back(w);
    for (const std::string& w : split(options)) words.push_back(w);
    std::vector<char*> arguments;
    for (std::string& w : words) arguments.push_back(w.data());
    arguments.push_back(nullptr);
    launcher_ = fork();
    if (launcher_ == 0) {
      setenv("MESHPAR_END_FOLDER", folder_.c_str(), 1);
      const int file = open((folder_ / "launcher.said").c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
      dup2(file, 1), dup2(file, 2);
      signal(SIGTERM, SIG_DFL);  // doctest has its own
      execv(arguments[0], arguments.data());
      _exit(9);
    }
  }
  run(const run&) = delete;
  ~run() {
    for (const int pid : alive()) kill(pid, SIGKILL);
    if (launcher_ > 0) waitpid(launcher_, nullptr, 0);
    fs::remove_all(folder_);
  }

  std::string said(int rank) const { return contents(folder_ / (std::to_string(rank) + ".said")); }
  std::string launcher_said() const { return contents(folder_ / "launcher.said"); }
  // As soon as the process is there and runs the program; nothing when it is gone by then.
  void send(int rank, int signal) const {
    const fs::path file = folder_ / (std::to_string(rank) + ".pid");
    for (const auto begin = clock_type::now(); !contains(contents(file), "\n") && since(begin) < guard;) nap(0.01);
    REQUIRE_MESSAGE(contains(contents(file), "\n"), everything());
    const int pid = std::stoi(contents(file));
    while (contents("/proc/" + std::to_string(pid) + "/comm") == "sh\n") nap(0.001);
    if (alive().contains(pid)) kill(pid, signal);
  }
  bool all_at_work() const {
    const auto begin = clock_type::now();
    for (int rank = 0; rank < ranks_; ++rank)
      while (!contains(said(rank), "at work")) {
        if (since(begin) > guard || said(rank).find("ending") != std::string::npos) return false;
        nap(0.01);
      }
    return true;
  }
  // Has all of it come to its end in time?
  bool ends() {
    const auto begin = clock_type::now();
    while (waitpid(launcher_, &status_, WNOHANG) == 0) {
      if (since(begin) > guard) return false;
      nap(0.01);
    }
    launcher_ = 0;
    while (!alive().empty()) {
      if (since(begin) > guard) return false;
      nap(0.01);
    }
    return true;
  }
  int status() const { return status_; }
  // All that the launcher started and that is no zombie.
  std::set<int> alive() const {
    const std::string mark = "MESHPAR_END_FOLDER=" + folder_.string() + '\0';
    std::set<int> found;
    for (const fs::directory_entry& e : fs::directory_iterator("/proc")) {
      const std::string name = e.path().filename();
      if (name.find_first_not_of("0123456789") == std::string::npos && contains(contents(e.path() / "environ"), mark))
        found.insert(std::stoi(name));
    }
    return found;
  }
  std::string everything() const {
    std::string s = "launcher: " + launcher_said();
    for (int rank = 0; rank < ranks_; ++rank) s += "\n" + std::to_string(rank) + ": " + said(rank);
    return s + "\nalive: " + std::to_string(alive().size());
  }

 private:
  static std::vector<std::string> split(const std::string& text) {
    std::istringstream in(text);
    return {std::istream_iterator<std::string>(in), {}};
  }
  int ranks_;
  fs::path folder_;
  pid_t launcher_ = 0;
  int status_ = 0;
};

bool by_hydra() { return contains(setting("MESHPAR_END_LAUNCH"), "-disable-auto-cleanup"); }

// Every rank but `lost` has said, as its own last line, that one of these was at fault. Hydra's proxy may fail when a
// process dies under it, and then ends the others before their line (docs/ends.md): lines missing then are counted.
void check_named(const run& r, int ranks, const std::set<int>& lost, bool died) {
  for (int rank = 0; rank < ranks; ++rank) {
    if (lost.contains(rank)) continue;
    const std::string said = r.said(rank), mine = "meshpar: rank " + std::to_string(rank) + ": ";
    const std::size_t at = said.find(mine);
    const std::string line = at == std::string::npos ? "" : said.substr(at + mine.size(), said.find('\n', at) - at);
    bool named = false;
    for (const int l : lost) {
      named |= contains(line, "rank " + std::to_string(l) + " ");
      named |= contains(line, "ranks " + std::to_string(l));
    }
    if (!named && died && by_hydra()) std::printf("   rank %d was ended by Hydra before its line\n", rank);
    else CHECK_MESSAGE(named, "rank ", rank, " said: ", said);
  }
}

// How many ends there were of each kind, and the longest time to one.
class tally {
 public:
  ~tally() {
    for (const auto& [how, k] : kinds_) std::printf("%4d x %-28s longest %.2f s\n", k.count, how.c_str(), k.longest);
  }
  void require_end(run& r, const std::string& how) {
    const auto begin = clock_type::now();
    REQUIRE_MESSAGE(r.ends(), r.everything());
    kind& k = kinds_[how];
    ++k.count;
    k.longest = std::max(k.longest, since(begin));
  }

 private:
  struct kind {
    int count = 0;
    double longest = 0;
  };
  std::map<std::string, kind> kinds_;
};

// What is random at one point; the same for the same seed, whatever the points before did.
class draw {
 public:
  explicit draw(int point) : random_(seed() + static_cast<unsigned>(point)) {}
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  double seconds(double most) { return most * below(1000) / 1000; }

 private:
  std::mt19937 random_;
};

int points() {
  static const int n = std::stoi(setting("MESHPAR_END_POINTS", "6"));
  return n;
}

constexpr const char* time_out = "--time-out 4";
constexpr const char* ways[] = {"_exit", "exit", "status", "throw", "return"};

}  // namespace

TEST_CASE("a rank that is killed, stopped or leaves early is named by every other, and nothing remains") {
  tally ends;
  for (int point = 0; point < points(); ++point) {
    draw d(point);
    const int ranks = point % 4 == 3 ? 8 : 4, rank = point < 3 ? 0 : d.below(ranks);
    const std::string how = point % 3 == 0 ? "SIGKILL" : point % 3 == 1 ? "SIGSTOP" : ways[d.below(5)];
    const bool leaves = point % 3 == 2;
    CAPTURE(point);
    CAPTURE(ranks);
    CAPTURE(rank);
    CAPTURE(how);
    run r(ranks, !leaves ? std::string(time_out)
                         : time_out + (" --leave " + how) + " --leaver " + std::to_string(rank) + " --leave-at " +
                               std::to_string(2 + d.below(10)));
    REQUIRE_MESSAGE(r.all_at_work(), r.everything());
    if (!leaves) {
      nap(d.seconds(0.5));
      r.send(rank, how == "SIGKILL" ? SIGKILL : SIGSTOP);
    }
    ends.require_end(r, how);
    CHECK(r.status() != 0);
    check_named(r, ranks, {rank}, how == "SIGKILL" || how == "_exit");
  }
}

TEST_CASE("two ranks at once: at least one of them is named") {
  tally ends;
  for (int point = 0; point < points() / 6; ++point) {
    draw d(1000 + point);
    const int first = d.below(4), second = (first + 1 + d.below(3)) % 4;
    const int signal = point % 2 == 0 ? SIGKILL : SIGSTOP;
    CAPTURE(point);
    CAPTURE(first);
    CAPTURE(second);
    run r(4, time_out);
    REQUIRE_MESSAGE(r.all_at_work(), r.everything());
    nap(d.seconds(0.5));
    r.send(first, SIGKILL);
    r.send(second, signal);
    ends.require_end(r, signal == SIGKILL ? "SIGKILL and SIGKILL" : "SIGKILL and SIGSTOP");
    CHECK(r.status() != 0);
    check_named(r, 4, {first, second}, true);
  }
}

TEST_CASE("while the ranks start, before any watch is open, none hangs and nothing remains") {
  tally ends;
  for (int point = 0; point < points() / 6; ++point) {
    draw d(2000 + point);
    const int rank = d.below(4), signal = point % 2 == 0 ? SIGKILL : SIGSTOP;
    CAPTURE(point);
    CAPTURE(rank);
    CAPTURE(signal);
    run r(4, time_out);
    nap(d.seconds(0.6));
    r.send(rank, signal);
    ends.require_end(r, signal == SIGKILL ? "SIGKILL at the start" : "SIGSTOP at the start");
    CHECK_MESSAGE(r.status() != 0, r.everything());
  }
}

TEST_CASE("at the end of a run, in its goodbye or after it, none hangs and nothing remains") {
  tally ends;
  for (int point = 0; point < points() / 6; ++point) {
    draw d(3000 + point);
    const int rank = d.below(4), signal = point % 2 == 0 ? SIGKILL : SIGSTOP;
    CAPTURE(point);
    CAPTURE(rank);
    CAPTURE(signal);
    run r(4, std::string(time_out) + " --steps 5");
    REQUIRE_MESSAGE(r.all_at_work(), r.everything());
    nap(d.seconds(0.1));
    r.send(rank, signal);
    if (signal == SIGSTOP) {  // nobody is left to end it when all others have ended well
      nap(6);
      r.send(rank, SIGCONT);
    }
    ends.require_end(r, signal == SIGKILL ? "SIGKILL at the end" : "SIGSTOP at the end");
  }
}
