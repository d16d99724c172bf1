// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The batch, ZeRO and precision of a DeepSpeed configuration.
#include "deepspeed_keys.hpp"
#include "files.hpp"
#include "readers.hpp"

#include <algorithm>

namespace meshpar_tools {

namespace {

// Drops what is left to the program that starts DeepSpeed, by name.
void drop_auto(const foreign_format& format, const std::string& prefix, json& object, draft& into) {
  for (auto item = object.begin(); item != object.end();) {
    if (item->is_object()) drop_auto(format, prefix + item.key() + ".", *item, into);
    if (*item == "auto") {
      into.warn(format.called(prefix + item.key()) + ": \"auto\" counts as not given");
      item = object.erase(item);
    } else {
      ++item;
    }
  }
}

class deepspeed {
 public:
  deepspeed(const foreign_format& format, const foreign_values& kept) : format_(format), kept_(kept) {}

  // An autotp_size of 0 is none.
  void plan(draft& d) const {
    if (const auto n = given(autotp); n.value_or(0) > 0) d.set("tp", *n, format_.called(autotp));
    for (const char* key : {"fp16.enabled", "amp.enabled"}) take_fp16(format_, kept_, key, d);
  }
  void given_sizes(draft& d) const {
    if (const auto n = given(all)) d.set("global_batch", *n, format_.called(all));
    if (const auto n = given(micro)) d.set("micro_batch", *n, format_.called(micro));
  }
  // train_batch_size = micro-batch * accumulation steps * dp: of the three and dp, one may be left out.
  void dp(draft& d) const {
    const auto steps = given(accumulation);
    if (steps && given(all) && d.has("micro_batch"))
      d.set("dp", quotient(*given(all), "micro-batch * steps", 1LL * *steps * d.values().job.micro_batch),
            "the batch sizes" + format_.place);
  }
  void batch(draft& d) const {
    const auto steps = steps_of(d);
    const long long dp = d.values().plan.dp;
    if (!steps || dp < 1) return;
    if (!d.has("micro_batch") && d.has("global_batch"))
      return d.set("micro_batch", quotient(d.values().job.global_batch, "steps * dp", *steps * dp),
                   format_.called(all));
    if (!d.has("micro_batch")) return;
    const long long at_once = std::min(*steps * dp, 1LL << 31);  // above that no batch fits, and the product none
    d.set("global_batch", at_once * d.values().job.micro_batch, "micro-batch * steps * dp" + format_.place);
  }

 private:
  // DeepSpeed takes 1 where one of the other two is all that is given.
  std::optional<int> steps_of(draft& d) const {
    if (const auto steps = given(accumulation)) return steps;
    if (given(all).has_value() + given(micro).has_value() != 1 || (d.has("micro_batch") && d.has("global_batch")))
      return {};
    d.warn(format_.called(given(all) ? all : micro) + ": without " + accumulation + " DeepSpeed takes 1");
    return 1;
  }

  static constexpr const char* autotp = "tensor_parallel.autotp_size";
  static constexpr const char* all = "train_batch_size";
  static constexpr const char* micro = "train_micro_batch_size_per_gpu";
  static constexpr const char* accumulation = "gradient_accumulation_steps";
  std::optional<int> given(const char* key) const { return number(format_, kept_, key); }
  long long quotient(long long whole, const char* name, long long part) const {
    if (part > 0 && whole % part == 0) return whole / part;
    throw bad_input(format_.called(all) + " is " + std::to_string(whole) + ", no multiple of " + name + " (" +
                    std::to_string(part) + ")");
  }

  foreign_format format_;
  foreign_values kept_;
};

}  // namespace

pending read_deepspeed(const std::string& path, const std::set<std::string>& ignored, draft& into) {
  const foreign_format format{deepspeed_keys, "key", " in " + in_quotes(path), ignored};
  json object = json_of(path);
  drop_auto(format, "", object, into);
  const deepspeed rest(format, take_all(format, object, into));
  rest.plan(into);
  rest.given_sizes(into);
  return {.dp = [rest](draft& d) { rest.dp(d); }, .batch = [rest](draft& d) { rest.batch(d); }, .leaves_dp_open = true};
}

}  // namespace meshpar_tools
