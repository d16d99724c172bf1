// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/ops/host_kinds.hpp>

#include <time.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace meshpar::inline v0 {

// Where the time of a step goes on one thread: the device's table of kinds with a clock around every entry. Times are
// the thread's own processor time, which other processes do not lengthen.
template <class Device>
class step_profile {
 public:
  static std::span<const runner<Device>> table() { return timed_table; }

  static void clear() {
    for (auto& kind : spent)
      for (double& s : kind) s = 0;
    whole = 0;
  }
  static void begin_step() { whole -= now(); }
  static void end_step() { whole += now(); }

  static void print(const char* name, int steps) {
    std::vector<std::pair<double, std::string>> rows;
    double inside = 0;
    for (std::size_t k = 0; k < count; ++k)
      for (int when = 0; when < 3; ++when) {
        inside += spent[k][when];
        if (spent[k][when] > 0) rows.push_back({spent[k][when], kind_of(k) + words[when]});
      }
    rows.push_back({whole - inside, "outside: optimizer, clearing, loading"});
    std::sort(rows.rbegin(), rows.rend());
    std::printf("%s: %.1f ms of processor time a step\n", name, whole / steps * 1e3);
    for (const auto& [s, what] : rows)
      std::printf("  %8.2f ms %5.1f %%  %s\n", s / steps * 1e3, s / whole * 100, what.c_str());
  }

 private:
  static constexpr std::size_t count = std::size(host_kinds::table<Device>);
  static constexpr const char* words[] = {"", ", input gradient", ", weight gradient"};
  static std::string kind_of(std::size_t k) { return host_kinds::table<Device>[k].kind->name; }

  static double now() {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
  }
  template <std::size_t Kind>
  static void timed(Device& d, const bound& c) {
    const double start = now();
    host_kinds::table<Device>[Kind].run(d, c);
    spent[Kind][static_cast<int>(c.what->when)] += now() - start;
  }
  template <std::size_t... Kind>
  static constexpr std::array<runner<Device>, count> wrapped(std::index_sequence<Kind...>) {
    return {runner<Device>{host_kinds::table<Device>[Kind].kind, &timed<Kind>}...};
  }
  static constexpr std::array<runner<Device>, count> timed_table = wrapped(std::make_index_sequence<count>{});
  static inline double spent[count][3]{};
  static inline double whole = 0;
};

}  // namespace meshpar::inline v0
