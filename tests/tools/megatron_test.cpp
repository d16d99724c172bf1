// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Command lines of Megatron-LM: what the flags mean, alone and together, and its defaults where they are not ours.
#include "given.hpp"
#include "tools/megatron_flags.hpp"

#include <doctest/doctest.h>

namespace {

const std::string small =
    "--num-layers 4 --hidden-size 64 --num-attention-heads 8 --seq-length 64 --max-position-embeddings 64 "
    "--vocab-size 96 --micro-batch-size 2 ";

mt::draft read(const std::string& flags, const char* ranks = "8") {
  mt::inputs in;
  in.megatron = small + flags;
  in.world_size = ranks;
  return mt::resolve(in);
}
mt::configuration of(const std::string& flags, const char* ranks = "8") { return read(flags, ranks).values(); }

}  // namespace

TEST_CASE("the defaults are Megatron-LM's") {
  CHECK(of("") ==
        mt::configuration{
            .model = {.layers = 4, .hidden = 64, .heads = 8, .ffn = 256, .vocab = 96, .seq = 64, .dropout = 0.1},
            .job = {.global_batch = 16, .micro_batch = 2, .seed = 1234},
            .plan = {.dp = 8}});
  CHECK(of("--swiglu").model.ffn == 128);  // 4 * 64 * 2 / 3, down to a multiple of 64
  CHECK(of("--swiglu --ffn-hidden-size 200").model.ffn == 200);
}

TEST_CASE("a Llama with experts") {
  const mt::configuration c = of(
      "--tensor-model-parallel-size 2 --sequence-parallel --pipeline-model-parallel-size 2 --context-parallel-size 2 "
      "--expert-model-parallel-size 4 --expert-tensor-parallel-size 1 --num-experts 16 --moe-router-topk 4 "
      "--moe-ffn-hidden-size 32 --ffn-hidden-size 512 --group-query-attention --num-query-groups 4 --kv-channels 16 "
      "--normalization RMSNorm --norm-epsilon 1e-6 --position-embedding-type rope --rotary-base 500000 --swiglu "
      "--disable-bias-linear --untie-embeddings-and-output-weights --qk-layernorm --hidden-dropout 0 "
      "--attention-dropout 0 --global-batch-size 64 --seed 1234 --use-distributed-optimizer --bf16 "
      "--recompute-granularity full --cp-comm-type a2a",
      "16");
  mt::configuration expected{.model = mp::llama_like({.layers = 4,
                                                      .hidden = 64,
                                                      .heads = 8,
                                                      .kv_heads = 4,
                                                      .head_dim = 16,
                                                      .ffn = 32,
                                                      .vocab = 96,
                                                      .seq = 64,
                                                      .experts = 16,
                                                      .top_k = 4,
                                                      .norm_eps = 1e-6,
                                                      .rope_theta = 500000}),
                             .job = {.global_batch = 64, .micro_batch = 2, .seed = 1234},
                             .plan = {.pp = 2,
                                      .dp = 2,
                                      .cp = 2,
                                      .tp = 2,
                                      .ep = 4,
                                      .sequence_parallel = true,
                                      .zero = 1,
                                      .recompute = mp::recompute_kind::full,
                                      .context_exchange = mp::exchange_kind::heads,
                                      .precision = mp::mixed_bf16}};
  expected.model.qk_norm = true;
  CHECK(c == expected);
}

TEST_CASE("experts are cut by tp unless the flags say otherwise") {
  CHECK(of("--num-experts 4 --tensor-model-parallel-size 2").plan.etp == 2);
  CHECK(of("--num-experts 4").model.top_k == 2);
  CHECK(of("--tensor-model-parallel-size 2").plan.etp == 1);
}

TEST_CASE("flags that Megatron-LM itself passes over") {
  CHECK(of("--group-query-attention").model.kv_heads == 1);
  CHECK(of("--num-query-groups 2").model.kv_heads == 0);
  CHECK(warned(read("--num-query-groups 2"), "--num-query-groups: without --group-query-attention"));
  CHECK_FALSE(of("--sequence-parallel").plan.sequence_parallel);
  CHECK(warned(read("--sequence-parallel"), "--sequence-parallel: with tp 1"));
  CHECK(warned(read("--hidden-dropout 0"), "--attention-dropout: our model has one dropout"));
}

