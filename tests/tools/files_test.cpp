// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The formats that are files: config.json of Hugging Face, job files of torchtitan, configurations of DeepSpeed.
#include "given.hpp"
#include "tools/deepspeed_keys.hpp"
#include "tools/huggingface_keys.hpp"
#include "tools/torchtitan_keys.hpp"

#include <doctest/doctest.h>

namespace {

constexpr std::initializer_list<const char*> model_sizes = {"layers", "hidden", "heads", "ffn", "vocab"};

mt::draft hf(const std::string& text) {
  const scratch_file file(text);
  mt::inputs in = without(whole(), model_sizes);
  in.huggingface = file.path();
  return mt::resolve(in);
}
mt::draft titan(const std::string& text, const char* ranks = "8", const char* seq = nullptr) {
  const scratch_file file(text);
  mt::inputs in = without(whole(), {"seq", "global_batch"});
  in.torchtitan = file.path();
  in.world_size = ranks;
  if (seq != nullptr) in.options["seq"] = seq;
  return mt::resolve(in);
}
mt::draft deepspeed(const std::string& text, const char* ranks = nullptr) {
  const scratch_file file(text);
  mt::inputs in = without(whole(), {"global_batch"});
  in.deepspeed = file.path();
  if (ranks != nullptr) in.world_size = ranks;
  return mt::resolve(in);
}

}  // namespace

TEST_CASE("gpt2") {
  const mt::draft d = hf(R"({"model_type": "gpt2", "n_layer": 12, "n_embd": 768, "n_head": 12, "n_inner": null,
    "n_positions": 1024, "vocab_size": 50257, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-05,
    "resid_pdrop": 0.1, "embd_pdrop": 0.1, "attn_pdrop": 0.1, "architectures": ["GPT2LMHeadModel"]})");
  CHECK(d.values().model ==
        mp::model{.layers = 12, .hidden = 768, .heads = 12, .ffn = 3072, .vocab = 50257, .seq = 64, .dropout = 0.1});
  CHECK(d.warnings().empty());
}

TEST_CASE("llama") {
  const std::string rest = R"("num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256, "hidden_act": "silu",
    "rms_norm_eps": 1e-05, "max_position_embeddings": 8192, )";
  const mp::model expected = mp::llama_like({.layers = 32,
                                             .hidden = 4096,
                                             .heads = 32,
                                             .kv_heads = 8,
                                             .ffn = 14336,
                                             .vocab = 128256,
                                             .seq = 64,
                                             .norm_eps = 1e-5,
                                             .rope_theta = 500000});
  CHECK(hf(R"({"model_type": "llama", )" + rest + R"("rope_theta": 500000.0})").values().model == expected);
  CHECK(hf(R"({"model_type": "llama", )" + rest + R"("rope_parameters": {"rope_theta": 5e5, "rope_type": "default"}})")
            .values()
            .model == expected);
  mp::model tied = expected;
  tied.tied_embeddings = true;
  tied.head_dim = 64;
  CHECK(hf(R"({"model_type": "llama", "tie_word_embeddings": true, "head_dim": 64, )" + rest + R"("rope_theta": 5e5})")
            .values()
            .model == tied);
  CHECK(warned(hf(R"({"model_type": "llama", "attention_bias": true, )" + rest + R"("mlp_bias": false})"),
               "attention_bias in"));
}

TEST_CASE("mixtral") {
  const mt::draft d = hf(R"({"model_type": "mixtral", "num_hidden_layers": 32, "hidden_size": 4096,
    "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "num_local_experts": 8,
    "num_experts_per_tok": 2, "vocab_size": 32000, "sliding_window": 4096})");
  CHECK(d.values().model == mp::llama_like({.layers = 32,
                                            .hidden = 4096,
                                            .heads = 32,
                                            .kv_heads = 8,
                                            .ffn = 14336,
                                            .vocab = 32000,
                                            .seq = 64,
                                            .experts = 8,
                                            .top_k = 2,
                                            .rope_theta = 1e6}));
  CHECK(warned(d, "sliding_window in"));
}

