# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loss and gradients of the `transformers` package's GPT-2 and Llama in f64, as tests/oracle/golden.json.

    python3 -m venv build/venv && build/venv/bin/pip install -r tests/oracle/requirements.txt
    build/venv/bin/python tests/oracle/make_golden.py            # writes the file
    build/venv/bin/python tests/oracle/make_golden.py --check    # recomputes and compares; 77: a package is missing

Weights and tokens are not stored: formula.py and formula.hpp make the same bits from names.
Parameters are [in, out], row-major; head h owns columns [h * head_dim, (h + 1) * head_dim);
query head h reads key and value head h / (heads / kv_heads); rotary turns the pairs (d, d + head_dim / 2).
The loss is the mean cross-entropy over batch x seq labels, label[b, s] = token[b, s + 1].
"""

import argparse
import contextlib
import json
import pathlib
import sys

try:
    import numpy as np
    import torch
    import transformers
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves
    from transformers.models.llama import modeling_llama
except ImportError as missing:
    print(f"oracle: package missing: {missing.name}; see the top of {__file__}", file=sys.stderr)
    sys.exit(77)

import formula

GOLDEN = pathlib.Path(__file__).with_name("golden.json")
TOLERANCE = 1e-12  # of a recomputation; summation order differs between processors and versions

SHARED = dict(layers=2, hidden=32, heads=4, head_dim=8, vocab=61, positions=16, batch=4, seq=16, norm_eps=1e-5)
CONFIGS = [
    dict(SHARED, name="gpt2", kv_heads=4, ffn=128, rope_theta=0, tied=True),
    dict(SHARED, name="llama", kv_heads=2, ffn=48, rope_theta=10000, tied=False),
]


def gpt2(c):
    """The package's model and, per parameter of ours, (name, its tensor seen as [in, out])."""
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=c["vocab"], n_positions=c["positions"], n_embd=c["hidden"], n_layer=c["layers"], n_head=c["heads"],
        n_inner=c["ffn"], activation_function="gelu_new", layer_norm_epsilon=c["norm_eps"], tie_word_embeddings=True,
        bos_token_id=None, eos_token_id=None, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, attn_implementation="eager", use_cache=False))
    h = c["hidden"]

    def views(get):
        yield "embedding", get(model.transformer.wte.weight)
        yield "position", get(model.transformer.wpe.weight)
        for l, block in enumerate(model.transformer.h):
            attention, mlp = f"layers.{l}.attention", f"layers.{l}.mlp"
            yield attention + ".norm.gain", get(block.ln_1.weight)
            yield attention + ".norm.bias", get(block.ln_1.bias)
            for i, part in enumerate(("query", "key", "value")):
                columns = slice(i * h, (i + 1) * h)
                yield f"{attention}.{part}", get(block.attn.c_attn.weight)[:, columns]
                yield f"{attention}.{part}_bias", get(block.attn.c_attn.bias)[columns]
            yield attention + ".output", get(block.attn.c_proj.weight)
            yield attention + ".output_bias", get(block.attn.c_proj.bias)
            yield mlp + ".norm.gain", get(block.ln_2.weight)
            yield mlp + ".norm.bias", get(block.ln_2.bias)
            yield mlp + ".up", get(block.mlp.c_fc.weight)
            yield mlp + ".up_bias", get(block.mlp.c_fc.bias)
            yield mlp + ".down", get(block.mlp.c_proj.weight)
            yield mlp + ".down_bias", get(block.mlp.c_proj.bias)
        yield "final_norm.gain", get(model.transformer.ln_f.weight)
        yield "final_norm.bias", get(model.transformer.ln_f.bias)

    return model, views


