"""PyTorch as a peer: attention, its gradients, decoding, rotation and tables, eager and compiled."""

import json
import math
import resource
import sys
import time

import torch
import torch.nn.functional as F
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from peer import SUBJECTS, Made, serve, subject

INF = float("inf")


def forward_only(run):
    def call():
        with torch.no_grad():
            run()
    return Made(call)


def describe():
    return {"versions": {"torch": torch.__version__,
                         "torch cpu capability": torch.backends.cpu.get_cpu_capability(),
                         "torch threads": torch.get_num_threads()}}


# ---- attention, [1, heads, tokens, head_dim] ----

def inputs(sizes, dtype=torch.float32, grad=False):
    shape = (1, sizes["heads"], sizes["tokens"], sizes["head_dim"])
    return [torch.randn(shape).to(dtype).requires_grad_(grad) for _ in range(3)]


def distances(tokens):
    place = torch.arange(tokens)
    return place[None, :] - place[:, None]


def hidden(tokens):
    return torch.full((tokens, tokens), -INF).triu(1)


def t5_buckets(tokens, causal):
    """Buckets of all pairs as int32: 32 of them, up to distance 128."""
    distance = torch.arange(-(tokens - 1), tokens)
    count = 32 if causal else 16
    far = (-distance).clamp(min=0) if causal else distance.abs()
    exact = count // 2
    log = exact + (torch.log(far.clamp(min=1) / exact) / math.log(128 / exact) * (count - exact)).long()
    bucket = torch.where(far < exact, far, log.clamp(max=count - 1))
    bucket = bucket if causal else bucket + (distance > 0) * count
    return bucket.int().unfold(0, tokens, 1).flip(0).contiguous()


def alibi_bias(sizes):
    heads = sizes["heads"]
    slopes = torch.tensor([2.0 ** (-8 * (h + 1) / heads) for h in range(heads)])
    return -slopes[:, None, None] * distances(sizes["tokens"]).abs()


def sdpa_forward(dtype=torch.float32, causal=False, bias=None):
    def make(sizes):
        q, k, v = inputs(sizes, dtype)
        mask = None
        if bias == "random":
            mask = torch.randn(1, sizes["heads"], sizes["tokens"], sizes["tokens"])
        if bias == "alibi":
            mask = alibi_bias(sizes)[None]
        if mask is not None and causal:
            mask = mask + hidden(sizes["tokens"])
        if mask is not None:
            mask = mask.to(dtype).contiguous()
        is_causal = causal and mask is None
        return forward_only(lambda: F.scaled_dot_product_attention(q, k, v, mask, 0.0, is_causal))
    return make


subject("sdpa/none")(sdpa_forward())
subject("sdpa/causal")(sdpa_forward(causal=True))
subject("sdpa/bias")(sdpa_forward(bias="random"))
subject("sdpa/bias_causal")(sdpa_forward(bias="random", causal=True))
subject("sdpa/alibi_causal")(sdpa_forward(bias="alibi", causal=True))
subject("sdpa/none_bf16")(sdpa_forward(torch.bfloat16))
subject("sdpa/bias_bf16")(sdpa_forward(torch.bfloat16, bias="random"))


def sdpa_train(causal=False, bias=None, compiled=False):
    """Forward and backward; the bias is a trainable tensor of all pairs, or a T5 table."""
    def make(sizes):
        tokens, heads = sizes["tokens"], sizes["heads"]
        q, k, v = inputs(sizes, grad=True)
        d_out = torch.randn_like(q)
        leaves = [q, k, v]
        if bias == "tensor":
            leaves.append(torch.randn(1, heads, tokens, tokens, requires_grad=True))
        if bias == "t5":
            leaves.append(torch.randn(32, heads, requires_grad=True))
            bucket = t5_buckets(tokens, causal)
            seen = hidden(tokens) if causal else None

        def attend():
            mask = leaves[3] if bias == "tensor" else None
            if bias == "t5":
                mask = F.embedding(bucket, leaves[3]).permute(2, 0, 1)[None]
                mask = mask + seen if causal else mask
            return F.scaled_dot_product_attention(q, k, v, mask, 0.0, causal and mask is None)

        attend = torch.compile(attend, dynamic=False) if compiled else attend

        def run():
            for leaf in leaves:
                leaf.grad = None
            attend().backward(d_out)
        return Made(run)
    return make