TEST_CASE("qwen3_moe: the width is that of an expert, and dense layers are named") {
  const mt::draft d = hf(R"({"model_type": "qwen3_moe", "num_hidden_layers": 94, "hidden_size": 4096, "head_dim": 128,
    "num_attention_heads": 64, "num_key_value_heads": 4, "intermediate_size": 12288, "moe_intermediate_size": 1536,
    "num_experts": 128, "num_experts_per_tok": 8, "vocab_size": 151936, "rope_theta": 1000000.0, "rms_norm_eps": 1e-06,
    "decoder_sparse_step": 1, "mlp_only_layers": [0], "sliding_window": null, "use_sliding_window": false})");
  mp::model expected = mp::llama_like({.layers = 94,
                                       .hidden = 4096,
                                       .heads = 64,
                                       .kv_heads = 4,
                                       .head_dim = 128,
                                       .ffn = 1536,
                                       .vocab = 151936,
                                       .seq = 64,
                                       .experts = 128,
                                       .top_k = 8,
                                       .norm_eps = 1e-6,
                                       .rope_theta = 1e6});
  expected.qk_norm = true;
  CHECK(d.values().model == expected);
  CHECK(warned(d, "mlp_only_layers in"));
  CHECK_FALSE(warned(d, "decoder_sparse_step"));
  CHECK_FALSE(warned(d, "sliding_window"));
}

TEST_CASE("deepseek_v3: latent attention, shared experts and dense layers are named") {
  const mt::draft d = hf(R"({"model_type": "deepseek_v3", "num_hidden_layers": 61, "hidden_size": 7168,
    "num_attention_heads": 128, "num_key_value_heads": 128, "intermediate_size": 18432, "moe_intermediate_size": 2048,
    "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 3,
    "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
    "vocab_size": 129280, "num_nextn_predict_layers": 1, "quantization_config": {"quant_method": "fp8"},
    "rope_scaling": {"type": "yarn", "factor": 40}, "scoring_func": "sigmoid", "topk_method": "noaux_tc"})");
  CHECK(d.values().model == mp::llama_like({.layers = 61,
                                            .hidden = 7168,
                                            .heads = 128,
                                            .kv_heads = 128,
                                            .head_dim = 128,
                                            .ffn = 2048,
                                            .vocab = 129280,
                                            .seq = 64,
                                            .experts = 256,
                                            .top_k = 8,
                                            .norm_eps = 1e-6}));
  for (const char* key :
       {"kv_lora_rank", "n_shared_experts", "first_k_dense_replace", "num_nextn_predict_layers", "quantization_config"})
    CHECK(warned(d, std::string(key) + " in"));
}

TEST_CASE("latent attention: heads are those of its values, or of both parts of its keys") {
  const auto head_dim = [](const std::string& keys, const std::string& source) {
    const mt::draft d = hf(R"({"model_type": "deepseek_v3", "num_hidden_layers": 2, "hidden_size": 2048,
      "num_attention_heads": 24, "num_key_value_heads": 24, "moe_intermediate_size": 64, "n_routed_experts": 8,
      "num_experts_per_tok": 2, "vocab_size": 96, "kv_lora_rank": 512)" +
                           keys + "}");
    CHECK(d.warnings().front().find("head_dim by " + source) != std::string::npos);
    return d.values().model.head_dim;
  };
  const std::string parts = R"(, "qk_nope_head_dim": 96, "qk_rope_head_dim": 32, "head_dim": 32)";
  CHECK(head_dim(parts + R"(, "v_head_dim": 64)", "v_head_dim in ") == 64);
  CHECK(head_dim(parts, "qk_nope_head_dim in ") == 128);
  CHECK(head_dim("", "its default") == 0);
}

TEST_CASE("longer sequences than the model was made for") {
  const char* llama = R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4,
    "intermediate_size": 128, "vocab_size": 96, "max_position_embeddings": 32})";
  CHECK(warned(hf(llama), "max_position_embeddings in"));
}

TEST_CASE("torchtitan: FSDP takes the ranks that are left") {
  const mt::draft d = titan(
      "[training]\nseq_len = 32\nlocal_batch_size = 3\n[parallelism]\n"
      "tensor_parallel_degree = 2\ncontext_parallel_degree = 2\nexpert_parallel_degree = 1\n"
      "[activation_checkpoint]\nmode = 'selective'\n");
  CHECK(d.values().job == mp::job{.global_batch = 6, .micro_batch = 3});
  CHECK(d.values().plan == mp::plan{.dp = 2,
                                    .cp = 2,
                                    .tp = 2,
                                    .sequence_parallel = true,
                                    .zero = 3,
                                    .recompute = mp::recompute_kind::selective,
                                    .context_exchange = mp::exchange_kind::all_gather,
                                    .precision = mp::mixed_bf16});
  CHECK(d.values().model.seq == 32);
}

