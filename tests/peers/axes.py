"""Rotations by several axes: M-RoPE of text and images, grids of vision towers."""

import numpy as np
import rotary_embedding_torch
import torch
from transformers import DINOv3ViTConfig
from transformers.models.dinov3_vit.modeling_dinov3_vit import DINOv3ViTRopePositionEmbedding
from transformers.models.ernie4_5_vl_moe import modeling_ernie4_5_vl_moe as ernie
from transformers.models.gemma4 import modeling_gemma4 as gemma4
from transformers.models.glm4v import modeling_glm4v as glm4v
from transformers.models.hunyuan_vl import modeling_hunyuan_vl as hunyuan
from transformers.models.llama4 import modeling_llama4 as llama4
from transformers.models.pixtral import modeling_pixtral as pixtral
from transformers.models.qwen2_vl import modeling_qwen2_vl as qwen2_vl
from transformers.models.qwen3_vl import modeling_qwen3_vl as qwen3_vl

from comparison import Comparison, proves, spec_of

TABLE = 2e-5  # cos and sin of float32 angles below 100 radians


class Settings(dict):
    """A configuration that holds just what a rotary module reads."""

    def __getattr__(self, name):
        if name not in self:
            raise AttributeError(name)
        return self[name]

    def standardize_rope_params(self):
        pass


def settings(dim, base, rope_type="default", **parameters):
    return Settings(head_dim=dim, hidden_size=dim, embed_dim=dim, num_attention_heads=1, max_position_embeddings=4096,
                    rope_parameters={"rope_type": rope_type, "rope_theta": float(base), **parameters})