@subject("sdpa/t5")
def sdpa_t5(sizes):
    """The bias of all pairs made from a table, and given as a mask."""
    q, k, v = inputs(sizes)
    table, bucket = torch.randn(32, sizes["heads"]), t5_buckets(sizes["tokens"], causal=False)
    return forward_only(lambda: F.scaled_dot_product_attention(
        q, k, v, F.embedding(bucket, table).permute(2, 0, 1)[None]))


subject("sdpa_train/none")(sdpa_train())
subject("sdpa_train/causal")(sdpa_train(causal=True))
subject("sdpa_train/tensor")(sdpa_train(bias="tensor"))
subject("sdpa_train/t5")(sdpa_train(bias="t5"))
subject("sdpa_train/t5_causal")(sdpa_train(bias="t5", causal=True))
subject("sdpa_train/t5_compiled")(sdpa_train(bias="t5", compiled=True))
subject("sdpa_train/t5_causal_compiled")(sdpa_train(bias="t5", causal=True, compiled=True))


def flex(kind, causal=False):
    def make(sizes):
        tokens, heads = sizes["tokens"], sizes["heads"]
        q, k, v = inputs(sizes)
        table = torch.randn(heads, 2 * tokens - 1)
        slopes = torch.tensor([2.0 ** (-8 * (h + 1) / heads) for h in range(heads)])

        def by_table(score, b, h, i, j):
            return score + table[h, j - i + tokens - 1]

        def by_slope(score, b, h, i, j):
            return score - slopes[h] * (i - j).abs()

        change = {"none": None, "table": by_table, "alibi": by_slope}[kind]
        seen = None
        if causal:
            seen = create_block_mask(lambda b, h, i, j: i >= j, None, None, tokens, tokens, device="cpu")
        compiled = torch.compile(flex_attention, dynamic=False)
        return forward_only(lambda: compiled(q, k, v, score_mod=change, block_mask=seen))
    return make


subject("flex/none")(flex("none"))
subject("flex/alibi")(flex("alibi"))
subject("flex/table")(flex("table"))
subject("flex/alibi_causal")(flex("alibi", causal=True))
subject("flex/table_causal")(flex("table", causal=True))


# ---- attention with vectors by distance, composed ----

def composed(kind):
    """softmax(q k^T + the term) v. The term is the products of q (or k) with all rows of the vectors,
    gathered by distance: n^2 numbers, not n^2 vectors."""
    def make(sizes):
        tokens, heads, dim = sizes["tokens"], sizes["heads"], sizes["head_dim"]
        q, k, v = inputs(sizes)
        distance = distances(tokens)
        if kind == "shaw":  # one table for all heads, distances clipped at 16; for keys and for values
            index, rows, values = distance.clamp(-16, 16) + 16, torch.randn(33, dim), torch.randn(33, dim)
        elif kind == "transformer-xl":  # every distance; biases u and v
            index, rows = distance + tokens - 1, torch.randn(heads, 2 * tokens - 1, dim)
        else:  # DeBERTa: 512 rows, content to position and position to content
            index, rows = distance.clamp(-256, 255) + 256, torch.randn(heads, 512, dim)
        index = index.expand(1, heads, tokens, tokens)
        u, w = torch.randn(heads, 1, dim), torch.randn(heads, 1, dim)
        scale = 1 / math.sqrt(dim * (3 if kind == "deberta" else 1))

        def shaw():
            scores = (q @ k.transpose(-1, -2) + (q @ rows.T).gather(-1, index)) * scale
            weights = scores.softmax(-1)
            by_row = torch.zeros(1, heads, tokens, 33).scatter_add_(-1, index, weights)
            return weights @ v + by_row @ values

        def transformer_xl():
            bias = ((q + w) @ rows.transpose(-1, -2)).gather(-1, index)
            return F.scaled_dot_product_attention(q + u, k, v, bias * scale, scale=scale)

        def deberta():
            bias = (q @ rows.transpose(-1, -2)).gather(-1, index)
            bias = bias + (k @ rows.transpose(-1, -2)).gather(-1, index).transpose(-1, -2)
            return F.scaled_dot_product_attention(q, k, v, bias * scale, scale=scale)

        return forward_only({"shaw": shaw, "transformer-xl": transformer_xl, "deberta": deberta}[kind])
    return make


