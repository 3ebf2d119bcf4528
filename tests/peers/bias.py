"""Biases by distance and by cell: slopes, buckets, tables and perceptrons of the peers."""


import numpy as np
import torch
from transformers import Swinv2Config, T5Config
from transformers.models.bloom.modeling_bloom import build_alibi_tensor as bloom_alibi
from transformers.models.falcon.modeling_falcon import build_alibi_tensor as falcon_alibi
from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor
from transformers.models.swin.modeling_swin import SwinRelativePositionBias
from transformers.models.swinv2.modeling_swinv2 import Swinv2SelfAttention
from transformers.models.t5.modeling_t5 import T5Attention
from x_transformers.x_transformers import AlibiPositionalBias, DynamicPositionBias, RelativePositionBias

from comparison import Comparison, Given, as_array, proves, spec_of

HEAD_COUNTS = (1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 16, 20, 24, 25, 32, 40, 48, 64, 71, 112, 128)


# --- ALiBi --------------------------------------------------------------------------------------


def slopes(sextant, heads, **settings):
    return sextant.table(spec_of("alibi", heads=heads, **settings), distances=(-40, 0))


def causal_rows(alibi, length):
    """A bias by key alone as a bias by distance of the last query, which softmax cannot tell apart."""
    alibi = as_array(alibi).reshape(-1, length)
    return alibi - alibi[:, -1:]


@proves("alibi", "transformers bloom build_alibi_tensor",
        "it adds +slope * key, ours minus a constant of each query's row")
def bloom(sextant):
    for heads in HEAD_COUNTS:
        theirs = causal_rows(bloom_alibi(torch.ones(1, 41), heads, torch.float32), 41)
        yield Comparison("bias", f"heads={heads}", slopes(sextant, heads)["bias"], theirs, 1e-5)


@proves("alibi rounding=bf16 applied=with_scores", "transformers falcon build_alibi_tensor",
        "its bias is scaled by 1/sqrt(head_dim) with the scores; its slopes are bfloat16, its products float32")
def falcon(sextant):
    for heads in HEAD_COUNTS:
        theirs = causal_rows(falcon_alibi(torch.ones(1, 41), heads, torch.float32), 41)
        ours = slopes(sextant, heads, rounding="bf16", applied="with_scores", head_dim=16)["bias"]
        yield Comparison("bias", f"heads={heads}", ours, theirs / 4, 2e-6)


@proves("alibi family=geometric", "attention-gym mods/alibi.py (its line)",
        "2^(-8 (h + 1) / heads) for every head count, which no released model has; and signed, so keys after the "
        "query gain")
def attention_gym(sextant):
    for heads in HEAD_COUNTS:
        ours = sextant.table(spec_of("alibi", heads=heads, family="geometric", future_factor=-1), distances=(-20, 20))
        theirs = torch.exp2(-(torch.arange(heads) + 1).double() * 8 / heads)[:, None] * torch.arange(-20, 21)
        yield Comparison("bias", f"heads={heads}", ours["bias"], theirs, 1e-12)


@proves("alibi max_bias", "transformers mpt build_mpt_alibi_tensor")
def mpt(sextant):
    for heads in HEAD_COUNTS:
        for most in (4, 8, 16):
            theirs = causal_rows(build_mpt_alibi_tensor(heads, 41, alibi_bias_max=most), 41)
            yield Comparison("bias", f"heads={heads} max={most}", slopes(sextant, heads, max_bias=most)["bias"],
                             theirs, 2e-5)


@proves("alibi", "x-transformers AlibiPositionalBias, both directions")
def x_alibi(sextant):
    for heads in HEAD_COUNTS:
        ours = sextant.table(spec_of("alibi", heads=heads), distances=(-20, 20))["bias"]
        square = as_array(AlibiPositionalBias(heads)(41, 41))
        yield Comparison("bias", f"heads={heads}", ours, square[:, 20], 1e-5)


# --- T5 -----------------------------------------------------------------------------------------

BUCKETS = ((32, 128), (64, 128), (8, 20), (320, 800), (512, 2048), (32, 256))


def buckets(sextant, count, most, direction, reach):
    spec = spec_of("t5", heads=1, buckets=count, max_distance=most, direction=direction)
    return sextant.table(spec, distances=(-reach, reach))["buckets"]


@proves("t5", "transformers T5Attention._relative_position_bucket")
def t5_buckets(sextant):
    for count, most in BUCKETS:
        reach = 3 * most
        distances = torch.arange(-reach, reach + 1)
        for direction, both_sides in (("causal", False), ("bidirectional", True)):
            theirs = T5Attention._relative_position_bucket(distances, both_sides, count, most)
            yield Comparison("buckets", f"{count}, {most}, {direction}",
                             buckets(sextant, count, most, direction, reach), theirs, 0.5)


