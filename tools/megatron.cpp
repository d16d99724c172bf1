// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A Megatron-LM command line. Where a flag is left out Megatron-LM's default stands, not ours.
#include "megatron_flags.hpp"
#include "readers.hpp"

#include <algorithm>

namespace meshpar_tools {

namespace {

constexpr const char* by_default = "the default of Megatron-LM";

bool is_flag(const std::string& word) { return word.starts_with("--"); }

// Words of a launcher and the script: what stands on a command line and is no flag.
bool starts_a_program(const std::string& word) {
  constexpr std::string_view known[] = {
      "torchrun", "python", "python3", "deepspeed", "-m", "-u", "torch.distributed.run", "torch.distributed.launch"};
  return word.ends_with(".py") || std::find(std::begin(known), std::end(known), word) != std::end(known);
}

bool is_own(const std::string& word) {
  bool found = word == "--world-size";
  const configuration any;
  each_field(any, [&](const char*, const char* field, const auto&) { found = found || word == option_of(field); });
  return found;
}

class line_reader {
 public:
  line_reader(const foreign_format& format, const std::vector<std::string>& line, draft& into)
      : format_(format), line_(line), into_(into) {}

  foreign_values read() {
    while (at_ < line_.size()) word(line_[at_++]);
    return kept_;
  }

 private:
  void word(const std::string& w) {
    if (starts_a_program(w)) return;
    if (!is_flag(w)) throw bad_input(in_quotes(w) + " is neither a flag nor the value of one; flags begin with --");
    const auto equals = w.find('=');
    const std::string name = w.substr(0, equals);
    if (format_.ignored.count(name) != 0) return void(values());
    const foreign_entry* entry = format_.find(name);
    if (entry == nullptr && is_own(name))
      throw bad_input(name + " is an option of meshpar; it stands before --, not among the flags of Megatron-LM");
    if (entry == nullptr) format_.unknown(name);
    if (!seen_.insert(name).second) throw bad_input(shown(name) + " is given twice; leave one of them out");
    take(format_, *entry, name, value(*entry, name, equals == w.npos ? nullptr : w.c_str() + equals + 1),
         entry->count != takes::none, into_, kept_);
  }
  json value(const foreign_entry& entry, const std::string& name, const char* behind_equals) {
    if (entry.count == takes::any) return behind_equals != nullptr ? json(behind_equals) : json(values());
    if (entry.count == takes::none) {
      if (behind_equals != nullptr) throw bad_input(shown(name) + " takes no value");
      return true;
    }
    if (behind_equals != nullptr) return behind_equals;
    if (at_ == line_.size() || is_flag(line_[at_])) throw bad_input(shown(name) + " has no value; write one behind it");
    return line_[at_++];
  }
  std::string values() {
    std::string all;
    for (; at_ < line_.size() && !is_flag(line_[at_]); ++at_) all += (all.empty() ? "" : " ") + line_[at_];
    return all;
  }

  const foreign_format& format_;
  const std::vector<std::string>& line_;
  draft& into_;
  std::size_t at_ = 0;
  std::set<std::string> seen_;
  foreign_values kept_;
};

// What follows from several flags together.
class megatron {
 public:
  megatron(const foreign_format& format, const foreign_values& kept) : format_(format), kept_(kept) {}

  void sizes(draft& d) const {
    kv_heads(d);
    latent_heads(d);
    width(d);
    positions(d);
    experts(d);
    dropout(d);
    sequence_parallel(d);
    sharding(d);
    precision(d);
    pipeline(d);
    if (has("--nnodes") && !has("--nproc-per-node"))
      d.warn("--nnodes: without --nproc-per-node it says no number of ranks; not checked");
    if (!d.has("micro_batch")) throw bad_input("--micro-batch-size is not given; Megatron-LM has no default for it");
  }
  void batch(draft& d) const {
    d.fall_back("global_batch", 1LL * d.values().job.micro_batch * d.values().plan.dp, by_default);
    d.fall_back("seed", 1234, by_default);
    groups(d);
  }
  std::optional<long> world_size() const {
    const auto per_node = given("--nproc-per-node"), nodes = given("--nnodes");
    if (!per_node) return {};
    return 1L * *per_node * nodes.value_or(1);
  }

 private:
  bool has(const char* flag) const { return kept_.count(flag) != 0; }
  std::optional<int> given(const char* flag) const { return number(format_, kept_, flag); }

