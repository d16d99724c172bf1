// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/train/trainer.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

namespace meshpar::inline v0 {

// What a rank writes down of each step, so that it can be read while it runs and stands when it is killed: a line of
// step, loss, gradient norm, learning rate, seconds and tokens/s of the whole run, separated by tabs, in
// <folder>/rank_<number>.tsv. Given to trainer::run.
class step_log {
 public:
  // Throws one line when the file cannot be made. What is there is replaced.
  template <class Rank>
  step_log(const std::string& folder, const Rank& r)
      : path_(folder + "/rank_" + std::to_string(r.number()) + ".tsv"),
        tokens_(1.0 * r.plan().task.global_batch * r.plan().what.seq),
        out_(std::fopen(path_.c_str(), "w"), &std::fclose) {
    if (!out_) throw std::runtime_error("cannot write the step log '" + path_ + "': " + std::strerror(errno));
    std::fputs("step\tloss\tgradient_norm\tlearning_rate\tseconds\ttokens_per_second\n", out_.get());
    written();
  }

  void operator()(const trained_step& s) {
    std::fprintf(out_.get(), "%ld\t%.17g\t%.17g\t%.6g\t%.6g\t%.6g\n", s.number, s.report.loss, s.report.grad_norm,
                 s.learning_rate, s.seconds, tokens_ / s.seconds);
    written();
  }

 private:
  void written() {
    if (std::fflush(out_.get()) != 0)
      throw std::runtime_error("writing the step log '" + path_ + "' failed: " + std::strerror(errno));
  }

  std::string path_;
  double tokens_;  // of a step, of all ranks
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> out_;
};

}  // namespace meshpar::inline v0
