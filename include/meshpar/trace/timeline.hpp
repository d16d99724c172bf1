// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/nn/program.hpp>
#include <meshpar/trace/call_log.hpp>

#include <cstdio>
#include <ostream>
#include <span>
#include <string>

namespace meshpar::inline v0 {

// The name of a block of a program: "embedding", "layer 3 attention", "layer 3 mlp", "head".
inline std::string block_name(const program& p, int block) {
  switch (p.kind_of(block)) {
    case block_kind::first: return "embedding";
    case block_kind::attention: return "layer " + std::to_string(p.layer_of(block)) + " attention";
    case block_kind::mlp: return "layer " + std::to_string(p.layer_of(block)) + " mlp";
    case block_kind::last: break;
  }
  return "head";
}

inline const char* name_of(phase p) {
  constexpr const char* names[] = {"forward", "input_grad", "weight_grad"};
  return names[static_cast<int>(p)];
}

// The axes that a call communicates along, by name; nothing for a call that does not, or at the end of a step.
inline std::string axes_of(const logged_call& c) {
  return c.what == nullptr ? std::string() : std::string(name_of(c.what->along).s);
}

// Writes logs as a timeline that Perfetto (ui.perfetto.dev) and chrome://tracing show: the Trace Event Format, one
// track per rank, one slice per call, times in microseconds. The logs' clocks must have one zero.
class timeline {
 public:
  timeline(std::ostream& out, const program& p) : out_(out), program_(p) { out_ << "{\"traceEvents\":["; }
  ~timeline() { out_ << "\n]}\n"; }
  timeline(const timeline&) = delete;

  void add(const call_log& log) {
    event() << "\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":0,\"tid\":" << log.rank() << ",\"args\":{\"name\":\"rank "
            << log.rank() << "\"}}";
    for (const logged_call& c : log.calls()) slice(log.rank(), c);
  }

 private:
  std::ostream& event() {
    out_ << (first_ ? "\n{" : ",\n{");
    first_ = false;
    return out_;
  }
  void slice(int rank, const logged_call& c) {
    const std::string place = c.what != nullptr ? block_name(program_, c.block) : "step";
    event() << "\"name\":\"" << place << ": " << c.name() << "\",\"cat\":\""
            << (c.what != nullptr ? name_of(c.what->when) : "finish") << "\",\"ph\":\"X\",\"pid\":0,\"tid\":" << rank
            << ",\"ts\":" << microseconds(c.start) << ",\"dur\":" << microseconds(c.end - c.start);
    if (c.sent.kind != call_kind::none)
      out_ << ",\"args\":{\"collective\":\"" << name_of(c.sent.kind) << "\",\"along\":\"" << axes_of(c)
           << "\",\"ranks\":" << c.ranks.size() << ",\"received\":" << c.received << "}";
    out_ << "}";
  }
  static std::string microseconds(std::int64_t nanoseconds) {
    char text[32];
    std::snprintf(text, sizeof text, "%lld.%03lld", static_cast<long long>(nanoseconds / 1000),
                  static_cast<long long>(nanoseconds % 1000));
    return text;
  }

  std::ostream& out_;
  const program& program_;
  bool first_ = true;
};

}  // namespace meshpar::inline v0