@proves("t5", "x-transformers RelativePositionBias._relative_position_bucket")
def x_buckets(sextant):
    for count, most in BUCKETS:
        reach = 3 * most
        distances = torch.arange(-reach, reach + 1)
        for direction, causal in (("causal", True), ("bidirectional", False)):
            theirs = RelativePositionBias._relative_position_bucket(distances, causal, count, most)
            yield Comparison("buckets", f"{count}, {most}, {direction}",
                             buckets(sextant, count, most, direction, reach), theirs, 0.5)


@proves("t5", "transformers T5Attention.compute_bias; x-transformers RelativePositionBias",
        "T5 does not scale q . k; x-transformers multiplies the bias by its scale")
def t5_bias(sextant):
    for direction in ("causal", "bidirectional"):
        length = 40
        spec = spec_of("t5", buckets=16, max_distance=32, direction=direction, init_std=1)
        made = sextant.vectors(spec, positions=range(length), heads=4, head_dim=4)
        table = torch.tensor(made["weights"]["table"])
        config = T5Config(d_model=16, d_kv=4, num_heads=4, relative_attention_num_buckets=16,
                          relative_attention_max_distance=32, is_decoder=direction == "causal")
        module = T5Attention(config, has_relative_attention_bias=True, layer_idx=0)
        module.relative_attention_bias.weight.data = table
        distances = np.arange(length)[None] - np.arange(length)[:, None]
        ours = made["tables"]["bias"][:, distances + length - 1]
        yield Comparison("bias", direction, ours, module.compute_bias(length, length)[0], 1e-15)
        other = RelativePositionBias(1.0, direction == "causal", 16, 32, 4)
        other.relative_attention_bias.weight.data = table
        yield Comparison("bias", direction + ", x-transformers", ours, other(length, length), 1e-15)


@proves("t5 scores=unscaled", "transformers T5Attention.forward, whole scores")
def t5_scores(sextant):
    length = 20
    spec = spec_of("t5", buckets=16, max_distance=32, direction="bidirectional", init_std=1, scores="unscaled")
    made = sextant.vectors(spec, positions=range(length), heads=4, head_dim=4)
    config = T5Config(d_model=16, d_kv=4, num_heads=4, relative_attention_num_buckets=16, dropout_rate=0.0,
                      relative_attention_max_distance=32, is_decoder=False)
    config._attn_implementation = "eager"
    module = T5Attention(config, has_relative_attention_bias=True, layer_idx=0).double().eval()
    module.relative_attention_bias.weight.data = torch.tensor(made["weights"]["table"])
    for name in ("query", "key", "value"):
        given = torch.tensor(made["inputs"][name]).transpose(0, 1).reshape(1, length, 16)
        setattr(module, name[0], Given(given))
    module.o = torch.nn.Identity()
    theirs = module(torch.zeros(1, length, 16, dtype=torch.float64))[0]
    ours = made["output"].swapaxes(0, 1).reshape(1, length, 16)
    yield Comparison("output", f"n={length}", ours, theirs, 1e-6)


# --- perceptrons and kernels --------------------------------------------------------------------


def tile(made, length):
    """The bias [heads, query, key] of whichever hook the scheme has."""
    if "tile_bias" in made["tables"]:
        return made["tables"]["tile_bias"]
    distances = np.arange(length)[None] - np.arange(length)[:, None]
    return made["tables"]["bias"][:, distances + length - 1]


@proves("cpb", "x-transformers DynamicPositionBias")
def cpb(sextant):
    length = 12
    for kind, log in (("log", True), ("linear", False)):
        for depth in (1, 2, 3):
            spec = spec_of("cpb", hidden_dim=7, depth=depth, distance=kind)
            made = sextant.vectors(spec, positions=range(length), heads=4, head_dim=4)
            module = DynamicPositionBias(7, heads=4, depth=depth, log_distance=log).double()
            layers = [layer[0] if isinstance(layer, torch.nn.Sequential) else layer for layer in module.mlp]
            for n, layer in enumerate(layers):
                layer.weight.data = torch.tensor(made["weights"][f"weight{n}"])
                layer.bias.data = torch.tensor(made["weights"][f"bias{n}"])
            torch_default, _ = torch.get_default_dtype(), torch.set_default_dtype(torch.float64)
            try:
                theirs = run_double(module, length)
            finally:
                torch.set_default_dtype(torch_default)
            yield Comparison("bias", f"{kind} depth={depth}", tile(made, length), theirs, 1e-12)


def run_double(module, length):
    """DynamicPositionBias calls .float(), which would cut doubles; its input is whole numbers."""
    original = torch.Tensor.float
    torch.Tensor.float = torch.Tensor.double
    try:
        return module(length, length)
    finally:
        torch.Tensor.float = original


@proves("kerple", "gpt-neox fork of the paper, layers.py (its lines)",
        "NeMo's copy fills a with zeros that do not train, so its bias is 0")
