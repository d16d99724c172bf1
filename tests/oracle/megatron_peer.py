# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What megatron-core refuses of random configurations, beside what `meshpar check` says of the same launch flags.

    python3 -m venv build/venv && build/venv/bin/pip install -r tests/oracle/megatron_requirements.txt
    build/venv/bin/python tests/oracle/megatron_peer.py build/release/tools/meshpar    # 77: a package is missing

megatron-core is asked on the CPU: its TransformerConfig, its process groups (of a process group that only pretends to
have other ranks), its count of micro-batches, the layers of every pipeline stage, its GPTModel on the first rank, and
then the checks at the beginning of a step. Norms and the attention kernel, which need other packages, are left out.
Each reason of a refusal stands in REASONS with our rules that say the same. A difference that no table explains
fails.
"""

import argparse
import collections
import contextlib
import io
import json
import logging
import random
import re
import subprocess
import sys
import types
import warnings
from unittest import mock

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

try:
    import torch
    import torch.distributed as dist
    from megatron.core import num_microbatches_calculator, package_info, parallel_state, utils
    from megatron.core.models.common.embeddings import rope_utils
    from megatron.core.models.gpt import GPTModel
    from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
    from megatron.core.pipeline_parallel import schedules
    from megatron.core.tensor_parallel import mappings
    from megatron.core.transformer.identity_op import IdentityOp
    from megatron.core.transformer.moe import moe_utils
    from megatron.core.transformer.transformer_block import TransformerBlockSubmodules, get_num_layers_to_build
    from megatron.core.transformer.transformer_config import TransformerConfig
    from torch.testing._internal.distributed.fake_pg import FakeStore
except ImportError as missing:
    print(f"megatron_peer: package missing: {missing.name}; see the top of {__file__}", file=sys.stderr)
    sys.exit(77)

# What megatron-core says, a name for it, and the rules of ours of which one must be broken as well.
REASONS = [
    (r"num_attention_heads .* must be a multiple of", "heads over tp", ["heads_divisible_by_tp"]),
    (r"num_query_groups .* must be a multiple or divisor", "KV heads over tp", ["kv_heads_fit_tp"]),
    (r"sequence parallelism without tensor parallelism", "sequence parallelism without tp", []),
    (r"num_moe_experts must be non None", "ep without experts", ["experts_divisible_by_ep"]),
    (r"Bias in Moe is only supported when ETP==1", "bias of experts under etp", []),
    (r"num_layers should be divisible by pipeline", "layers over pp", ["layers_divisible_by_pp"]),
    (r"num_layers_per_pipeline_rank .* divisible by vp_size", "layers over virtual stages", ["layers_divisible_by_pp"]),
    (r"middle layers remaining|at middle stage|left over layers", "layers of the stages between",
     ["layers between the first and the last stage", "stage_layers_add_up"]),
    (r"must be divisible by virtual ?pipeline|middle pipeline rank", "uneven layers over virtual stages",
     ["layers of a rank over virtual stages", "layers_divisible_by_pp"]),
    (r"pipeline-model-parallel size should be greater than 1", "virtual stages without pp",
     ["virtual_stages_fit_schedule"]),
    (r"world_size .* is not divisible by \d+$", "ranks over pp * cp * tp", ["world_size_matches_plan"]),
    (r"not divisible by expert_tensor_model_pipeline", "ranks over ep * etp",
     ["folding_products_agree", "experts_divisible_by_ep"]),
    (r"global batch size .* is not divisible", "global batch over dp * micro batch", ["global_batch_divisible"]),
    (r"The number of contiguous micro-batches", "fewer micro-batches than pp, interleaved",
     ["micro_batches_fit_schedule"]),
    (r"The remainder of M", "micro-batches not in groups of pp", ["groups of micro-batches"]),
    (r"^experts over ep$", "experts over ep", ["experts_divisible_by_ep"]),
    (r"^sequence over 2 \* cp", "sequence over 2 * cp", ["sequence_divisible_by_cp"]),
    (r"^sequence over tp", "sequence over tp", ["sequence_divisible_by_tp"]),
    (r"selected index k out of range", "top-k of more than all experts", ["top_k_fits_experts"]),
    (r"MoE and tensor parallelism", "experts under tp without sequence parallelism",
     ["moe_with_tp_needs_sequence_parallel"]),
    (r"^ffn over tp", "ffn over tp", ["ffn_divisible_by_tp"]),
    (r"^heads over KV heads|shape '\[.*\]' is invalid", "heads over KV heads", ["heads_divisible_by_kv_heads"]),
    (r"The size of tensor a .* must match|not enough values to unpack", "rotary angles of an odd head_dim",
     ["head_dim_even_for_rotary", "hidden_divisible_by_heads"]),
    (r"^fused q, k and v over tp", "fused q, k and v over tp", []),
]

# Refused by megatron-core and not by us.
THEIRS_ONLY = {
    "sequence parallelism without tp":
        "its command line switches it off with tp 1; the flags are read so, with a warning, and our own field is "
        "refused",
    "bias of experts under etp":
        "the limit of its kernel; here a bias that several ranks share is added once, by layout",
    "fused q, k and v over tp":
        "with fewer KV heads than tp it cuts one fused weight of (heads + 2 * kv_heads) * head_dim rows; here KV heads "
        "are a parameter of their own, copied on whole groups of ranks",
}

# Refused by us and not by megatron-core.
OURS_ONLY = {
    "hidden_divisible_by_heads": "silent: it takes hidden // heads features a head, another model than was asked for",
    "experts_divisible_by_ep": "silent: etp without experts says nothing",
    "layers between the first and the last stage": "silent: the last stage would have -1 layers, and has none",
}


# ---- configurations ----

def draw(d):
    tp, pp, cp = d.choice([1, 2, 2, 4, 3]), d.choice([1, 1, 2, 4, 3]), d.choice([1, 1, 1, 2, 4])
    dp, micro = d.choice([1, 2, 4, 3]), d.choice([1, 2])
    moe = d.random() < 0.4
    heads = tp * d.choice([1, 2, 4])
    virtual = d.choice([2, 3]) if pp > 1 and d.random() < 0.3 else None
    c = dict(
        tp=tp, pp=pp, cp=cp, world=dp * tp * pp * cp, virtual=virtual, first=None, last=None, heads=heads,
        layers=pp * (virtual or 1) * d.choice([1, 2]), hidden=heads * d.choice([8, 16]), head_dim=None, groups=None,
        sp=tp > 1 and (moe or d.random() < 0.5), rope=d.random() < 0.5, swiglu=d.random() < 0.5, bias=not moe,
        experts=None, topk=None, ep=1, etp=None, micro=micro, batch=dp * micro * pp * d.choice([1, 2]))
    c.update(ffn=tp * d.choice([8, 24]), seq=2 * cp * tp * d.choice([1, 2, 3]), vocab=d.choice([100, 128, 61]))
    if d.random() < 0.5:
        c["groups"] = d.choice([g for g in range(1, heads + 1) if heads % g == 0 and (g % tp == 0 or tp % g == 0)])
    if d.random() < 0.2:
        c["head_dim"] = d.choice([8, 16])
    if moe:
        c["ep"] = d.choice([e for e in range(1, dp * cp + 1) if dp * cp % e == 0])
        c["experts"], c["topk"], c["etp"] = c["ep"] * d.choice([1, 2, 4]), 1, d.choice([None, 1])
        c["topk"] = d.randint(1, min(2, c["experts"]))
    if pp > 2 and not virtual and d.random() < 0.3:
        c["first"] = d.choice([1, 2])
        c["layers"] = c["first"] + (pp - 1) * 2
    for _ in range(0 if d.random() < 0.45 else d.randint(1, 2)):
        spoil(d, c)
    return c


def spoil(d, c):
    field = d.choice(["tp", "pp", "cp", "ep", "etp", "world", "virtual", "first", "last", "layers", "heads", "groups",
                      "hidden", "head_dim", "ffn", "seq", "batch", "micro", "experts", "topk", "sp", "bias"])
    if field in ("sp", "bias"):
        c[field] = not c[field]
    elif field in ("virtual", "first", "last"):
        c[field] = d.choice([None, 2, 3])
    elif field == "topk":
        c[field] = d.randint(1, 9) if c["experts"] else None
    elif field == "experts":
        c.update(experts=d.randint(1, 9), topk=1) if c["experts"] else c.update(experts=None)
    elif field in ("etp", "groups", "head_dim"):
        c[field] = d.randint(1, 6)
    else:
        c[field] = max(1, c[field] + d.choice([-1, 1, 2, 3]))


def flags_of(c):
    line = {
        "--num-layers": "layers", "--hidden-size": "hidden", "--num-attention-heads": "heads",
        "--kv-channels": "head_dim",
        "--num-query-groups": "groups", "--seq-length": "seq", "--num-experts": "experts", "--moe-router-topk": "topk",
        "--micro-batch-size": "micro", "--global-batch-size": "batch", "--tensor-model-parallel-size": "tp",
        "--pipeline-model-parallel-size": "pp", "--context-parallel-size": "cp", "--expert-model-parallel-size": "ep",
        "--expert-tensor-parallel-size": "etp", "--num-virtual-stages-per-pipeline-rank": "virtual",
        "--decoder-first-pipeline-num-layers": "first", "--decoder-last-pipeline-num-layers": "last",
        "--ffn-hidden-size": "ffn",
    }
    words = [w for flag, name in line.items() if c[name] is not None for w in (flag, str(c[name]))]
    words += ["--group-query-attention"] if c["groups"] else []
    words += ["--sequence-parallel"] if c["sp"] else []
    words += ["--swiglu"] if c["swiglu"] else []
    words += [] if c["bias"] else ["--disable-bias-linear"]
    return words + ["--position-embedding-type", "rope" if c["rope"] else "learned_absolute"]


# ---- what megatron-core says ----

class attention_kernel(torch.nn.Module):
    def __init__(self, *_, **__):
        super().__init__()


class Passed(Exception):
    """The check in question let it through."""


def config_of(c, **more):
    return TransformerConfig(
        num_layers=c["layers"], hidden_size=c["hidden"], num_attention_heads=c["heads"], kv_channels=c["head_dim"],
        num_query_groups=c["groups"], ffn_hidden_size=c["ffn"], num_moe_experts=c["experts"],
        moe_router_topk=c["topk"] or 2, moe_router_pre_softmax=True, gated_linear_unit=c["swiglu"],
        activation_func=torch.nn.functional.silu if c["swiglu"] else torch.nn.functional.gelu,
        add_bias_linear=c["bias"], tensor_model_parallel_size=c["tp"], pipeline_model_parallel_size=c["pp"],
        virtual_pipeline_model_parallel_size=c["virtual"], context_parallel_size=c["cp"],
        expert_model_parallel_size=c["ep"], expert_tensor_parallel_size=c["etp"], sequence_parallel=c["sp"],
        num_layers_in_first_pipeline_stage=c["first"], num_layers_in_last_pipeline_stage=c["last"],
        pipeline_dtype=torch.float32, use_cpu_initialization=True, **more)


def make_groups(c):
    parallel_state.initialize_model_parallel(
        c["tp"], c["pp"], c["virtual"], context_parallel_size=c["cp"], expert_model_parallel_size=c["ep"],
        expert_tensor_parallel_size=c["etp"], create_gloo_process_groups=False)


def whole_replicas(c):
    return max(c["world"] // (c["tp"] * c["pp"] * c["cp"]), 1)


def count_micro_batches(c):
    counted = num_microbatches_calculator.ConstantNumMicroBatchesCalculator(
        c["batch"], c["micro"], whole_replicas(c), False, 1)
    return counted.get()


def model_of(c, config):
    layer = get_gpt_layer_local_spec(num_experts=c["experts"])
    layer.submodules.input_layernorm = layer.submodules.pre_mlp_layernorm = IdentityOp
    layer.submodules.self_attention.submodules.core_attention = attention_kernel
    spec = TransformerBlockSubmodules(layer_specs=[layer], layer_norm=IdentityOp)
    padded = -(-c["vocab"] // c["tp"]) * c["tp"]
    return GPTModel(config, spec, vocab_size=padded, max_sequence_length=c["seq"], pre_process=True,
                    post_process=c["pp"] == 1, position_embedding_type="rope" if c["rope"] else "learned_absolute",
                    vp_stage=0 if c["virtual"] else None)


def enter_attention(c, config, model):
    """The forward of attention, up to its kernel; the product that makes q, k and v is left out."""
    attention = model.decoder.layers[0].self_attention
    made = torch.zeros(2, 1, attention.linear_qkv.output_size_per_partition)
    attention.linear_qkv.forward = lambda _: (made, None)
    with mock.patch.object(torch.cuda, "current_device", lambda: "cpu"):
        query = attention.get_query_key_value_tensors(torch.zeros(2, 1, c["hidden"]))[0]
        if c["rope"]:
            rope_utils.apply_rotary_pos_emb(query, model.rotary_pos_emb.get_emb(query.shape[0]), config)


def enter_experts(model):
    """The forward of a mixture of experts, up to its router."""
    experts = model.decoder.layers[0].mlp
    experts.route = mock.Mock(side_effect=Passed)
    experts(torch.zeros(2, 1, 2))


def enter_interleaved_schedule(c, config, micro_batches):
    """The interleaved schedule, up to where it asks the model for its type again."""
    group = types.SimpleNamespace(size=lambda: c["pp"], rank=lambda: 0)
    chunk = torch.nn.Module()
    chunk.config = config
    zeros = torch.zeros
    with mock.patch.object(schedules.torch, "zeros", lambda *a, device=None, **k: zeros(*a, **k)), \
            mock.patch.object(schedules, "get_model_type", mock.Mock(side_effect=[None, Passed])):
        schedules.forward_backward_pipelining_with_interleaving(
            forward_step_func=None, data_iterator=[None] * c["virtual"], model=[chunk] * c["virtual"],
            num_microbatches=micro_batches, seq_length=c["seq"], micro_batch_size=c["micro"],
            p2p_communicator=types.SimpleNamespace(config=config, pp_group=group),
            pg_collection=mock.Mock())


def refusals(c):
    """Everything that megatron-core says against a configuration, in its words or, where these are general, in ours."""
    said = []

    def ask(what, call):
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                return call()
        except Passed:
            pass
        except (AssertionError, ValueError, RuntimeError, NotImplementedError) as e:
            said.append(what if what else " ".join(str(e).split()))
        return None

    config = ask("", lambda: config_of(c))
    dist.init_process_group(backend="fake", rank=0, world_size=c["world"], store=FakeStore())
    groups = ask("", lambda: make_groups(c) or True)
    micro_batches = ask("", lambda: count_micro_batches(c))
    if config:
        for rank in range(c["pp"]):
            ask("", lambda: get_num_layers_to_build(config, 0 if c["virtual"] else None, rank))
        if c["virtual"] and c["pp"] > 1 and micro_batches:
            ask("", lambda: enter_interleaved_schedule(c, config, micro_batches))
    if groups:
        batch = {"tokens": torch.zeros(1, c["seq"], dtype=torch.long)}
        pieces = ask("sequence over 2 * cp", lambda: utils.get_batch_on_this_cp_rank(batch))
        if c["sp"] and pieces:
            group = parallel_state.get_tensor_model_parallel_group()
            ask("sequence over tp", lambda: mappings._split_along_first_dim(torch.zeros(c["seq"] // c["cp"], 1), group))
    if c["experts"]:
        logits = torch.zeros(2, c["experts"])
        ask("", lambda: moe_utils.topk_routing_with_score_function(logits, c["topk"], use_pre_softmax=True))
    if config and groups and not said:
        build(c, config, ask)
    parallel_state.destroy_model_parallel()
    dist.destroy_process_group()
    return said


def build(c, config, ask):
    def of_width(call):
        try:
            return call()
        except AssertionError as e:
            raise AssertionError(named_width(c, str(e))) from e

    model = ask("", lambda: of_width(lambda: model_of(c, config)))
    if model:
        ask("", lambda: enter_attention(c, config, model))
    if model and c["experts"]:
        ask("", lambda: enter_experts(model))


def named_width(c, text):
    """Which size "24 is not divisible by 5" is about: it is said from several layers."""
    if c["experts"] and c["experts"] % c["ep"] != 0:
        return "experts over ep"
    if "instantiating MLP" in text:
        return "ffn over tp"
    if found := re.search(r"(\d+) is not divisible by (\d+)", text):
        whole, part = map(int, found.groups())
        if whole in (c["ffn"], 2 * c["ffn"]) and part in (c["tp"], c["etp"]):
            return "ffn over tp"
        if (whole, part) == (c["heads"], c["groups"]):
            return "heads over KV heads"
        head_dim = c["head_dim"] or c["hidden"] // c["heads"]
        if c["groups"] and (whole, part) == ((c["heads"] + 2 * c["groups"]) * head_dim, c["tp"]):
            return "fused q, k and v over tp"
    return text


# ---- what we say ----

UNREADABLE = [
    (r"less those of the first and the last stage", "layers between the first and the last stage"),
    (r"no equal shares for \d+ virtual stages", "layers of a rank over virtual stages"),
    (r"micro-batches of a step in groups of", "groups of micro-batches"),
]
STOPS = {name for _, name in UNREADABLE}  # no rule is asked after these


def our_rules(program, c):
    """The rules that are broken; where the flags cannot be read together, what is said about that as well."""
    command = [program, "check", "--json", "--vocab", str(c["vocab"]), "--world-size", str(c["world"])]
    run = subprocess.run(command + ["--"] + flags_of(c), capture_output=True, text=True, timeout=60)
    if run.returncode != 2:
        return [v["rule"] for v in json.loads(run.stdout)["violations"]]
    names = [name for pattern, name in UNREADABLE if re.search(pattern, run.stderr)]
    return names or ["unreadable: " + run.stderr.strip()]


# ---- the comparison ----

def reasons_of(said):
    """The names of what was said, each with our rules."""
    reasons = {}
    for text in said:
        found = [(name, rules) for pattern, name, rules in REASONS if re.search(pattern, text)]
        name, rules = found[0] if found else ("unknown: " + text, [])
        reasons[name] = rules
    return reasons


def main():
    parser = argparse.ArgumentParser(description="megatron-core as the peer of meshpar check")
    parser.add_argument("program", help="the command meshpar")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1000)
    options = parser.parse_args()
    d = random.Random(options.seed)
    found = comparison(options.program)
    for _ in range(options.count):
        found.add(draw(d))
    found.report(options)
    sys.exit(1 if found.faults else 0)


class comparison:
    def __init__(self, program):
        self.program = program
        self.totals, self.both, self.theirs, self.ours, self.faults = (collections.Counter() for _ in range(5))

    def add(self, c):
        reasons, rules = reasons_of(refusals(c)), our_rules(self.program, c)
        self.totals[(bool(reasons), bool(rules))] += 1
        for name, same in reasons.items():
            if set(same) & set(rules) or STOPS & set(rules):
                self.both[name] += 1
            elif name in THEIRS_ONLY:
                self.theirs[name] += 1
            else:
                self.fault(f"megatron-core refuses, we do not: {name}", c, rules)
        for rule in [] if reasons else rules:  # megatron-core stops early, so it may not have come to this
            if rule in OURS_ONLY:
                self.ours[rule] += 1
            else:
                self.fault(f"we refuse, megatron-core does not: {rule}", c, rules)

    def fault(self, what, c, rules):
        self.faults[what + f"\n    --world-size {c['world']} -- {' '.join(flags_of(c))}\n    ours: {rules}"] += 1

    def report(self, options):
        print(f"megatron-core {package_info.__version__}, torch {torch.__version__}, seed {options.seed}, "
              f"{options.count} configurations")
        print(f"{self.totals[False, False]:5} both accept")
        print(f"{self.totals[True, True]:5} both refuse")
        print(f"{self.totals[True, False]:5} only megatron-core refuses")
        print(f"{self.totals[False, True]:5} only we refuse")
        for title, table, words in [("reasons of megatron-core that are broken rules of ours", self.both, None),
                                    ("reasons of megatron-core that are none of ours", self.theirs, THEIRS_ONLY),
                                    ("rules of ours where megatron-core has no reason at all", self.ours, OURS_ONLY)]:
            print(f"{title}:")
            for name, n in table.most_common():
                print(f"{n:5} {name}" + (f": {words[name]}" if words else ""))
        for text, n in self.faults.most_common(20):
            print(f"UNEXPLAINED {n} {text}")
        if len(self.faults) > 20:
            print(f"and {len(self.faults) - 20} more")


if __name__ == "__main__":
    main()