for name in ("shaw", "transformer-xl", "deberta"):
    subject(f"vectors/{name}")(composed(name))


# ---- decoding: one query against a cache ----

def decode(dtype, folded=False):
    """`folded` gives the query heads of one key head as queries, so that keys are read once."""
    def make(sizes):
        heads, shared, dim = sizes["heads"], sizes["kv_heads"], sizes["head_dim"]
        q = torch.randn(1, heads, 1, dim).to(dtype)
        k, v = (torch.randn(1, shared, sizes["tokens"], dim).to(dtype) for _ in range(2))
        if folded:
            q = q.view(1, shared, heads // shared, dim)
        grouped = not folded and heads != shared
        return forward_only(lambda: F.scaled_dot_product_attention(q, k, v, enable_gqa=grouped))
    return make


subject("decode/f32")(decode(torch.float32))
subject("decode/bf16")(decode(torch.bfloat16))
subject("decode/f32_folded")(decode(torch.float32, folded=True))
subject("decode/bf16_folded")(decode(torch.bfloat16, folded=True))


# ---- rotation, [tokens, heads, head_dim] ----

def angles(sizes):
    dim = sizes["head_dim"]
    inverse = 1e4 ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)
    return torch.arange(sizes["tokens"], dtype=torch.float64)[:, None] * inverse


def rotate_half(x, cos, sin):
    half = x.shape[-1] // 2
    return x * cos + torch.cat((-x[..., half:], x[..., :half]), -1) * sin


def rotation(form):
    def make(sizes):
        x = torch.randn(sizes["tokens"], sizes["heads"], sizes["head_dim"])
        angle = angles(sizes)
        wide = torch.cat((angle, angle), -1)[:, None]
        cos, sin = wide.cos().float(), wide.sin().float()
        turns = torch.polar(torch.ones_like(angle), angle)[:, None].to(torch.complex64)
        pairs = torch.view_as_complex(x.view(*x.shape[:2], -1, 2))
        compiled = torch.compile(rotate_half, dynamic=False) if form == "compiled" else None
        return forward_only({
            "eager": lambda: rotate_half(x, cos, sin),
            "compiled": lambda: compiled(x, cos, sin),
            "complex": lambda: torch.view_as_real(pairs * turns).flatten(-2),
            "complex_in_place": lambda: pairs.mul_(turns)}[form])
    return make


for name in ("eager", "compiled", "complex", "complex_in_place"):
    subject(f"rotate/{name}")(rotation(name))


# ---- tables ----

def sinusoidal(compiled):
    def make(sizes):
        width = sizes["heads"] * sizes["head_dim"]

        def table():
            place = torch.arange(sizes["tokens"], dtype=torch.float32)[:, None]
            angle = place * torch.exp(torch.arange(0, width, 2) * (-math.log(1e4) / width))
            return torch.stack((angle.sin(), angle.cos()), -1).flatten(-2)
        return forward_only(torch.compile(table, dynamic=False) if compiled else table)
    return make


subject("table/sinusoidal")(sinusoidal(False))
subject("table/sinusoidal_compiled")(sinusoidal(True))


def status_bytes(name):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(name + ":")) * 1024


def once(name, sizes):
    """One run in this process: time and memory, after a small run. As sextant_bench once."""
    SUBJECTS[name](sizes | {"tokens": 64}).run()
    made = SUBJECTS[name](sizes)
    with open("/proc/self/clear_refs", "w") as clear:
        clear.write("5")  # forgets the peak
    before, start = status_bytes("VmRSS"), time.perf_counter()
    made.run()
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "beyond_inputs": status_bytes("VmHWM") - before,
            "process_peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


if __name__ == "__main__":
    torch.manual_seed(1)
    torch.set_num_threads(int(sys.argv[1]))
    torch._dynamo.config.recompile_limit = 64  # one function, many shapes
    if sys.argv[2:3] == ["once"]:
        print(json.dumps(once(sys.argv[3], json.loads(sys.argv[4]))))
    else:
        serve(describe)
