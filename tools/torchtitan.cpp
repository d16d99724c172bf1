// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parallelism and training sections of a torchtitan job file. The model's sizes are not in it.
#include "files.hpp"
#include "readers.hpp"
#include "torchtitan_keys.hpp"

namespace meshpar_tools {

namespace {

constexpr const char* by_default = "the default of torchtitan";

class torchtitan {
 public:
  torchtitan(const foreign_format& format, const foreign_values& kept) : format_(format), kept_(kept) {}

  // Its tensor parallelism always splits the sequence between the layers.
  void sizes(draft& d) const {
    if (d.values().plan.tp > 1) d.set("sequence_parallel", true, "tensor_parallel_degree" + format_.place);
    d.fall_back("context_exchange", "all_gather", by_default);
    sharding(d);
    precision(d);
    stages(d);
    micro_batch(d);
  }
  void batch(draft& d) const {
    whole_replicas(d);
    const char* key = "training.global_batch_size";
    if (!left_open(key)) return d.set("global_batch", *given(key), format_.called(key));
    d.fall_back("global_batch", 1LL * local_batch() * d.values().plan.dp, by_default);
  }
  // -1: the ranks that the other axes leave.
  bool leaves_dp_open() const { return left_open("parallelism.data_parallel_shard_degree"); }
  std::optional<long long> dp() const {
    if (leaves_dp_open()) return {};
    return 1LL * given("parallelism.data_parallel_shard_degree").value_or(1) * replicas();
  }

 private:
  void whole_replicas(const draft& d) const {
    const int dp = d.values().plan.dp;
    if (replicas() < 1 || dp % replicas() == 0) return;
    throw bad_input(format_.called("parallelism.data_parallel_replicate_degree") + " is " + std::to_string(replicas()) +
                    " but dp is " + std::to_string(dp) + "; it must divide dp");
  }
  std::optional<int> given(const char* key) const { return number(format_, kept_, key); }
  bool left_open(const char* key) const {
    const auto said = kept_.find(key);
    return said == kept_.end() || said->second == -1;
  }
  int replicas() const { return given("parallelism.data_parallel_replicate_degree").value_or(1); }
  int local_batch() const { return given("training.local_batch_size").value_or(8); }

  void sharding(draft& d) const {
    const char* key = "parallelism.data_parallel_shard_degree";
    if (!leaves_dp_open() && given(key) == 1) return;
    d.set("zero", 3, kept_.count(key) != 0 ? format_.called(key) : by_default);
    if (replicas() > 1)
      d.warn(format_.called("parallelism.data_parallel_replicate_degree") +
             ": sharding over a part of dp cannot be said; checked over all of it");
  }
  // Weights and optimizer are kept in training.dtype; FSDP casts them where it gathers.
  void precision(draft& d) const {
    const auto whole = kept_.find("training.dtype");
    if (whole != kept_.end() && whole->second != "float32")
      d.warn(format_.called("training.dtype") + ": weights kept in fewer bits are not checked");
    const auto cast = kept_.find("training.mixed_precision_param");
    const json type = cast == kept_.end() ? json("bfloat16") : cast->second;
    if (cast == kept_.end()) return d.fall_back("precision.param", "bf16", by_default);
    if (type == "bfloat16") return d.set("precision.param", "bf16", format_.called(cast->first));
    if (type != "float32")
      throw bad_input(format_.called(cast->first) + " is " + shown(text_of(type)) +
                      "; it takes one of bfloat16, float32");
  }
  void stages(draft& d) const {
    const auto each = given("parallelism.pipeline_parallel_layers_per_stage");
    for (const char* key : {"parallelism.pipeline_parallel_first_stage_less_layers",
                            "parallelism.pipeline_parallel_last_stage_less_layers"})
      if (given(key).value_or(0) != 0)
        d.warn(format_.called(key) + ": unequal stages are not read; give --stage-layers");
    const long long layers = d.values().model.layers, pp = d.values().plan.pp;
    if (pp > 1 && !d.has("stage_layers"))
      d.warn(format_.called("parallelism.pipeline_parallel_degree") +
             ": torchtitan may give the first and the last stage fewer layers; checked in equal shares without "
             "--stage-layers");
    if (each && *each > 0 && pp > 0 && layers % (pp * *each) == 0)
      return d.set("virtual_stages", layers / (pp * *each),
                   format_.called("parallelism.pipeline_parallel_layers_per_stage"));
    if (each)
      throw bad_input(format_.called("parallelism.pipeline_parallel_layers_per_stage") + " is " +
                      std::to_string(*each) + ": layers (" + std::to_string(layers) + ") over pp (" +
                      std::to_string(pp) + ") are no whole number of such stages");
    const mp::schedule_kind schedule = d.values().plan.schedule;
    if (pp > 1 && schedule != mp::schedule_kind::gpipe && schedule != mp::schedule_kind::one_f_one_b)
      d.fall_back("virtual_stages", 2, by_default);
    equal_stages(d);
  }
  void equal_stages(const draft& d) const {
    const long chunks = mp::chunk_count(d.values().plan);
    if (d.values().plan.pp < 2 || chunks < 1 || d.has("stage_layers") || d.values().model.layers % chunks == 0) return;
    throw bad_input(format_.called("parallelism.pipeline_parallel_degree") + ": layers (" +
                    std::to_string(d.values().model.layers) + ") are no equal shares for " + std::to_string(chunks) +
                    " stages; give --stage-layers");
  }
  // A pipeline cuts the local batch; without one it is a single micro-batch.
  void micro_batch(draft& d) const {
    const char* cut = "parallelism.pipeline_parallel_microbatch_size";
    const char* key = d.values().plan.pp > 1 ? cut : "training.local_batch_size";
    if (const auto n = given(key)) return d.set("micro_batch", *n, format_.called(key));
    d.fall_back("micro_batch", key == cut ? 1 : local_batch(), by_default);
  }

  foreign_format format_;
  foreign_values kept_;
};

}  // namespace

pending read_torchtitan(const std::string& path, const std::set<std::string>& ignored, draft& into) {
  const foreign_format format{torchtitan_keys, "key", " in " + in_quotes(path), ignored};
  const torchtitan rest(format, take_all(format, toml_of(path), into));
  if (const auto dp = rest.dp()) into.set("dp", *dp, format.called("parallelism.data_parallel_shard_degree"));
  return {.sizes = [rest](draft& d) { rest.sizes(d); },
          .batch = [rest](draft& d) { rest.batch(d); },
          .leaves_dp_open = rest.leaves_dp_open()};
}

}  // namespace meshpar_tools
