"""Rotations: frequencies of every rule over grids, tables, and turned vectors in each layout."""

import math

import numpy as np
import onnx.reference.ops.op_rotary_embedding as onnx_rotary
import rotary_embedding_torch
import torch
import transformers
import x_transformers.x_transformers as x_transformers
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.cohere import modeling_cohere
from transformers.models.deepseek_v3 import modeling_deepseek_v3
from transformers.models.gpt_neox import modeling_gpt_neox
from transformers.models.gptj import modeling_gptj
from transformers.models.hunyuan_v1_dense.configuration_hunyuan_v1_dense import HunYuanDenseV1Config
from transformers.models.hunyuan_v1_dense.modeling_hunyuan_v1_dense import HunYuanDenseV1RotaryEmbedding
from transformers.models.llama import modeling_llama
from transformers.models.llama4 import modeling_llama4

from comparison import Comparison, proves, spec_of

transformers.logging.set_verbosity_error()

# inv_freq of peers is float32: a power of a rounded exponent, log(base) times its rounding off.
FREQUENCY = 3e-6


def peer_frequencies(rule, dim, base, *, length=None, trained=4096, head_dim=None, **parameters):
    """inv_freq and attention factor as transformers computes them."""
    config = LlamaConfig(
        hidden_size=head_dim or dim, num_attention_heads=1, head_dim=head_dim or dim,
        max_position_embeddings=trained,
        rope_parameters={"rope_type": rule, "rope_theta": float(base), **parameters})
    if rule == "default":
        return modeling_llama.LlamaRotaryEmbedding.compute_default_rope_parameters(config)
    return ROPE_INIT_FUNCTIONS[rule](config, device="cpu", seq_len=length)


def our_frequencies(sextant, rule, dim, base, length=0, **settings):
    spec = spec_of("rope", frequencies=rule, rotated_dims=dim, base=base, **settings)
    made = sextant.table(spec, positions=[0, 1], length=length, head_dim=dim)
    return np.atleast_1d(made["inv_freq"]), made.get("attention_factor", 1.0)


def both(point, ours, theirs):
    yield Comparison("inv_freq", point, ours[0], theirs[0], FREQUENCY, relative=True)
    yield Comparison("attention factor", point, ours[1], theirs[1], 1e-12)


# --- frequencies --------------------------------------------------------------------------------


@proves("rope frequencies=default", "transformers LlamaRotaryEmbedding")
def default(sextant):
    for dim in (2, 8, 64, 96, 128, 256):
        for base in (100, 10000, 500000, 1e6, 1e7):
            yield from both(f"d={dim} base={base:g}", our_frequencies(sextant, "default", dim, base),
                            peer_frequencies("default", dim, base))


@proves("rope frequencies=linear", "transformers ROPE_INIT_FUNCTIONS['linear']")
def linear(sextant):
    for dim in (8, 64, 128):
        for base in (10000, 1e6):
            for factor in (1, 2.5, 8):
                yield from both(f"d={dim} base={base:g} factor={factor}",
                                our_frequencies(sextant, "linear", dim, base, factor=factor),
                                peer_frequencies("linear", dim, base, factor=factor))


@proves("rope frequencies=dynamic", "transformers ROPE_INIT_FUNCTIONS['dynamic']",
        "its original length is max_position_embeddings, whatever original_max_position_embeddings says")
def dynamic(sextant):
    for dim in (64, 128):
        for factor in (1, 2, 8):
            for length in (1, 4095, 4096, 4097, 8192, 100000):
                yield from both(
                    f"d={dim} factor={factor} length={length}",
                    our_frequencies(sextant, "dynamic", dim, 10000, length, factor=factor, original_length=4096),
                    peer_frequencies("dynamic", dim, 10000, length=length, trained=4096, factor=factor))


@proves("rope frequencies=dynamic alpha", "transformers HunYuanDenseV1RotaryEmbedding",
        "its checkpoints say dynamic; with alpha the base stays at every length")