TEST_CASE("stages of a pipeline") {
  const auto stages = [](const std::string& flags) { return mt::written(of(flags).plan.stage_layers); };
  const mt::configuration interleaved =
      of("--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 1");
  CHECK(interleaved.plan.virtual_stages == 2);
  CHECK(interleaved.plan.schedule == mp::schedule_kind::interleaved);
  CHECK(stages("--pipeline-model-parallel-size 2") == mt::json::array());
  CHECK(stages("--pipeline-model-parallel-size 2 --account-for-embedding-in-pipeline-split "
               "--account-for-loss-in-pipeline-split") == mt::json{2, 2});
  const std::string both = "--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split ";
  CHECK(stages("--pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 1 " + both) == mt::json{2, 2});
  CHECK(mt::written(of("--pipeline-model-parallel-size 3 " + both, "3").plan.stage_layers) == mt::json{1, 2, 1});
  CHECK(mt::written(of("--pipeline-model-parallel-size 3 --pp-partition-method 'type:transformer|embedding'", "3")
                        .plan.stage_layers) == mt::json{1, 2, 1});
  CHECK(stages("--pipeline-model-parallel-size 2 --decoder-first-pipeline-num-layers 1") == mt::json{1, 3});
  CHECK(stages("--pipeline-model-parallel-size 4 --decoder-last-pipeline-num-layers 1") == mt::json{1, 1, 1, 1});
  CHECK(stages("--decoder-last-pipeline-num-layers 4") == mt::json{4});
  CHECK(stages("--pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 2 "
               "--decoder-first-pipeline-num-layers 2") == mt::json{1, 1, 1, 1});
  const auto refused = [](const std::string& flags) {
    mt::inputs in;
    in.megatron = small + "--pipeline-model-parallel-size 4 " + flags;
    in.world_size = "4";
    return refusal(in);
  };
  CHECK(refused(both) == "the pipeline counts 6 layers with embedding and loss; they are no equal shares for 4 stages");
  CHECK(refused(both + "--decoder-first-pipeline-num-layers 1").starts_with("--decoder-first-pipeline-num-layers can"));
  CHECK(refused("--pipeline-model-parallel-layout 'E|t*4|L'") ==
        "--pipeline-model-parallel-layout is not read; give --stage-layers");
  CHECK(of(both).plan == of("").plan);
}

TEST_CASE("sharding and precision") {
  CHECK(of("--data-parallel-sharding-strategy optim_grads_params --use-distributed-optimizer").plan.zero == 3);
  CHECK(of("--zero-stage 2").plan.zero == 2);
  CHECK(of("--bf16 --grad-reduce-in-bf16").plan.precision ==
        mp::precisions{.param = mp::dtype::bf16, .grad = mp::dtype::bf16, .reduce = mp::dtype::bf16});
  CHECK(warned(read("--fp16"), "--fp16: fp16 is not among our types"));
}

TEST_CASE("what our model cannot say is named") {
  for (const char* flags : {"--multi-latent-attention", "--window-size 128 0", "--moe-layer-freq 2", "--add-qkv-bias",
                            "--moe-shared-expert-intermediate-size 64", "--rotary-percent 0.5", "--embed-layernorm"}) {
    CAPTURE(flags);
    const std::string name = std::string(flags).substr(0, std::string(flags).find(' '));
    CHECK(warned(read(flags), name + ":"));
  }
  CHECK(warned(read("--position-embedding-type alibi"), "--position-embedding-type alibi:"));
  CHECK(read("--rotary-percent 1 --mtp-num-layers 0 --moe-layer-freq 1 --attention-dropout 0.1").warnings().empty());
}

TEST_CASE("the launcher says the number of ranks") {
  mt::inputs in;
  in.megatron = "torchrun --nproc_per_node 8 --nnodes=4 pretrain_gpt.py " + small;
  CHECK(mt::resolve(in).values().plan.dp == 32);
}

TEST_CASE("words are split as a shell splits them") {
  const auto words = [](const char* text) { return mt::split_words(text); };
  using list = std::vector<std::string>;
  CHECK(words(" a  b\tc\n") == list{"a", "b", "c"});
  CHECK(words("a 'b c' \"d e\"f ''") == list{"a", "b c", "d ef", ""});
  CHECK(words("a \\\n b\\ c") == list{"a", "b c"});
  CHECK(words("a # to the end\nb#c") == list{"a", "b#c"});
  CHECK(words("'$x' '|'") == list{"$x", "|"});
  CHECK(words("\"a\\\"b\\c\"") == list{"a\"b\\c"});
  CHECK_THROWS_AS(words("a; b"), mt::bad_input);
  CHECK_THROWS_AS(words("$x"), mt::bad_input);
  CHECK_THROWS_AS(words("\"`x`\""), mt::bad_input);
}

// Each line of a table sets a field that exists, and no name stands twice.
TEST_CASE("the table is sound") {
  std::set<std::string_view> names;
  for (const mt::foreign_entry& e : mt::megatron_flags) {
    CAPTURE(std::string(e.name));
    CHECK(e.name.starts_with("--"));
    CHECK(names.insert(e.name).second);
    CHECK((e.does != mt::means::unsupported || !e.what.empty()));
  }
}