def kerple(sextant):
    length = 12
    distances = torch.arange(length)[None] - torch.arange(length)[:, None]
    away = distances.abs().double()
    for kernel in ("log", "power"):
        made = sextant.vectors(spec_of("kerple", kernel=kernel), positions=range(length), heads=4, head_dim=4)
        weights = {name: torch.tensor(value)[:, None, None] for name, value in made["weights"].items()}
        if kernel == "log":
            r1, r2 = (weights[name].clamp(min=1e-2) for name in ("r1", "r2"))
            theirs = -r1 * torch.log(1 + r2 * away)
        else:
            theirs = -weights["a"].clamp(min=1e-2) * away ** weights["p"].clamp(min=1e-2, max=2)
        yield Comparison("bias", kernel, tile(made, length), theirs, 1e-12)


@proves("sandwich", "attention-gym mods/sandwich.py (its lines)",
        "attention-gym is not on PyPI; its sum and head ratio are run here")
def sandwich(sextant):
    length = 20
    for dims in (8, 128):
        made = sextant.vectors(spec_of("sandwich", dims=dims), positions=range(length), heads=4, head_dim=4)
        distance = (torch.arange(length)[:, None] - torch.arange(length)[None]).double()
        inner = 10000.0 ** (-2 * torch.arange(dims // 2).double() / dims)
        ratio = 4 / (8 * torch.arange(1, 5).double())
        theirs = ratio[:, None, None] * torch.cos(distance[..., None] * inner).sum(-1)
        yield Comparison("bias", f"dims={dims}", tile(made, length), theirs, 1e-11)


@proves("fire", "mcleish7/arithmetic cramming/architectures/embeddings.py FIRE (its lines)",
        "a laboratory's module, not installable; its forward is run here")
def fire(sextant):
    length = 16
    for first in (0, 600):
        made = sextant.vectors(spec_of("fire", hidden_dim=8), positions=range(first, first + length), heads=4,
                               head_dim=4)
        weights = {name: torch.tensor(value) for name, value in made["weights"].items()}
        positions = torch.arange(first, first + length).double()
        distance = positions[:, None] - positions[None]
        threshold = torch.abs(weights["length_multiplier"] * 512)
        normaliser = torch.max(positions, threshold)[:, None]
        c = weights["c"]
        normalised = (torch.log(torch.abs(c * distance) + 1) /
                      (torch.log(torch.abs(c * normaliser) + 1) + 1e-6))[..., None]
        hidden = torch.relu(normalised @ weights["weight0"].T + weights["bias0"])
        theirs = (hidden @ weights["weight1"].T + weights["bias1"]).permute(2, 0, 1)
        yield Comparison("bias", f"from {first}", made["tables"]["tile_bias"], theirs, 1e-12)


@proves("learned-bias", "transformers SwinRelativePositionBias of one row",
        "a window one cell high is a table by distance; it counts query - key, so its rows run the other way")
def learned_bias(sextant):
    for width in (2, 8, 16):
        spec = spec_of("learned-bias", max_distance=width - 1, direction="bidirectional", init_std=1)
        made = sextant.vectors(spec, positions=range(width), heads=4, head_dim=4)
        module = SwinRelativePositionBias(4, (1, width)).double()
        module.relative_position_bias_table.data = torch.tensor(made["weights"]["table"]).flip(1).T.contiguous()
        module.relative_position_index = module._create_relative_position_index().view(-1)
        yield Comparison("bias", f"n={width}", tile(made, width), module()[0], 1e-15)


# --- images -------------------------------------------------------------------------------------


@proves("swin", "transformers SwinRelativePositionBias")
def swin(sextant):
    for height, width in ((2, 3), (4, 4), (7, 7)):
        spec = spec_of("swin", height=height, width=width, init_std=1)
        made = sextant.vectors(spec, positions=range(height * width), heads=3, head_dim=4)
        module = SwinRelativePositionBias(3, (height, width)).double()
        module.relative_position_bias_table.data = torch.tensor(made["weights"]["table"])
        module.relative_position_index = module._create_relative_position_index().view(-1)
        yield Comparison("bias", f"{height}x{width}", made["tables"]["tile_bias"], module()[0], 1e-15)


@proves("swin-v2", "transformers Swinv2SelfAttention",
        "the window's coordinates are float32; cosine attention is the model's own")
def swin_v2(sextant):
    for window, trained in (((4, 4), (0, 0)), ((6, 6), (4, 4)), ((3, 5), (0, 0))):
        spec = spec_of("swin-v2", height=window[0], width=window[1], trained_height=trained[0],
                       trained_width=trained[1])
        cells = window[0] * window[1]
        made = sextant.vectors(spec, positions=range(cells), heads=3, head_dim=4)
        module = Swinv2SelfAttention(Swinv2Config(), 12, 3, window, list(trained)).double()
        mlp, weights = module.continuous_position_bias_mlp, made["weights"]
        mlp[0].weight.data, mlp[0].bias.data = torch.tensor(weights["weight0"]), torch.tensor(weights["bias0"])
        mlp[2].weight.data = torch.tensor(weights["weight1"])
        table = mlp(module.relative_coords_table.double()).view(-1, 3)
        bias = table[module.relative_position_index.view(-1)].view(cells, cells, 3).permute(2, 0, 1)
        yield Comparison("bias", f"{window} trained {trained}", made["tables"]["tile_bias"], 16 * torch.sigmoid(bias),
                         1e-5)