# Text, an image of 3 x 4 cells, text; rows of time, row and column.
MIXED = np.array([[0, 1, 2] + [3] * 12 + [7, 8],
                  [0, 1, 2] + [3 + i // 4 for i in range(12)] + [7, 8],
                  [0, 1, 2] + [3 + i % 4 for i in range(12)] + [7, 8]])


def tables(sextant, positions, dim, heads=1, **spec):
    return sextant.vectors(spec_of("rope", **spec), positions=positions, heads=heads, head_dim=dim)


def mixed(module, config, positions=MIXED):
    cos, sin = module(config)(torch.zeros(1), torch.tensor(positions)[:, None])
    return cos[0], sin[0]


def both(made, cos, sin, point, tolerance=TABLE):
    yield Comparison("cos", point, made["tables"]["cos"], cos, tolerance)
    yield Comparison("sin", point, made["tables"]["sin"], sin, tolerance)


@proves("rope axes=sections", "transformers Qwen2VLRotaryEmbedding")
def qwen2vl(sextant):
    for dim, sections, base in ((128, [16, 24, 24], 1e6), (16, [2, 3, 3], 10000), (16, [8, 0, 0], 10000)):
        cos, sin = mixed(qwen2_vl.Qwen2VLRotaryEmbedding, settings(dim, base, mrope_section=sections))
        made = tables(sextant, MIXED, dim, axes="sections", sections=sections, base=base)
        yield from both(made, cos[:, :dim // 2], sin[:, :dim // 2], f"d={dim} {sections}")


@proves("rope axes=sections frequencies=yarn", "transformers Qwen2VLRotaryEmbedding rope_type=yarn")
def qwen2vl_yarn(sextant):
    sections = [16, 24, 24]
    config = settings(128, 1e6, "yarn", mrope_section=sections, factor=4.0, original_max_position_embeddings=32768)
    cos, sin = mixed(qwen2_vl.Qwen2VLRotaryEmbedding, config)
    made = tables(sextant, MIXED, 128, axes="sections", sections=sections, base=1e6, frequencies="yarn", factor=4,
                  original_length=32768)
    yield from both(made, cos[:, :64], sin[:, :64], "d=128")


@proves("rope axes=sections, adjacent", "transformers Glm4vTextRotaryEmbedding, apply_rotary_pos_emb")
def glm(sextant):
    sections = [8, 12, 12]
    cos, sin = mixed(glm4v.Glm4vTextRotaryEmbedding,
                     settings(128, 10000, mrope_section=sections, partial_rotary_factor=0.5))
    made = tables(sextant, MIXED, 128, heads=2, axes="sections", sections=sections, rotated_dims=64,
                  pairing="adjacent")
    yield from both(made, cos[:, ::2], sin[:, ::2], "64 of 128")
    query, key = (torch.tensor(made["inputs"][name])[None] for name in ("query", "key"))
    theirs = glm4v.apply_rotary_pos_emb(query, key, cos[None].double(), sin[None].double())
    yield Comparison("queries", "64 of 128", made["encoded"]["query"], theirs[0][0], 1e-4)
    yield Comparison("keys", "64 of 128", made["encoded"]["key"], theirs[1][0], 1e-4)


@proves("rope axes=interleaved", "transformers Qwen3VLTextRotaryEmbedding")
def qwen3vl(sextant):
    for dim, sections, base in ((128, [24, 20, 20], 5e6), (64, [11, 11, 10], 1e7)):
        cos, sin = mixed(qwen3_vl.Qwen3VLTextRotaryEmbedding, settings(dim, base, mrope_section=sections))
        made = tables(sextant, MIXED, dim, axes="interleaved", sections=sections, base=base)
        yield from both(made, cos[:, :dim // 2], sin[:, :dim // 2], f"d={dim} {sections}")


@proves("rope axes=ernie", "transformers Ernie4_5_VLMoeTextRotaryEmbedding, apply_rotary_pos_emb")
def ernie45(sextant):
    sections = [22, 22, 20]
    cos, sin = mixed(ernie.Ernie4_5_VLMoeTextRotaryEmbedding, settings(128, 500000, mrope_section=sections))
    made = tables(sextant, MIXED, 128, heads=2, axes="ernie", sections=sections, base=500000, pairing="adjacent")
    yield from both(made, cos[:, ::2], sin[:, ::2], "d=128")
    query, key = (torch.tensor(made["inputs"][name])[None] for name in ("query", "key"))
    theirs = ernie.apply_rotary_pos_emb(query, key, cos[None], sin[None])
    yield Comparison("queries", "d=128", made["encoded"]["query"], theirs[0][0], 1e-4)


@proves("rope axes=sections, four axes", "HunYuan-VL's released apply_rotary_pos_emb_xdrope (its lines)",
        "transformers 5.23 doubles each section where the release repeats the list, so channels i and i + d/2 "
        "turn by different axes: on images that is no rotation (norms off by 6 %); on text it is the same, as checked")
def xdrope(sextant):
    sections, dim = [16, 16, 16, 16], 128
    module = hunyuan.HunYuanVLRotaryEmbedding(settings(dim, 10000, mrope_section=sections))
    text = np.tile(np.arange(9), (4, 1))
    cos, sin = (x[0] for x in module(torch.zeros(1), torch.tensor(text)[:, None]))
    made = tables(sextant, text, dim, axes="sections", sections=sections)
    yield from both(made, cos[:, :dim // 2], sin[:, :dim // 2], "text, transformers")
    four = np.concatenate([np.arange(MIXED.shape[1])[None], MIXED])
    angles = torch.tensor(four)[..., None] * module.inv_freq
    doubled = torch.cat((angles, angles), dim=-1).split(sections * 2, dim=-1)
    released = torch.cat([m[i % 4] for i, m in enumerate(doubled)], dim=-1)
    made = tables(sextant, four, dim, axes="sections", sections=sections)
    yield from both(made, released.cos()[:, :dim // 2], released.sin()[:, :dim // 2], "image, release")


# --- grids --------------------------------------------------------------------------------------


def cells(height, width):
    return np.indices((height, width)).reshape(2, -1)


@proves("rope axes=grid", "transformers Qwen2VLVisionRotaryEmbedding, apply_rotary_pos_emb_vision")
def qwen2vl_vision(sextant):
    for height, width, dim in ((3, 5, 16), (8, 6, 80)):
        grid = cells(height, width)
        module = qwen2_vl.Qwen2VLVisionRotaryEmbedding(settings(dim, 10000, "axial"))
        cos, sin = module(torch.zeros(1), torch.tensor(grid.T.copy()))
        made = tables(sextant, grid, dim, heads=2, axes="grid", width=width, height=height)
        yield from both(made, cos[:, :dim // 2], sin[:, :dim // 2], f"{height}x{width} d={dim}")
        query, key = (torch.tensor(made["inputs"][name]).transpose(0, 1) for name in ("query", "key"))
        theirs, _ = qwen2_vl.apply_rotary_pos_emb_vision(query, key, cos, sin)
        yield Comparison("queries", f"{height}x{width} d={dim}", made["encoded"]["query"], theirs.transpose(0, 1), 1e-4)


@proves("rope axes=grid axis_frequencies=split", "transformers PixtralVisionRotaryEmbedding")
def pixtral_vision(sextant):
    for height, width, dim in ((3, 5, 16), (8, 6, 64)):
        grid = cells(height, width)
        module = pixtral.PixtralVisionRotaryEmbedding(settings(dim, 10000, "axial"))
        cos, sin = module(torch.zeros(1), torch.tensor(grid.T.copy()))
        made = tables(sextant, grid, dim, axes="grid", width=width, height=height, axis_frequencies="split")
        yield from both(made, cos[:, :dim // 2], sin[:, :dim // 2], f"{height}x{width} d={dim}")


@proves("rope axes=grid columns_first offset=1", "transformers Llama4VisionRotaryEmbedding, vision_apply_rotary_emb",
        "its class token does not turn and comes last; left out here")
def llama4_vision(sextant):
    for side, dim in ((4, 16), (7, 88)):
        config = Settings(image_size=side * 14, patch_size=14, hidden_size=dim, num_attention_heads=1,
                          rope_parameters={"rope_theta": 10000.0})
        turns = llama4.Llama4VisionRotaryEmbedding(config).freqs_ci[:-1, 0]
        made = tables(sextant, cells(side, side), dim, heads=2, axes="grid", order="columns_first", offset=1,
                      width=side, height=side, pairing="adjacent")
        yield from both(made, turns.real, turns.imag, f"{side}x{side} d={dim}")
        query, key = (torch.tensor(made["inputs"][name]).transpose(0, 1)[None] for name in ("query", "key"))
        theirs, _ = llama4.vision_apply_rotary_emb(query, key, turns)
        yield Comparison("queries", f"{side}x{side} d={dim}", made["encoded"]["query"], theirs[0].transpose(0, 1), 1e-4)


@proves("rope axes=grid blocks=each_axis", "transformers Gemma4VisionRotaryEmbedding, apply_multidimensional_rope")
def gemma4_vision(sextant):
    for height, width, dim in ((3, 5, 16), (6, 8, 64)):
        grid = cells(height, width)
        positions = torch.tensor(grid[::-1].T.copy())[None]  # column, row
        module = gemma4.Gemma4VisionRotaryEmbedding(settings(dim, 100, "axial"))
        cos, sin = module(torch.zeros(1), positions)
        made = tables(sextant, grid, dim, heads=2, axes="grid", order="columns_first", blocks="each_axis",
                      width=width, height=height, base=100)
        quarters = [torch.cat((x[0, :, :dim // 4], x[0, :, dim // 2:dim // 4 * 3]), dim=-1) for x in (cos, sin)]
        yield from both(made, *quarters, f"{height}x{width} d={dim}")
        query = torch.tensor(made["inputs"]["query"]).transpose(0, 1)[None]
        theirs = gemma4.apply_multidimensional_rope(query, cos.double(), sin.double(), positions)
        yield Comparison("queries", f"{height}x{width} d={dim}", made["encoded"]["query"], theirs[0].transpose(0, 1), 1e-4)


@proves("rope axes=grid coordinates=unit", "transformers DINOv3ViTRopePositionEmbedding")
def dinov3(sextant):
    for height, width, dim in ((3, 5, 16), (14, 14, 64)):
        config = DINOv3ViTConfig(hidden_size=dim, num_attention_heads=1, image_size=16 * 14, patch_size=16,
                                 rope_theta=100.0)
        module = DINOv3ViTRopePositionEmbedding(config).eval()
        cos, sin = module(torch.zeros(1, 3, height * 16, width * 16))
        made = tables(sextant, cells(height, width), dim, axes="grid", coordinates="unit", base=100, width=width,
                      height=height)
        yield from both(made, cos[:, :dim // 2], sin[:, :dim // 2], f"{height}x{width} d={dim}")


@proves("rope axes=grid adjacent", "rotary-embedding-torch get_axial_freqs")
def axial(sextant):
    for height, width, dim in ((3, 5, 16), (6, 8, 32)):
        made = tables(sextant, cells(height, width), dim, heads=2, axes="grid", pairing="adjacent", width=width,
                      height=height)
        module = rotary_embedding_torch.RotaryEmbedding(dim // 2, cache_if_possible=False)
        frequencies = module.get_axial_freqs(height, width).detach()
        query = torch.tensor(made["inputs"]["query"]).reshape(2, height, width, dim)
        theirs = rotary_embedding_torch.apply_rotary_emb(frequencies, query)
        yield Comparison("queries", f"{height}x{width} d={dim}", made["encoded"]["query"],
                         theirs.reshape(2, -1, dim), 1e-4)
