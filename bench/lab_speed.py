#!/usr/bin/env python3
"""Training speed of the lab beside the same model in eager PyTorch, measured in turn.

    .venv/bin/python bench/lab_speed.py [--threads 1] [--rounds 5] [--steps 20] [--context 128]

Prints tokens a second of both (median of the rounds) and the ratio, for each scheme. Ours is
`build/sextant lab run`, its own count of training time; the peer is the model below: the same layers,
widths, optimiser (fused AdamW), clipping and batch, positions written the usual way.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import torch
import torch.nn.functional as F

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "build" / "sextant"


class Peer(torch.nn.Module):
    """A pre-norm GPT as one writes it: float32, scaled_dot_product_attention."""

    def __init__(self, scheme, vocabulary, layers, width, heads, context):
        super().__init__()
        self.scheme, self.heads, self.width = scheme, heads, width
        self.embedding = torch.nn.Embedding(vocabulary, width)
        make = lambda: torch.nn.ModuleDict({
            "norm1": torch.nn.LayerNorm(width), "qkv": torch.nn.Linear(width, 3 * width, bias=False),
            "out": torch.nn.Linear(width, width, bias=False), "norm2": torch.nn.LayerNorm(width),
            "up": torch.nn.Linear(width, 4 * width), "down": torch.nn.Linear(4 * width, width)})
        self.blocks = torch.nn.ModuleList(make() for _ in range(layers))
        self.norm = torch.nn.LayerNorm(width)
        self.head = torch.nn.Linear(width, vocabulary, bias=False)
        positions = torch.arange(context)
        distance = positions[None, :] - positions[:, None]
        hidden = torch.full((context, context), -math.inf).triu(1)
        if scheme == "rope":
            dims = width // heads
            angle = positions[:, None] * 10000.0 ** (-torch.arange(0, dims, 2) / dims)
            self.cos, self.sin = torch.cat([angle, angle], -1).cos(), torch.cat([angle, angle], -1).sin()
        if scheme == "alibi":
            slopes = torch.tensor([2.0 ** (-8 * (h + 1) / heads) for h in range(heads)])
            self.mask = (slopes[:, None, None] * distance + hidden)[None]
        if scheme == "t5":
            self.table = torch.nn.Embedding(32, heads)
            behind = (-distance).clamp(min=0)
            far = 16 + (torch.log(behind.clamp(min=1) / 16) / math.log(128 / 16) * 16).long()
            self.bucket = torch.where(behind < 16, behind, far.clamp(max=31))
            self.hidden = hidden
        if scheme == "learned":
            self.table = torch.nn.Embedding(context, width)

    def rotate(self, x):
        half = x.shape[-1] // 2
        turned = torch.cat([-x[..., half:], x[..., :half]], -1)
        return x * self.cos + turned * self.sin

    def forward(self, tokens):
        batch, length = tokens.shape
        x = self.embedding(tokens) * math.sqrt(self.width)
        if self.scheme == "learned":
            x = x + self.table.weight
        mask = None
        if self.scheme == "alibi":
            mask = self.mask
        if self.scheme == "t5":
            mask = (self.table(self.bucket).permute(2, 0, 1) + self.hidden)[None]
        for block in self.blocks:
            qkv = block["qkv"](block["norm1"](x)).view(batch, length, 3, self.heads, -1)
            q, k, v = qkv.permute(2, 0, 3, 1, 4)
            if self.scheme == "rope":
                q, k = self.rotate(q), self.rotate(k)
            out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None)
            x = x + block["out"](out.transpose(1, 2).reshape(batch, length, self.width))
            x = x + block["down"](F.gelu(block["up"](block["norm2"](x))))
        return self.head(self.norm(x))


def peer_speed(scheme, arguments):
    torch.manual_seed(1)
    model = Peer(scheme, arguments.pieces, arguments.layers, arguments.width, arguments.heads,
                 arguments.context)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95), fused=True)
    start = None
    for step in range(arguments.steps + 1):
        if step == 1:
            start = time.perf_counter()  # the first step warms up
        tokens = torch.randint(arguments.pieces, (arguments.batch, arguments.context + 1))
        optimizer.zero_grad()
        logits = model(tokens[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        loss.item()
    seconds = time.perf_counter() - start
    return arguments.steps * arguments.batch * arguments.context / seconds


def our_speed(scheme, arguments):
    with tempfile.TemporaryDirectory() as folder:
        command = [PROGRAM, "lab", "run", scheme, "--output", f"{folder}/run", "--json",
                   "--final-tokens", "1", "--curve-tokens", "1", "--sample-tokens", "1",
                   "--longest", "1", "--evaluate-every", str(arguments.steps),
                   "--checkpoint-every", str(arguments.steps)]
        for name in ("steps", "layers", "width", "heads", "context", "batch", "pieces", "threads"):
            command += [f"--{name}", str(getattr(arguments, name))]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        return json.loads(run.stdout)["tokens_per_second"]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("threads", 1), ("rounds", 5), ("steps", 20), ("layers", 4), ("width", 128),
                        ("heads", 4), ("context", 128), ("batch", 16), ("pieces", 512)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--schemes", nargs="*", default=["none", "learned", "rope", "alibi", "t5"])
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    print(f"torch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}, "
          f"{arguments.threads} thread(s), {arguments.layers} layers, width {arguments.width}, "
          f"context {arguments.context}, batch {arguments.batch}, {arguments.steps} steps, "
          f"median of {arguments.rounds} rounds in turn, {os.cpu_count()} cores")
    print(f"{'scheme':<10} {'sextant tok/s':>14} {'eager tok/s':>12} {'ratio':>6}")
    for scheme in arguments.schemes:
        ours, peers = [], []
        for _ in range(arguments.rounds):
            ours.append(our_speed(scheme, arguments))
            peers.append(peer_speed(scheme, arguments))
        ratio = statistics.median(a / b for a, b in zip(ours, peers))
        print(f"{scheme:<10} {statistics.median(ours):>14.0f} {statistics.median(peers):>12.0f} "
              f"{ratio:>6.2f}", flush=True)


if __name__ == "__main__":
    main()