def dynamic_alpha(sextant):
    for dim in (64, 128):
        config = HunYuanDenseV1Config(
            head_dim=dim, hidden_size=dim, num_attention_heads=1, num_key_value_heads=1,
            max_position_embeddings=32768,
            rope_parameters={"rope_type": "dynamic", "rope_theta": 10000.0, "alpha": 1000.0, "factor": 1.0})
        theirs = HunYuanDenseV1RotaryEmbedding(config)
        for length in (1, 32768, 100000):
            theirs(torch.zeros(1), torch.tensor([[length - 1]]))
            yield from both(f"d={dim} length={length}",
                            our_frequencies(sextant, "dynamic", dim, 10000, length, alpha=1000, original_length=32768),
                            (theirs.inv_freq, theirs.attention_scaling))


@proves("rope frequencies=ntk", "rotary-embedding-torch theta_rescale_factor; x-transformers base_rescale_factor")
def ntk(sextant):
    for dim in (64, 128):
        for alpha in (1.0, 2.0, 8.0, 1000.0):
            ours = our_frequencies(sextant, "ntk", dim, 10000, alpha=alpha)[0]
            lucidrains = rotary_embedding_torch.RotaryEmbedding(dim, theta_rescale_factor=alpha).freqs
            yield Comparison("inv_freq", f"rotary-embedding-torch d={dim} alpha={alpha}", ours, lucidrains,
                             FREQUENCY, relative=True)
            x = x_transformers.RotaryEmbedding(dim, base_rescale_factor=alpha).inv_freq
            yield Comparison("inv_freq", f"x-transformers d={dim} alpha={alpha}", ours, x, FREQUENCY, relative=True)


@proves("rope frequencies=ntk_fixed, ntk_mixed", "vllm NTKScalingRotaryEmbedding (its lines)",
        "vllm does not install on a plain CPU; the two branches are run here")
