"""Training a small GPT: the lab beside the same model in PyTorch, eager and compiled.

The peer is the model below: the same layers, widths, optimiser (fused AdamW), clipping and batch, positions
written the usual way. Ours is `build/sextant lab run`, its own count of training time. Seconds are of a token.
"""

import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import torch
import torch.nn.functional as F

from peer import serve, subject

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "build" / "sextant"
THREADS = int(sys.argv[1])


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


@dataclass
class PeerTraining:
    """A model that goes on training: each measurement is some steps more."""
    sizes: dict
    compiled: bool
    figures: dict = field(default_factory=dict)

    def __post_init__(self):
        torch.manual_seed(1)
        sizes = self.sizes
        self.model = Peer(sizes["scheme"], sizes["pieces"], sizes["layers"], sizes["width"], sizes["heads"],
                          sizes["context"])
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3, betas=(0.9, 0.95), fused=True)
        self.call = torch.compile(self.model, dynamic=False) if self.compiled else self.model

    def run(self):
        """One step."""
        sizes = self.sizes
        tokens = torch.randint(sizes["pieces"], (sizes["batch"], sizes["context"] + 1))
        self.optimizer.zero_grad()
        logits = self.call(tokens[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        loss.item()

    def seconds(self, _):
        self.run()  # wakes threads; neither does the lab's first step count
        start = time.perf_counter()
        for _ in range(self.sizes["steps"]):
            self.run()
        seconds = time.perf_counter() - start
        self.figures["peak resident bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        return seconds / (self.sizes["steps"] * self.sizes["batch"] * self.sizes["context"])


@dataclass
class OurTraining:
    sizes: dict
    figures: dict = field(default_factory=dict)

    def run(self):
        """Nothing to prepare: each measurement is a process of its own."""

    def seconds(self, _):
        steps = str(1 + self.sizes["steps"])
        with tempfile.TemporaryDirectory() as folder:
            command = [PROGRAM, "lab", "run", self.sizes["scheme"], "--output", f"{folder}/run", "--json",
                       "--threads", str(THREADS), "--final-tokens", "1", "--curve-tokens", "1", "--sample-tokens", "1",
                       "--longest", "1", "--evaluate-every", "1", "--checkpoint-every", steps, "--steps", steps]
            for name in ("layers", "width", "heads", "context", "batch", "pieces"):
                command += [f"--{name}", str(self.sizes[name])]
            with open(f"{folder}/out", "w+") as out:
                process = subprocess.Popen(command, stdout=out)
                _, status, usage = os.wait4(process.pid, 0)
                if status != 0:
                    raise RuntimeError(f"sextant lab run ended with {os.waitstatus_to_exitcode(status)}")
                out.seek(0)
                curve = [point for point in json.load(out)["curve"] if point["step"] > 0]
        self.figures["peak resident bytes"] = usage.ru_maxrss * 1024
        first, last = ((point["tokens"], point["tokens"] / point["tokens_per_second"])
                       for point in (curve[0], curve[-1]))
        return (last[1] - first[1]) / (last[0] - first[0])


subject("lab/sextant")(OurTraining)
subject("lab/eager")(lambda sizes: PeerTraining(sizes, compiled=False))
subject("lab/compiled")(lambda sizes: PeerTraining(sizes, compiled=True))


if __name__ == "__main__":
    torch.set_num_threads(THREADS)
    serve(lambda: {"versions": {"torch": torch.__version__}})