TEST_CASE("torchtitan: pipelines, replicas, and the whole batch") {
  const std::string pipeline =
      "[training]\nseq_len = 64\nbatch_size = 8\nglobal_batch_size = 64\nmixed_precision_param = 'float32'\n"
      "[parallelism]\npipeline_parallel_degree = 2\npipeline_parallel_schedule = 'Interleaved1F1B'\n"
      "pipeline_parallel_microbatch_size = 2\npipeline_parallel_layers_per_stage = 1\n"
      "data_parallel_replicate_degree = 2\ndata_parallel_shard_degree = ";
  const mt::draft d = titan(pipeline + "2\n");
  CHECK(d.values().job == mp::job{.global_batch = 64, .micro_batch = 2});
  CHECK(d.values().plan == mp::plan{.pp = 2,
                                    .dp = 4,
                                    .zero = 3,
                                    .schedule = mp::schedule_kind::interleaved,
                                    .virtual_stages = 2,
                                    .context_exchange = mp::exchange_kind::all_gather});
  CHECK(warned(d, "parallelism.data_parallel_replicate_degree in"));
  CHECK(warned(d, "parallelism.pipeline_parallel_degree in"));
  CHECK(titan(pipeline + "1\n", "4").values().plan.zero == 0);
}

TEST_CASE("torchtitan: what cannot be cut is refused") {
  const auto refused = [](const std::string& parallelism) {
    const scratch_file file("[training]\nseq_len = 64\n[parallelism]\n" + parallelism);
    mt::inputs in = without(whole(), {"seq", "global_batch"});
    in.torchtitan = file.path();
    in.world_size = "6";
    return refusal(in);
  };
  CHECK(refused("pipeline_parallel_degree = 3\n")
            .ends_with("layers (4) are no equal shares for 3 stages; give --stage-layers"));
  CHECK(refused("data_parallel_replicate_degree = 4\n").ends_with("is 4 but dp is 6; it must divide dp"));
  CHECK(refused("data_parallel_replicate_degree = 2\n").empty());
  const std::string two = "[training]\nseq_len = 64\n[parallelism]\npipeline_parallel_degree = 2\n";
  CHECK(titan(two).values().plan.virtual_stages == 1);
  for (const char* schedule : {"Interleaved1F1B", "ZBVZeroBubble", "DualPipeV"})
    CHECK(titan(two + "pipeline_parallel_schedule = '" + schedule + "'\n").values().plan.virtual_stages == 2);
}

TEST_CASE("torchtitan: fewer bits are named, once for a section") {
  const std::string seq = "[training]\nseq_len = 32\n";
  const mt::draft d =
      titan(seq +
            "[model]\nconverters = 'float8'\n[float8]\nfilter_fqns = 'output'\nrecipe_name = 'rowwise'\n"
            "[mx]\nrecipe_name = 'mxfp8'\n");
  CHECK(warned(d, "model.converters in"));
  CHECK(warned(d, "float8.* in"));
  CHECK(warned(d, "mx.* in"));
  CHECK(d.warnings().size() == 3);
  CHECK(titan(seq + "[model]\nconverters = ''\n").warnings().empty());
  CHECK(titan(seq + "[model]\nconverters = []\n").warnings().empty());
}

TEST_CASE("deepspeed: one of the batch sizes and dp may be left out") {
  const auto batch = [](const mt::draft& d) {
    return mt::json{d.values().job.global_batch, d.values().job.micro_batch, d.values().plan.dp};
  };
  const std::string all = R"("train_batch_size": 48)", micro = R"("train_micro_batch_size_per_gpu": 2)",
                    steps = R"("gradient_accumulation_steps": 6)";
  CHECK(batch(deepspeed("{" + all + "," + micro + "," + steps + "}")) == mt::json{48, 2, 4});
  CHECK(batch(deepspeed("{" + micro + "," + steps + "}", "4")) == mt::json{48, 2, 4});
  CHECK(batch(deepspeed("{" + all + "," + steps + "}", "4")) == mt::json{48, 2, 4});
  CHECK(batch(deepspeed("{" + all + "," + micro + "}", "4")) == mt::json{48, 2, 4});
}