  void kv_heads(draft& d) const {
    if (has("--group-query-attention"))
      d.set("kv_heads", given("--num-query-groups").value_or(1), "--num-query-groups");
    else if (has("--num-query-groups"))
      d.warn(
          "--num-query-groups: without --group-query-attention Megatron-LM does not look at it; checked with as many "
          "KV heads as heads");
  }
  void latent_heads(draft& d) const {
    if (!has("--multi-latent-attention")) return;
    if (!has("--v-head-dim")) d.fall_back("head_dim", 128, by_default);
    latent_attention(format_, kept_,
                     {"--multi-latent-attention", "--v-head-dim", "--qk-head-dim", "--qk-pos-emb-head-dim"}, d);
  }
  // Of an expert where there are experts.
  void width(draft& d) const {
    const char* flag =
        d.values().model.experts > 0 && has("--moe-ffn-hidden-size") ? "--moe-ffn-hidden-size" : "--ffn-hidden-size";
    if (const auto n = given(flag)) return d.set("ffn", *n, flag);
    const long long hidden = d.values().model.hidden;
    const bool gated = d.values().model.activation == mp::activation_kind::swiglu;
    d.fall_back("ffn", gated ? 8 * hidden / 3 / 64 * 64 : 4 * hidden, by_default);
  }
  void positions(draft& d) const {
    const auto most = given("--max-position-embeddings");
    if (most && *most < d.values().model.seq)
      throw bad_input("--max-position-embeddings is " + std::to_string(*most) + " but seq is " +
                      std::to_string(d.values().model.seq) + "; Megatron-LM needs at least as many");
    if (!most && d.values().model.positions == mp::position_kind::learned)
      d.warn("--max-position-embeddings is not given; Megatron-LM needs it, at least seq");
  }
  void experts(draft& d) const {
    if (d.values().model.experts == 0) return;
    d.fall_back("top_k", 2, by_default);
    d.fall_back("etp", d.values().plan.tp, by_default);
  }
  void dropout(draft& d) const {
    d.fall_back("dropout", 0.1, by_default);
    if (number<double>(format_, kept_, "--attention-dropout").value_or(0.1) != d.values().model.dropout)
      d.warn("--attention-dropout: our model has one dropout; checked with that of --hidden-dropout");
  }
  void sequence_parallel(draft& d) const {
    if (!has("--sequence-parallel")) return;
    if (d.values().plan.tp != 1) return d.set("sequence_parallel", true, "--sequence-parallel");
    d.warn("--sequence-parallel: with tp 1 Megatron-LM switches it off; checked without");
  }
  void sharding(draft& d) const {
    if (!has("--use-distributed-optimizer")) return;
    const std::string source = d.source("zero");
    if (source == "--data-parallel-sharding-strategy" || source == "--use-torch-fsdp2") return;
    d.set("zero", 1, "--use-distributed-optimizer");
  }
  void precision(draft& d) const {
    take_fp16(format_, kept_, "--fp16", d);
    if (!has("--grad-reduce-in-bf16")) return;
    d.set("precision.grad", "bf16", "--grad-reduce-in-bf16");
    d.set("precision.reduce", "bf16", "--grad-reduce-in-bf16");
  }

  // Interleaved, Megatron-LM takes micro-batches in groups: none smaller than pp, none larger than there are.
  void groups(const draft& d) const {
    const char* flag = "--microbatch-group-size-per-virtual-pipeline-stage";
    const mp::plan& p = d.values().plan;
    const long piece = mp::capped_product(p.dp, d.values().job.micro_batch);
    if (p.pp < 2 || p.virtual_stages < 2 || piece < 1 || d.values().job.global_batch % piece != 0) return;
    const long all = d.values().job.global_batch / piece, group = given(flag).value_or(p.pp);
    if (all < p.pp) return;  // a rule says so
    if (group < p.pp || group > all || (all % group > 0 && all % group < p.pp))
      throw bad_input("Megatron-LM takes the " + std::to_string(all) + " micro-batches of a step in groups of " +
                      std::to_string(group) + "; none may have fewer than pp (" + std::to_string(p.pp) + "), see " +
                      flag);
  }

