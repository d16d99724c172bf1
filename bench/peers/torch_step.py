# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The peer: one training step of a GPT-2-like model in PyTorch on the CPU.

    python3 -m venv build/venv && build/venv/bin/pip install -r bench/peers/requirements.txt
    build/venv/bin/python bench/peers/torch_step.py --model small --precision f32 bf16 --compile no yes --ranks 1 2

One line of JSON per configuration: name, tokens_per_second (median step, the first two left out), the same per second
of processor time of all ranks, loss per step, and the settings. Tied embeddings, learned positions, LayerNorm before each block, biases, GELU tanh, no dropout;
AdamW (lr 1e-4, betas 0.9 and 0.999, eps 1e-8, no decay); tokens uniform, consecutive windows, fixed seeds.

precision f32       everything
          autocast  parameters, gradients and moments f32; matrix products and attention bf16
          bf16      parameters, activations and gradients bf16; master parameters and moments f32
          bf16-only no f32 copy at all (less than others keep: an upper bound on speed)

With two ranks (DDP over gloo) each takes half of the batch; losses are means over the ranks.
Exit status 77: torch is missing.
"""

import argparse
import contextlib
import datetime
import itertools
import json
import math
import os
import statistics
import sys
import tempfile
import time
import warnings

try:
    import torch
    import torch.distributed as dist
    import torch.nn.functional as F
    from torch import nn
except ImportError:
    print(f"{sys.argv[0]}: peer missing: torch", file=sys.stderr)
    sys.exit(77)

MODELS = {
    "small": dict(layers=4, hidden=256, heads=8, seq=256, batch=4, vocab=4096),
    "124M": dict(layers=12, hidden=768, heads=12, seq=256, batch=4, vocab=50257),
}
WINDOWS = 64


class Block(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads = heads
        self.attention_norm = nn.LayerNorm(hidden)
        self.qkv = nn.Linear(hidden, 3 * hidden)
        self.attention_output = nn.Linear(hidden, hidden)
        self.mlp_norm = nn.LayerNorm(hidden)
        self.up = nn.Linear(hidden, 4 * hidden)
        self.mlp_output = nn.Linear(4 * hidden, hidden)

    def attention(self, x):
        batch, seq, hidden = x.shape
        q, k, v = self.qkv(x).view(batch, seq, 3, self.heads, hidden // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.attention_output(y.transpose(1, 2).reshape(batch, seq, hidden))

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.mlp_output(F.gelu(self.up(self.mlp_norm(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, layers, hidden, heads, seq, vocab, **_):
        super().__init__()
        self.embedding = nn.Embedding(vocab, hidden)
        self.position = nn.Embedding(seq, hidden)
        self.blocks = nn.ModuleList(Block(hidden, heads) for _ in range(layers))
        self.final_norm = nn.LayerNorm(hidden)
        for name, p in self.named_parameters():
            if p.dim() > 1:
                nn.init.normal_(p, 0.0, 0.02 / (math.sqrt(2 * layers) if "_output" in name else 1.0))
            elif name.endswith("bias"):
                nn.init.zeros_(p)

    def forward(self, inputs, labels):
        x = self.embedding(inputs) + self.position.weight[: inputs.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.final_norm(x), self.embedding.weight)
        return F.cross_entropy(logits.view(-1, logits.shape[-1]).float(), labels.reshape(-1))


class Optimizer:
    """AdamW; where `master` is asked for, on f32 copies that the bf16 parameters are rounded from."""

    def __init__(self, parameters, kind, master):
        self.parameters = list(parameters)
        self.masters = [p.detach().float() for p in self.parameters] if master else self.parameters
        for m in self.masters if master else ():
            m.grad = torch.zeros_like(m)
        self.adamw = torch.optim.AdamW(self.masters, lr=1e-4, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, **{kind: True})

    @torch.no_grad()
    def step(self):
        copied = self.masters is not self.parameters
        if copied:
            torch._foreach_copy_([m.grad for m in self.masters], [p.grad for p in self.parameters])
        self.adamw.step()
        if copied:
            torch._foreach_copy_(self.parameters, self.masters)
        for p in self.parameters:
            p.grad = None


def built(setting, shape, ranks):
    torch.manual_seed(1)
    model = Gpt(**shape)
    if setting["precision"].startswith("bf16"):
        model.to(torch.bfloat16)
    optimizer = Optimizer(model.parameters(), setting["optimizer"], setting["precision"] == "bf16")
    run = nn.parallel.DistributedDataParallel(model) if ranks > 1 else model
    return torch.compile(run) if setting["compile"] else run, optimizer


def train(setting, rank=0, ranks=1):
    """(seconds, loss, seconds of processor time) per step, as this rank saw them."""
    shape = MODELS[setting["model"]]
    torch.set_num_threads(setting["threads"])
    run, optimizer = built(setting, shape, ranks)
    batch, seq, mine = shape["batch"], shape["seq"], shape["batch"] // ranks
    size = batch * seq
    stream = torch.randint(0, shape["vocab"], (size * WINDOWS + 1,), generator=torch.Generator().manual_seed(7))
    low = torch.autocast("cpu", torch.bfloat16) if setting["precision"] == "autocast" else contextlib.nullcontext()
    for step in range(setting["steps"]):
        start, busy = time.perf_counter(), time.process_time()
        at = step % WINDOWS * size
        rows = slice(rank * mine, (rank + 1) * mine)
        inputs, labels = (stream[at + shift : at + shift + size].view(batch, seq)[rows] for shift in (0, 1))
        with low:
            loss = run(inputs, labels)
        loss.backward()
        optimizer.step()
        yield time.perf_counter() - start, loss.item(), time.process_time() - busy


def train_rank(rank, setting, folder):
    """One of several processes; gloo finds its peers through a file and talks over loopback."""
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=setting["ranks"],
                            timeout=datetime.timedelta(minutes=5))
    steps = torch.tensor(list(train(setting, rank, setting["ranks"])), dtype=torch.float64)
    slowest, total = steps[:, 0].clone(), steps[:, 1:].clone()
    dist.all_reduce(slowest, dist.ReduceOp.MAX)
    dist.all_reduce(total)
    if rank == 0:
        torch.save(torch.cat([slowest[:, None], total / total.new_tensor([setting["ranks"], 1])], 1), f"{folder}/steps")
    dist.destroy_process_group()


def steps_of(setting):
    if setting["ranks"] == 1:
        return list(train(setting))
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(train_rank, (setting, folder), nprocs=setting["ranks"])
        return torch.load(f"{folder}/steps").tolist()


def name_of(setting):
    parts = [setting["model"], setting["precision"], "compiled" if setting["compile"] else "eager",
             f"{setting['ranks']}x{setting['threads']}"]
    return "torch " + " ".join(parts)


def report(setting):
    steps = steps_of(setting)
    shape = MODELS[setting["model"]]
    seconds, busy = (statistics.median(s[i] for s in steps[2:]) for i in (0, 2))
    tokens = shape["batch"] * shape["seq"]
    print(json.dumps(dict(
        name=name_of(setting), tokens_per_second=round(tokens / seconds, 1),
        tokens_per_processor_second=round(tokens / busy, 1), loss=[round(s[1], 6) for s in steps],
        milliseconds=[round(s[0] * 1e3, 1) for s in steps],
        torch=torch.__version__, **setting)), flush=True)


def settings(o):
    for model, precision, compiled, ranks in itertools.product(o.model, o.precision, o.compile, o.ranks):
        yield dict(model=model, precision=precision, compile=compiled == "yes", ranks=ranks, steps=o.steps,
                   threads=o.threads or max(1, 2 // ranks), optimizer=o.optimizer)


def steps_argument(text):
    value = int(text)
    if value < 3:
        raise argparse.ArgumentTypeError("at least 3: the first two are not timed")
    return value


def options():
    p = argparse.ArgumentParser(description="training steps of a GPT-2-like model in PyTorch on the CPU")
    p.add_argument("--model", nargs="+", choices=MODELS, default=["small"])
    p.add_argument("--precision", nargs="+", choices=["f32", "autocast", "bf16", "bf16-only"], default=["f32"])
    p.add_argument("--compile", nargs="*", choices=["no", "yes"], default=["no"], help="torch.compile; alone: yes")
    p.add_argument("--ranks", nargs="+", type=int, choices=[1, 2, 4], default=[1])
    p.add_argument("--threads", type=int, help="of each rank; by default two in all")
    p.add_argument("--steps", type=steps_argument, default=12)
    p.add_argument("--optimizer", choices=["fused", "foreach"], default="fused")
    o = p.parse_args()
    o.compile = o.compile or ["yes"]
    return o


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    for each in settings(options()):
        report(each)