def ntk_scaling(sextant):
    for dim in (64, 128):
        for factor in (2.0, 8.0):
            yield Comparison(
                "inv_freq", f"fixed d={dim} factor={factor}",
                our_frequencies(sextant, "ntk_fixed", dim, 10000, factor=factor)[0],
                (10000 * factor) ** -(torch.arange(0, dim, 2) / dim) / factor ** (2 / dim), FREQUENCY, relative=True)
            for mixed_b in (0.3, 0.625, 1.0):
                a = math.log(factor) / (dim / 2) ** mixed_b
                stretch = torch.exp(a * torch.arange(1, dim // 2 + 1).float() ** mixed_b)
                yield Comparison(
                    "inv_freq", f"mixed d={dim} factor={factor} b={mixed_b}",
                    our_frequencies(sextant, "ntk_mixed", dim, 10000, factor=factor, mixed_b=mixed_b)[0],
                    10000 ** -(torch.arange(0, dim, 2) / dim) / stretch, FREQUENCY, relative=True)


@proves("rope frequencies=yarn", "transformers ROPE_INIT_FUNCTIONS['yarn']",
        "beta_fast and beta_slow default to 32 and 1; truncate=false is ramp_ends=exact")
def yarn(sextant):
    for dim, base, factor, original in ((128, 1e6, 4, 32768), (128, 10000, 16, 4096), (64, 150000, 32, 4096),
                                        (64, 10000, 40, 4096), (8, 10000, 2, 64), (32, 1000, 8, 256)):
        for fast, slow in ((32, 1), (64, 2)):
            for truncate in (True, False):
                yield from both(
                    f"d={dim} base={base:g} factor={factor} L={original} beta={fast},{slow} truncate={truncate}",
                    our_frequencies(sextant, "yarn", dim, base, factor=factor, original_length=original,
                                    beta_fast=fast, beta_slow=slow, ramp_ends="rounded" if truncate else "exact"),
                    peer_frequencies("yarn", dim, base, factor=factor, original_max_position_embeddings=original,
                                     trained=int(original * factor), beta_fast=fast, beta_slow=slow,
                                     truncate=truncate))


@proves("rope frequencies=yarn mscale", "transformers ROPE_INIT_FUNCTIONS['yarn'] mscale, attention_factor")
def yarn_mscale(sextant):
    shape = {"factor": 40, "original_length": 4096}
    peer = {"factor": 40, "original_max_position_embeddings": 4096, "trained": 163840}
    for ours, theirs in (({}, {}), ({"mscale": 1, "mscale_all_dim": 1},) * 2,
                         ({"mscale": 0.707, "mscale_all_dim": 0.707},) * 2,
                         ({"mscale": 1, "mscale_all_dim": 0.5},) * 2, ({"mscale": 1},) * 2,
                         ({"attention_factor": 0.75},) * 2):
        yield from both(str(ours), our_frequencies(sextant, "yarn", 64, 10000, **shape, **ours),
                        peer_frequencies("yarn", 64, 10000, **peer, **theirs))


@proves("rope frequencies=llama3", "transformers ROPE_INIT_FUNCTIONS['llama3']")
def llama3(sextant):
    for dim, base, factor, original in ((128, 500000, 8, 8192), (64, 500000, 32, 8192), (96, 10000, 4, 1024)):
        for low, high in ((1, 4), (1, 2), (0.5, 16)):
            yield from both(
                f"d={dim} factor={factor} L={original} low={low} high={high}",
                our_frequencies(sextant, "llama3", dim, base, factor=factor, original_length=original,
                                low_freq_factor=low, high_freq_factor=high),
                peer_frequencies("llama3", dim, base, factor=float(factor), trained=original * factor,
                                 original_max_position_embeddings=original, low_freq_factor=float(low),
                                 high_freq_factor=float(high)))


@proves("rope frequencies=longrope", "transformers ROPE_INIT_FUNCTIONS['longrope']")
def longrope(sextant):
    for dim, original, factor in ((8, 64, 4.0), (64, 4096, 32.0)):
        short = [1 + 0.05 * i for i in range(dim // 2)]
        long = [1.5 + 0.4 * i for i in range(dim // 2)]
        for length in (1, original - 1, original, original + 1, 4 * original):
            yield from both(
                f"d={dim} L={original} length={length}",
                our_frequencies(sextant, "longrope", dim, 10000, length, factor=factor, original_length=original,
                                short_factors=short, long_factors=long),
                peer_frequencies("longrope", dim, 10000, length=length, trained=int(original * factor),
                                 factor=factor, original_max_position_embeddings=original, short_factor=short,
                                 long_factor=long))


@proves("rope frequencies=proportional", "transformers ROPE_INIT_FUNCTIONS['proportional']",
        "frequencies of 0 past the fraction: those pairs stand still")
def proportional(sextant):
    for dim in (64, 128, 256):
        for fraction in (0.25, 0.5, 1.0):
            for factor in (1, 8):
                yield from both(
                    f"d={dim} fraction={fraction} factor={factor}",
                    our_frequencies(sextant, "proportional", dim, 1e6, fraction=fraction, factor=factor),
                    peer_frequencies("proportional", dim, 1e6, head_dim=dim, partial_rotary_factor=fraction,
                                     factor=float(factor)))


def yarn_repo_mask(fast, slow, dim, base, original):
    """1 for pairs that turn more than `fast` times over the original length, 0 below `slow`, a ramp between."""
    pair = [dim * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(base)) for turns in (fast, slow)]
    low, high = max(math.floor(pair[0]), 0), min(math.ceil(pair[1]), dim - 1)
    high += 0.001 * (low == high)
    return 1 - torch.clamp((torch.arange(dim // 2).double() - low) / (high - low), 0, 1)


def powers(base, dim):
    return float(base) ** -(torch.arange(0, dim, 2).double() / dim)


@proves("rope frequencies=dynamic, longrope in use", "transformers LlamaRotaryEmbedding.forward, texts of many lengths",
        "between two longer texts it keeps the base of the longest seen, ours is of the text at hand; it is asked for "
        "growing lengths and short ones here")
def lengths_in_use(sextant):
    long, short = [1.0 + 0.25 * i for i in range(32)], [1.0 + 0.03 * i for i in range(32)]
    rules = {
        "dynamic": ({"factor": 4.0}, {"factor": 4, "original_length": 64}),
        "longrope": ({"factor": 8.0, "original_max_position_embeddings": 64, "short_factor": short,
                      "long_factor": long},
                     {"factor": 8, "original_length": 64, "short_factors": short, "long_factors": long}),
    }
    for rule, (theirs, ours) in rules.items():
        config = LlamaConfig(hidden_size=64, num_attention_heads=1, head_dim=64, max_position_embeddings=64,
                             rope_parameters={"rope_type": rule, "rope_theta": 10000.0, **theirs})
        module = modeling_llama.LlamaRotaryEmbedding(config)
        for length in (10, 64, 65, 100, 20, 200, 63):
            cos, sin = module(torch.zeros(1), torch.arange(length)[None])
            made = sextant.table(spec_of("rope", frequencies=rule, rotated_dims=64, **ours), positions=range(length),
                                 length=length, head_dim=64)
            yield Comparison("cos", f"{rule} length={length}", made["cos"], cos[0, :, :32], 5e-5)
            yield Comparison("sin", f"{rule} length={length}", made["sin"], sin[0, :, :32], 5e-5)


@proves("rope frequencies=dynamic_linear", "jquesnelle/yarn LlamaDynamicScaledRotaryEmbedding (its formula)",
        "no package; once grown it never goes back to shorter texts, which is not copied")
def dynamic_linear(sextant):
    for dim in (64, 128):
        for length in (1, 2048, 2049, 4096, 30000):
            yield Comparison(
                "inv_freq", f"d={dim} length={length}",
                our_frequencies(sextant, "dynamic_linear", dim, 10000, length, original_length=2048)[0],
                powers(10000, dim) * min(1, 2048 / length), 1e-12, relative=True)


@proves("rope frequencies=ntk_by_parts", "jquesnelle/yarn LlamaPartNTKScaledRotaryEmbedding (its formula)", "no package")
def ntk_by_parts(sextant):
    for dim, base, factor, original in ((128, 10000, 4, 2048), (64, 10000, 16, 4096), (128, 1e6, 8, 32768)):
        for ntk_factor, extrapolation_factor in ((1, 1), (0.5, 1), (1, 0.5), (0, 0)):
            middle = yarn_repo_mask(1.25, 0.75, dim, base, original) * ntk_factor
            fast = yarn_repo_mask(16, 2, dim, base, original) * extrapolation_factor
            stretched = powers(base * factor ** (dim / (dim - 2)), dim)
            theirs = powers(base, dim) / factor * (1 - middle) + stretched * middle
            theirs = theirs * (1 - fast) + powers(base, dim) * fast
            ours = our_frequencies(sextant, "ntk_by_parts", dim, base, factor=factor, original_length=original,
                                   ntk_factor=ntk_factor, extrapolation_factor=extrapolation_factor)[0]
            yield Comparison("inv_freq", f"d={dim} factor={factor} {ntk_factor}, {extrapolation_factor}", ours, theirs,
                             1e-12, relative=True)


@proves("rope frequencies=dynamic_yarn", "jquesnelle/yarn LlamaDynamicYaRNScaledRotaryEmbedding (its formula)",
        "no package; once grown it never goes back to shorter texts, which is not copied")
def dynamic_yarn(sextant):
    for dim, original in ((128, 2048), (64, 4096)):
        for length in (1, original, original + 1, 2 * original, 20 * original):
            factor = max(1, length / original)
            fast = yarn_repo_mask(32, 1, dim, 10000, original)
            ours = our_frequencies(sextant, "dynamic_yarn", dim, 10000, length, original_length=original)
            point = f"d={dim} L={original} length={length}"
            yield Comparison("inv_freq", point, ours[0], powers(10000, dim) * (fast + (1 - fast) / factor), 1e-12,
                             relative=True)
            yield Comparison("attention factor", point, ours[1], 0.1 * math.log(factor) + 1, 1e-12)


# --- tables and turned vectors ------------------------------------------------------------------

POSITIONS = (0, 1, 2, 3, 7, 100, 257, 1023)


def turned(sextant, head_dim=16, **settings):
    return sextant.vectors(spec_of("rope", **settings), positions=POSITIONS, heads=3, head_dim=head_dim)


def tensors(made):
    """Queries and keys [1, heads, n, head_dim], cosines and sines [1, n, pairs]."""
    inputs = [torch.tensor(made["inputs"][name])[None] for name in ("query", "key")]
    return inputs + [torch.tensor(made["tables"][name])[None] for name in ("cos", "sin")]


def encoded(made, query, key, point, tolerance=1e-13):
    yield Comparison("queries", point, made["encoded"]["query"], query[0], tolerance)
    yield Comparison("keys", point, made["encoded"]["key"], key[0], tolerance)


@proves("rope", "transformers LlamaRotaryEmbedding.forward", "float32 angles: p times a rounded frequency")
def llama_tables(sextant):
    positions = list(range(0, 4096, 5))
    for dim, base in ((64, 10000), (128, 500000)):
        made = sextant.table(spec_of("rope", rotated_dims=dim, base=base), positions=positions, head_dim=dim)
        config = LlamaConfig(hidden_size=dim, num_attention_heads=1, head_dim=dim,
                             rope_parameters={"rope_type": "default", "rope_theta": float(base)})
        cos, sin = modeling_llama.LlamaRotaryEmbedding(config)(torch.zeros(1), torch.tensor([positions]))
        yield Comparison("cos", f"d={dim} base={base}", made["cos"], cos[0, :, :dim // 2], 5e-4)
        yield Comparison("sin", f"d={dim} base={base}", made["sin"], sin[0, :, :dim // 2], 5e-4)


@proves("rope numerics=as_trained", "transformers LlamaRotaryEmbedding.forward",
        "torch's vectorised float32 power is a last place off its own scalar one at few frequencies (pair 37 of "
        "d=128, base 1e6), by processor; its forward is given the scalar ones here")
def llama_as_trained(sextant):
    positions = [0, 1, 2, 100, 4095, 32767, 131071, 999999]
    for dim, base in ((64, 10000), (128, 500000), (128, 1e6), (128, 150000)):
        spec = spec_of("rope", rotated_dims=dim, base=base, numerics="as_trained")
        made = sextant.table(spec, positions=positions, head_dim=dim)
        config = LlamaConfig(hidden_size=dim, num_attention_heads=1, head_dim=dim,
                             rope_parameters={"rope_type": "default", "rope_theta": float(base)})
        module = modeling_llama.LlamaRotaryEmbedding(config)
        exponents = torch.arange(0, dim, 2, dtype=torch.float) / dim
        module.inv_freq = torch.stack([1.0 / (base**exponent) for exponent in exponents])
        cos, sin = module(torch.zeros(1), torch.tensor([positions]))
        yield Comparison("inv_freq", f"d={dim} base={base:g}", made["inv_freq"], module.inv_freq, 1e-12, relative=True)
        yield Comparison("cos", f"d={dim} base={base:g}", made["cos"], cos[0, :, :dim // 2], 1.5e-7)
        yield Comparison("sin", f"d={dim} base={base:g}", made["sin"], sin[0, :, :dim // 2], 1.5e-7)


@proves("rope pairing=halves", "transformers llama apply_rotary_pos_emb")
def halves(sextant):
    made = turned(sextant)
    query, key, cos, sin = tensors(made)
    doubled = [torch.cat((x, x), dim=-1) for x in (cos, sin)]
    yield from encoded(made, *modeling_llama.apply_rotary_pos_emb(query, key, *doubled), "d=16")


@proves("rope pairing=halves rotated_dims", "transformers gpt_neox apply_rotary_pos_emb, partial")
def halves_partial(sextant):
    for dims in (4, 8, 12):
        made = turned(sextant, rotated_dims=dims)
        query, key, cos, sin = tensors(made)
        doubled = [torch.cat((x, x), dim=-1) for x in (cos, sin)]
        yield from encoded(made, *modeling_gpt_neox.apply_rotary_pos_emb(query, key, *doubled), f"{dims} of 16")


@proves("rope pairing=adjacent", "transformers gptj, cohere, llama4 (complex)",
        "llama4 and cohere work in float32")
def adjacent(sextant):
    made = turned(sextant, pairing="adjacent")
    query, key, cos, sin = tensors(made)
    gptj = [modeling_gptj.apply_rotary_pos_emb(x.transpose(1, 2), sin, cos).transpose(1, 2) for x in (query, key)]
    yield from encoded(made, *gptj, "gptj")
    repeated = [x.repeat_interleave(2, dim=-1) for x in (cos, sin)]
    yield from encoded(made, *modeling_cohere.apply_rotary_pos_emb(query, key, *repeated), "cohere", 2e-6)
    turns = torch.complex(cos, sin).to(torch.complex64)
    llama4 = modeling_llama4.apply_rotary_emb(query.transpose(1, 2), key.transpose(1, 2), turns)
    yield from encoded(made, *(x.transpose(1, 2) for x in llama4), "llama4", 2e-6)


@proves("rope pairing=adjacent_to_halves", "transformers deepseek_v3 apply_rotary_pos_emb_interleave")
def deepseek(sextant):
    made = turned(sextant, pairing="adjacent_to_halves")
    query, key, cos, sin = tensors(made)
    doubled = [torch.cat((x, x), dim=-1) for x in (cos, sin)]
    yield from encoded(made, *modeling_deepseek_v3.apply_rotary_pos_emb_interleave(query, key, *doubled), "d=16")


@proves("rope both pairings", "onnx reference RotaryEmbedding")
def onnx_reference(sextant):
    for pairing, interleaved in (("halves", 0), ("adjacent", 1)):
        for dims in (16, 8):
            made = turned(sextant, pairing=pairing, rotated_dims=dims)
            query, key, cos, sin = (x.numpy() for x in tensors(made))
            theirs = [torch.tensor(onnx_rotary.rotary_embedding(
                x.copy(), cos, sin, interleaved=interleaved, rotary_embedding_dim=dims)) for x in (query, key)]
            yield from encoded(made, *theirs, f"{pairing} {dims} of 16")


@proves("rope pairing=adjacent", "rotary-embedding-torch, x-transformers", "float32 angles")
def lucidrains(sextant):
    for dims in (16, 8):
        length = 200
        made = sextant.vectors(spec_of("rope", pairing="adjacent", rotated_dims=dims), positions=range(length),
                               heads=3, head_dim=16)
        query, key, _, _ = tensors(made)
        module = rotary_embedding_torch.RotaryEmbedding(dims)
        theirs = [module.rotate_queries_or_keys(x) for x in (query, key)]
        yield from encoded(made, *theirs, f"rotary-embedding-torch {dims} of 16", 1e-4)
        frequencies, _ = x_transformers.RotaryEmbedding(dims)(torch.arange(length))
        theirs = [x_transformers.apply_rotary_pos_emb(x, frequencies) for x in (query, key)]
        yield from encoded(made, *theirs, f"x-transformers {dims} of 16", 1e-4)


@proves("rope first_channel", "rotary-embedding-torch start_index")
def window(sextant):
    for first, dims in ((4, 8), (8, 8), (2, 4)):
        made = turned(sextant, pairing="adjacent", rotated_dims=dims, first_channel=first)
        query, key, cos, sin = tensors(made)
        angles = torch.atan2(sin, cos)[0].repeat_interleave(2, dim=-1)
        theirs = [rotary_embedding_torch.apply_rotary_emb(angles, x, start_index=first) for x in (query, key)]
        yield from encoded(made, *theirs, f"{first}..{first + dims}", 1e-12)


@proves("xpos", "rotary-embedding-torch, x-transformers use_xpos",
        "both centre at half the length, rounded down; centre says so here")
def xpos(sextant):
    for length in (16, 17, 200):
        spec = spec_of("xpos", rotated_dims=16, scale_base=512, centre=length // 2, pairing="adjacent")
        made = sextant.vectors(spec, positions=range(length), heads=3, head_dim=16)
        query, key = (torch.tensor(made["inputs"][name])[None] for name in ("query", "key"))
        module = rotary_embedding_torch.RotaryEmbedding(16, use_xpos=True)
        yield from encoded(made, *module.rotate_queries_and_keys(query, key),
                           f"rotary-embedding-torch length={length}", 1e-4)
        frequencies, scale = x_transformers.RotaryEmbedding(16, use_xpos=True)(torch.arange(length))
        theirs = (x_transformers.apply_rotary_pos_emb(query, frequencies, scale),
                  x_transformers.apply_rotary_pos_emb(key, frequencies, scale**-1))
        yield from encoded(made, *theirs, f"x-transformers length={length}", 1e-4)
