// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The model of a config.json. The plan and the batch come from elsewhere.
#include "files.hpp"
#include "huggingface_keys.hpp"
#include "readers.hpp"

#include <algorithm>

namespace meshpar_tools {

namespace {

// What a model type fixes beside its keys.
struct model_type {
  std::string_view name;
  bool llama;  // RMSNorm, SwiGLU, rotary positions, no biases
  bool experts;
  const char* width;  // the key of the width that tp or etp cuts
  bool qk_norm;
  double norm_eps, rope_theta;
};
constexpr model_type model_types[] = {{"gpt2", false, false, "n_inner", false, 1e-5, 10000},
                                      {"llama", true, false, "intermediate_size", false, 1e-6, 10000},
                                      {"mixtral", true, true, "intermediate_size", false, 1e-5, 1e6},
                                      {"qwen3_moe", true, true, "moe_intermediate_size", true, 1e-6, 10000},
                                      {"deepseek_v3", true, true, "moe_intermediate_size", false, 1e-6, 10000}};

const model_type& type_of(const foreign_format& format, const foreign_values& kept) {
  const auto said = kept.find("model_type");
  for (const model_type& t : model_types)
    if (said != kept.end() && said->second == std::string(t.name)) return t;
  throw bad_input(format.called("model_type") + " is " +
                  (said == kept.end() ? "not given" : shown(text_of(said->second))) + "; it must be one of " +
                  huggingface_types());
}

class huggingface {
 public:
  huggingface(const foreign_format& format, const foreign_values& kept)
      : format_(format), kept_(kept), type_(&type_of(format, kept)) {}

  void sizes(draft& d) const {
    family(d);
    width(d);
    head_dim(d);
    window(d);
    positions(d);
    if (!type_->llama) dropout(d);
    if (type_->experts) required(d);
  }

 private:
  std::string default_of() const { return "the default of model_type " + std::string(type_->name); }

  // What the library has defaults for that a published file need not mean.
  void required(const draft& d) const {
    for (const auto& [field, what] :
         {std::pair{"experts", "the number of experts"}, {"kv_heads", "num_key_value_heads"}})
      if (!d.has(field)) throw bad_input(what + format_.place + " is not given; add " + option_of(field) + " N");
  }
  void family(draft& d) const {
    const std::string source = "model_type " + std::string(type_->name);
    d.set("norm", type_->llama ? "rms" : "layer", source);
    d.set("positions", type_->llama ? "rotary" : "learned", source);
    d.set("bias", !type_->llama, source);
    d.set("qk_norm", type_->qk_norm, source);
    d.fall_back("activation", type_->llama ? "swiglu" : "gelu", default_of());
    d.fall_back("norm_eps", type_->norm_eps, default_of());
    d.fall_back("rope_theta", type_->rope_theta, default_of());
    const auto tied = kept_.find("tie_word_embeddings");
    if (tied != kept_.end()) return d.set("tied_embeddings", tied->second, format_.called(tied->first));
    d.fall_back("tied_embeddings", !type_->llama, default_of());
  }
  void width(draft& d) const {
    if (const auto n = number(format_, kept_, type_->width)) d.set("ffn", *n, format_.called(type_->width));
    if (!type_->llama) d.fall_back("ffn", 4LL * d.values().model.hidden, default_of());
  }
  // The head_dim of a latent attention's file is its rotary part.
  void head_dim(draft& d) const {
    if (kept_.count("kv_lora_rank") != 0)
      return latent_attention(format_, kept_, {"kv_lora_rank", "v_head_dim", "qk_nope_head_dim", "qk_rope_head_dim"},
                              d);
    if (const auto n = number(format_, kept_, "head_dim"); n && type_->name != "deepseek_v3")
      d.set("head_dim", *n, format_.called("head_dim"));
  }
  void window(draft& d) const {
    const auto used = kept_.find("use_sliding_window");
    const bool off = used != kept_.end() && used->second == false;
    if (kept_.count("sliding_window") != 0 && !off)
      d.warn(format_.called("sliding_window") + ": windows of attention are not part of our model");
  }
  void positions(draft& d) const {
    const char* key = type_->llama ? "max_position_embeddings" : "n_positions";
    const auto most = number(format_, kept_, key);
    const int seq = d.values().model.seq;
    if (!most || seq <= *most) return;
    const std::string sentence =
        format_.called(key) + " is " + std::to_string(*most) + " but seq is " + std::to_string(seq);
    if (!type_->llama) throw bad_input(sentence + "; learned positions end there");
    d.warn(sentence + ": longer than the model was made for");
  }
  void dropout(draft& d) const {
    d.fall_back("dropout", 0.1, default_of());
    for (const char* key : {"embd_pdrop", "attn_pdrop"})
      if (const auto said = kept_.find(key); said != kept_.end() && said->second != d.values().model.dropout)
        d.warn(format_.called(key) + ": our model has one dropout; checked with " + d.source("dropout"));
  }

  foreign_format format_;
  foreign_values kept_;
  const model_type* type_;
};

}  // namespace

std::string huggingface_types() {
  std::string all;
  for (const model_type& t : model_types) all += (all.empty() ? "" : ", ") + std::string(t.name);
  return all;
}

pending read_huggingface(const std::string& path, const std::set<std::string>& ignored, draft& into) {
  const foreign_format format{huggingface_keys, "key", " in " + in_quotes(path), ignored};
  const huggingface rest(format, take_all(format, json_of(path), into));
  return {.sizes = [rest](draft& d) { rest.sizes(d); }};
}

}  // namespace meshpar_tools