TEST_CASE("deepspeed: the whole batch or the micro-batch alone means one step of accumulation") {
  const mt::draft whole_batch = deepspeed(R"({"train_batch_size": 48})", "4");
  CHECK(whole_batch.values().job.micro_batch == 12);
  CHECK(warned(whole_batch, "train_batch_size in"));
  const mt::draft micro = deepspeed(R"({"train_micro_batch_size_per_gpu": 3})", "4");
  CHECK(micro.values().job.global_batch == 12);
  CHECK(warned(micro, "train_micro_batch_size_per_gpu in"));
  mt::inputs in = without(whole(), {"global_batch"});
  const scratch_file steps(R"({"gradient_accumulation_steps": 6})");
  in.deepspeed = steps.path();
  in.world_size = "4";
  CHECK(refusal(in) == "not given: global_batch; add --global-batch N");
}

TEST_CASE("deepspeed: an autotp_size of 0 is off") {
  const auto tp = [](const std::string& size) {
    return deepspeed(R"({"train_batch_size": 8, "tensor_parallel": {"autotp_size": )" + size + "}}", "4")
        .values()
        .plan.tp;
  };
  CHECK(tp("0") == 1);
  CHECK(tp("2") == 2);
}

TEST_CASE("deepspeed: ZeRO and precision") {
  const std::string batch = R"("train_batch_size": 8, "train_micro_batch_size_per_gpu": 1)";
  const mt::draft d = deepspeed("{" + batch + R"(, "zero_optimization": {"stage": 3, "overlap_comm": true},
    "bf16": {"enabled": true}, "fp16": {"enabled": false}, "gradient_clipping": "auto"})",
                                "8");
  CHECK(d.values().plan == mp::plan{.dp = 8, .zero = 3, .precision = mp::mixed_bf16});
  CHECK(d.warnings().size() == 1);
  CHECK(warned(d, "gradient_clipping in"));
  CHECK(warned(deepspeed("{" + batch + R"(, "fp16": {"enabled": true}})", "8"), "fp16.enabled in"));
  CHECK(deepspeed("{" + batch + R"(, "bf16": {"enabled": false}})", "8").values().plan.precision == mp::all_f32);
  const scratch_file both("{" + batch + R"(, "bf16": {"enabled": true}, "fp16": {"enabled": true}})");
  mt::inputs in = without(whole(), {"global_batch"});
  in.deepspeed = both.path();
  CHECK(refusal(in) == "precision.param is \"bf16\" by bf16.enabled in '" + both.path() +
                           "' and \"f32\" by fp16.enabled in '" + both.path() + "'; leave one of them out");
}

TEST_CASE("sources join: what one leaves open another says") {
  const scratch_file model(R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64,
    "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 96})");
  const scratch_file plan("[training]\nseq_len = 32\n[parallelism]\ntensor_parallel_degree = 2\n");
  mt::inputs in;
  in.huggingface = model.path();
  in.torchtitan = plan.path();
  in.world_size = "4";
  in.options["head_dim"] = "32";
  const mt::configuration c = mt::resolve(in).values();
  CHECK(c.model.hidden == 64);
  CHECK(c.model.head_dim == 32);
  CHECK(c.plan.dp == 2);
  in.options["tp"] = "4";
  CHECK(refusal(in) ==
        "tp is 4 by --tp and 2 by parallelism.tensor_parallel_degree in '" + plan.path() + "'; leave one of them out");
}

TEST_CASE("the tables are sound") {
  const auto sound = [](std::span<const mt::foreign_entry> table) {
    std::set<std::string_view> names;
    for (const mt::foreign_entry& e : table) {
      CAPTURE(std::string(e.name));
      CHECK(names.insert(e.name).second);
      CHECK((e.does != mt::means::unsupported || !e.what.empty()));
    }
  };
  sound(mt::huggingface_keys);
  sound(mt::torchtitan_keys);
  sound(mt::deepspeed_keys);
}