  // Layers as the pipeline counts them: the embedding and the loss may count as one each.
  struct counted {
    int embedding = 0, loss = 0;
    int extra() const { return embedding + loss; }
  };
  counted counts() const {
    counted c{has("--account-for-embedding-in-pipeline-split"), has("--account-for-loss-in-pipeline-split")};
    const auto method = kept_.find("--pp-partition-method");
    if (method == kept_.end()) return c;
    if (method->second == "type:transformer|embedding") return {1, 1};
    if (method->second == "type:transformer") return c;
    throw bad_input("--pp-partition-method is " + in_quotes(method->second.get<std::string>()) +
                    "; it takes one of type:transformer, type:transformer|embedding");
  }
  void pipeline(draft& d) const {
    const counted c = counts();
    virtual_stages(d, c);
    if (d.values().plan.virtual_stages > 1) d.fall_back("schedule", "interleaved", "the virtual stages of Megatron-LM");
    if (has("--pipeline-model-parallel-layout") && !d.has("stage_layers"))
      throw bad_input("--pipeline-model-parallel-layout is not read; give --stage-layers");
    if (c.extra() > 0) return shares(d, c);
    ends(d);
  }
  void virtual_stages(draft& d, const counted& c) const {
    const char* flag = "--num-layers-per-virtual-pipeline-stage";
    const auto each = given(flag);
    const long long all = 1LL * d.values().model.layers + c.extra(), pp = d.values().plan.pp;
    if (!each || pp < 1) return;
    if (*each < 1 || all % (pp * *each) != 0)
      throw bad_input(std::string(flag) + " is " + std::to_string(*each) + ": " + std::to_string(all) +
                      " layers over pp " + std::to_string(pp) + " are no whole number of such stages");
    d.set("virtual_stages", all / (pp * *each), flag);
  }
  void shares(draft& d, const counted& c) const {
    const long long chunks = mp::chunk_count(d.values().plan), all = 1LL * d.values().model.layers + c.extra();
    for (const char* end : {"--decoder-first-pipeline-num-layers", "--decoder-last-pipeline-num-layers"})
      if (has(end))
        throw bad_input(std::string(end) +
                        " cannot stand beside counting the embedding or the loss as a layer; leave "
                        "one of them out");
    if (chunks < 2) return;
    const std::string sentence = "the pipeline counts " + std::to_string(all) + " layers with embedding and loss; ";
    if (all % chunks != 0)
      throw bad_input(sentence + "they are no equal shares for " + std::to_string(chunks) + " stages");
    if (chunks > mp::stage_limit) return d.warn(sentence + "checked without");
    std::vector<long long> layers(static_cast<std::size_t>(chunks), all / chunks);
    layers.front() -= c.embedding;
    layers.back() -= c.loss;
    d.set("stage_layers", layers, "the embedding and the loss in the pipeline split");
  }
  // The first and the last stage by hand, the rest in equal shares; the layers of a rank in equal virtual stages.
  void ends(draft& d) const {
    const auto first = given("--decoder-first-pipeline-num-layers"), last = given("--decoder-last-pipeline-num-layers");
    const mp::plan& p = d.values().plan;
    if ((!first && !last) || mp::chunk_count(p) < 1) return;
    if (mp::chunk_count(p) > mp::stage_limit)
      return d.warn("--decoder-first-pipeline-num-layers, --decoder-last-pipeline-num-layers: with more than " +
                    std::to_string(mp::stage_limit) + " stages they are not read");
    const long long between = p.pp - (first ? 1 : 0) - (last ? 1 : 0);
    const long long rest = 1LL * d.values().model.layers - first.value_or(0) - last.value_or(0);
    if (rest < 0 || between < 0 || (between == 0 ? rest != 0 : rest % between != 0))
      throw bad_input("layers (" + std::to_string(d.values().model.layers) +
                      ") less those of the first and the last stage are " + std::to_string(rest) +
                      ", no equal shares for the " + std::to_string(std::max(between, 0LL)) + " stages between");
    std::vector<long long> ranks(static_cast<std::size_t>(p.pp), between == 0 ? 0 : rest / between);
    if (first) ranks.front() = *first;
    if (last) ranks.back() = *last;
    d.set("stage_layers", in_virtual_stages(ranks, p.virtual_stages), "the layers of the first and the last stage");
  }
  // Every rank's first virtual stage, then every rank's second, and so on.
  static std::vector<long long> in_virtual_stages(const std::vector<long long>& ranks, int each) {
    std::vector<long long> layers;
    for (int v = 0; v < each; ++v)
      for (const long long n : ranks) {
        if (n % each != 0)
          throw bad_input("a stage of " + std::to_string(n) + " layers is no equal shares for " + std::to_string(each) +
                          " virtual stages");
        layers.push_back(n / each);
      }
    return layers;
  }

  foreign_format format_;
  foreign_values kept_;
};

}  // namespace

pending read_megatron(const std::vector<std::string>& line, const std::set<std::string>& ignored, draft& into) {
  const foreign_format format{megatron_flags, "flag", "", ignored};
  const megatron rest(format, line_reader(format, line, into).read());
  return {.sizes = [rest](draft& d) { rest.sizes(d); },
          .batch = [rest](draft& d) { rest.batch(d); },
          .world_size = rest.world_size(),
          .leaves_dp_open = true};
}

}  // namespace meshpar_tools