def llama(c):
    """As gpt2; the package's linear layers are [out, in]."""
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=c["vocab"], max_position_embeddings=c["positions"], hidden_size=c["hidden"],
        num_hidden_layers=c["layers"], num_attention_heads=c["heads"], num_key_value_heads=c["kv_heads"],
        head_dim=c["head_dim"], intermediate_size=c["ffn"], rms_norm_eps=c["norm_eps"], hidden_act="silu",
        rope_parameters={"rope_type": "default", "rope_theta": float(c["rope_theta"])}, tie_word_embeddings=False,
        bos_token_id=None, eos_token_id=None, attention_bias=False, mlp_bias=False, attention_dropout=0.0, attn_implementation="eager", use_cache=False))

    def views(get):
        yield "embedding", get(model.model.embed_tokens.weight)
        for l, block in enumerate(model.model.layers):
            attention, mlp = f"layers.{l}.attention", f"layers.{l}.mlp"
            yield attention + ".norm.gain", get(block.input_layernorm.weight)
            yield attention + ".query", get(block.self_attn.q_proj.weight).T
            yield attention + ".key", get(block.self_attn.k_proj.weight).T
            yield attention + ".value", get(block.self_attn.v_proj.weight).T
            yield attention + ".output", get(block.self_attn.o_proj.weight).T
            yield mlp + ".norm.gain", get(block.post_attention_layernorm.weight)
            yield mlp + ".gate", get(block.mlp.gate_proj.weight).T
            yield mlp + ".up", get(block.mlp.up_proj.weight).T
            yield mlp + ".down", get(block.mlp.down_proj.weight).T
        yield "final_norm.gain", get(model.model.norm.weight)
        yield "head", get(model.lm_head.weight).T

    return model, views


class float32_read_as_float64:
    """The name torch as modeling_llama sees it: that file computes norms, softmax and angles in f32 by name."""

    float32 = float = torch.float64

    def __getattr__(self, name):
        return getattr(torch, name)


@contextlib.contextmanager
def double_throughout():
    saved = modeling_llama.torch, torch.Tensor.float, torch.get_default_dtype()
    modeling_llama.torch, torch.Tensor.float = float32_read_as_float64(), torch.Tensor.double
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        modeling_llama.torch, torch.Tensor.float = saved[:2]
        torch.set_default_dtype(saved[2])


class only_double(TorchDispatchMode):
    """Proves it: no operation, forward or backward, makes a narrower floating-point tensor."""

    seen = 0

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        result = operation(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, torch.Tensor) and leaf.is_floating_point():
                assert leaf.dtype == torch.float64, f"{operation} made {leaf.dtype}"
        self.seen += 1
        return result


def load(model, views):
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(float("nan"))
        for name, view in views(lambda p: p.data):
            view.copy_(torch.from_numpy(formula.values(name, tuple(view.shape))))
        for name, parameter in model.named_parameters():
            assert not parameter.isnan().any(), f"{name} has elements without a name of ours"


def summary(array):
    flat = np.ascontiguousarray(array).ravel()
    return dict(max_abs=float(np.abs(flat).max()), sum=float(flat.sum()), sum_of_squares=float((flat * flat).sum()),
                entries=[float(flat[i]) for i in formula.sample_indices(flat.size)])


def compute(config):
    with double_throughout():
        model, views = {"gpt2": gpt2, "llama": llama}[config["name"]](config)
        model.double().eval()
        load(model, views)
        tokens = formula.tokens(config["batch"], config["seq"], config["vocab"])
        inputs, labels = torch.from_numpy(tokens[:, :-1].copy()), torch.from_numpy(tokens[:, 1:].copy())
        with only_double() as mode:
            logits = model(input_ids=inputs).logits
            loss = torch.nn.functional.cross_entropy(logits.reshape(-1, config["vocab"]), labels.reshape(-1))
            forward = mode.seen
            loss.backward()
        assert mode.seen > 1.5 * forward > 0, f"the backward pass was not watched: {forward}, {mode.seen}"
    weights = {name: view.numpy() for name, view in views(lambda p: p.detach())}
    gradients = {name: view.numpy() for name, view in views(lambda p: p.grad)}
    return dict(
        config, loss=loss.item(), tokens_digest=formula.digest(tokens), logits=summary(logits.detach().numpy()),
        gradients=[dict(name=name, shape=list(gradients[name].shape), weights_digest=formula.digest(weights[name]),
                        **summary(gradients[name])) for name in weights])


def text(value, indent=""):
    """JSON with 17 significant digits; an object that holds another, or a list of objects, takes lines."""
    if isinstance(value, bool) or isinstance(value, (str, int)):
        return json.dumps(value)
    if isinstance(value, float):
        return "%.17g" % value
    if isinstance(value, list) and not any(isinstance(v, dict) for v in value):
        return "[" + ", ".join(text(v) for v in value) + "]"
    inner = indent + " "
    items = [inner + text(v, inner) for v in value] if isinstance(value, list) else [
        f"{inner}{json.dumps(k)}: {text(v, inner)}" for k, v in value.items()]
    brackets = "[]" if isinstance(value, list) else "{}"
    return brackets[0] + "\n" + ",\n".join(items) + "\n" + indent + brackets[1]


def differences(ours, theirs):
    """Pairs (place, difference), each relative to what rounding is relative to; the exact parts must be equal."""
    exact = [k for k in ours if k not in ("loss", "logits", "gradients")]
    for key in exact:
        assert ours[key] == theirs.get(key), f"{ours['name']}: {key} is {theirs.get(key)}, should be {ours[key]}"
    yield f"{ours['name']} loss", abs(ours["loss"] - theirs["loss"]) / ours["loss"]
    assert len(ours["gradients"]) == len(theirs["gradients"])
    # Some gradients are zero by mathematics (the key bias): no gradient counts as smaller than 1e-3 of the largest.
    floor = 1e-3 * max(g["max_abs"] for g in ours["gradients"])
    for a, b in [(ours["logits"], theirs["logits"]), *zip(ours["gradients"], theirs["gradients"])]:
        place = f"{ours['name']} {a.get('name', 'logits')}"
        for key in ("name", "shape", "weights_digest"):
            assert a.get(key) == b.get(key), f"{place}: {key} differs"
        assert len(a["entries"]) == len(b["entries"]), f"{place}: number of entries differs"
        scale = max(a["max_abs"], floor if "name" in a else 0.0)
        count = int(np.prod(a["shape"])) if "shape" in a else ours["batch"] * ours["seq"] * ours["vocab"]
        yield place, max(abs(x - y) for x, y in zip(a["entries"], b["entries"])) / scale
        yield place + " max_abs", abs(a["max_abs"] - b["max_abs"]) / scale
        yield place + " sum", abs(a["sum"] - b["sum"]) / (scale * count)
        yield place + " sum_of_squares", abs(a["sum_of_squares"] - b["sum_of_squares"]) / (scale * scale * count)


def check(models):
    committed = json.loads(GOLDEN.read_text())["models"]
    assert [m["name"] for m in committed] == [m["name"] for m in models]
    found = [d for ours, theirs in zip(models, committed) for d in differences(ours, theirs)]
    place, largest = max(found, key=lambda d: d[1] if d[1] == d[1] else float("inf"))
    print(f"oracle: {len(found)} comparisons, largest relative difference {largest:.3g} ({place}), bound {TOLERANCE:g}")
    return 0 if largest <= TOLERANCE else 1


def main():
    parser = argparse.ArgumentParser(description="golden values of transformers' GPT-2 and Llama")
    parser.add_argument("--check", action="store_true", help="recompute and compare with the committed file")
    options = parser.parse_args()
    torch.set_num_threads(1)
    models = [compute(config) for config in CONFIGS]
    if options.check:
        try:
            return check(models)
        except (AssertionError, KeyError, OSError, ValueError) as error:
            print(f"oracle: {GOLDEN.name} does not match: {error}", file=sys.stderr)
            return 1
    made_with = {package.__name__: package.__version__ for package in (torch, transformers, np)}
    GOLDEN.write_text(text(dict(made_with=made_with, models=models)) + "\n")
    print(f"oracle: wrote {GOLDEN.name}, losses " + ", ".join("%.17g" % m["loss"] for m in models))
    return 0


if __name__ == "__main__":
    sys.exit(main())
