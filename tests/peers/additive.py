"""Absolute positions: sinusoids in the conventions of four peers, learned tables, images."""

import math

import numpy as np
import torch
from transformers.models.detr.modeling_detr import DetrSinePositionEmbedding
from transformers.models.distilbert.modeling_distilbert import create_sinusoidal_embeddings
from transformers.models.fsmt.modeling_fsmt import SinusoidalPositionalEmbedding as FsmtPositions
from transformers.models.m2m_100.modeling_m2m_100 import M2M100SinusoidalPositionalEmbedding
from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding
from transformers.models.opt.modeling_opt import OPTLearnedPositionalEmbedding
from transformers.models.roberta.modeling_roberta import RobertaEmbeddings
from transformers.models.whisper.modeling_whisper import sinusoids as whisper_sinusoids
from transformers.models.vit_mae.modeling_vit_mae import build_2d_sinusoidal_position_embedding
from x_transformers.x_transformers import AbsolutePositionalEmbedding, ScaledSinusoidalEmbedding

from comparison import Comparison, proves, spec_of

SIZES = (2, 4, 6, 64, 128, 512)
LENGTH = 1024


def rows(sextant, dim, **settings):
    first = settings.pop("first", 0)
    spec = spec_of("sinusoidal", model_dim=dim, **settings)
    return sextant.table(spec, positions=range(first, first + LENGTH))["rows"]


@proves("sinusoidal form=paper", "transformers distilbert create_sinusoidal_embeddings")
def paper(sextant):
    for dim in SIZES:
        theirs = torch.empty(LENGTH, dim)
        create_sinusoidal_embeddings(LENGTH, dim, theirs)
        yield Comparison("rows", f"dim={dim}", rows(sextant, dim), theirs, 1e-7)


@proves("sinusoidal form=concatenated", "transformers marian")
def marian(sextant):
    for dim in SIZES:
        table = MarianSinusoidalPositionalEmbedding(LENGTH, dim)
        theirs = table.create_weight() if hasattr(table, "create_weight") else table._init_weight()
        yield Comparison("rows", f"dim={dim}", rows(sextant, dim, form="concatenated"), theirs, 1e-7)


@proves("sinusoidal form=concatenated", "x-transformers ScaledSinusoidalEmbedding",
        "it multiplies by a trained scale that starts at dim^-0.5; scale= says so here")
def scaled(sextant):
    for dim in SIZES:
        theirs = ScaledSinusoidalEmbedding(dim)(torch.zeros(1, LENGTH, 1))
        ours = rows(sextant, dim, form="concatenated", scale=repr(dim**-0.5))
        yield Comparison("rows", f"dim={dim}", ours, theirs, 2e-4)


@proves("sinusoidal form=tensor2tensor", "transformers m2m_100",
        "the row of the padding token is zero, and positions start one after it")
def m2m(sextant):
    for dim in SIZES[1:]:
        table = M2M100SinusoidalPositionalEmbedding(LENGTH - 2, dim, padding_idx=1)
        yield Comparison("rows", f"dim={dim}", rows(sextant, dim, form="tensor2tensor", zero_row=1),
                         table.weights, 2e-4)


@proves("sinusoidal form=tensor2tensor", "transformers fsmt, whisper")
def fsmt(sextant):
    for dim in SIZES[1:]:
        ours = rows(sextant, dim, form="tensor2tensor")
        theirs = FsmtPositions.get_embedding(LENGTH, dim, padding_idx=None)
        yield Comparison("rows", f"fsmt dim={dim}", ours, theirs, 2e-4)
        yield Comparison("rows", f"whisper dim={dim}", ours, whisper_sinusoids(LENGTH, dim), 2e-4)


@proves("learned offset=2", "transformers opt, roberta position rules",
        "their tables hold two rows more than positions; offset=2 reads past them")
def learned_offset(sextant):
    for offset in (0, 2):
        spec = spec_of("learned", positions=40, offset=offset, init_std=1)
        made = sextant.vectors(spec, positions=range(30), heads=2, head_dim=6, model_dim=12, context=40)
        table = torch.tensor(next(iter(made["weights"].values())))
        if offset == 2:
            opt = OPTLearnedPositionalEmbedding(table.shape[0] - 2, table.shape[1]).double()
            opt.weight.data = table
            theirs = opt(torch.ones(1, 30, dtype=torch.long))[0]
            yield Comparison("rows", "opt", made["tables"]["rows"], theirs, 1e-15)
            ids = RobertaEmbeddings.create_position_ids_from_input_ids(torch.full((1, 30), 7), padding_idx=1)
            yield Comparison("rows", "roberta", made["tables"]["rows"], table[ids[0]], 1e-15)
        else:
            yield Comparison("rows", "bert, gpt2", made["tables"]["rows"], table[:30], 1e-15)


@proves("learned scale", "x-transformers AbsolutePositionalEmbedding",
        "the table is multiplied by dim^-0.5")
def learned_scaled(sextant):
    spec = spec_of("learned", positions=40, scale=repr(12**-0.5), init_std=1)
    made = sextant.vectors(spec, positions=range(30), heads=2, head_dim=6, model_dim=12, context=40)
    peer = AbsolutePositionalEmbedding(12, 40).double()
    peer.emb.weight.data = torch.tensor(next(iter(made["weights"].values())))
    theirs = peer(torch.zeros(1, 30, 12))
    yield Comparison("rows", "dim=12", made["tables"]["rows"], theirs.reshape(30, 12), 1e-15)


def cells(height, width):
    """Row and column of each cell, row by row."""
    grid = np.indices((height, width)).reshape(2, -1)
    return grid[0], grid[1]


@proves("sinusoidal-2d form=detr", "transformers detr DetrSinePositionEmbedding")
def detr(sextant):
    for height, width, dim in ((3, 5, 16), (8, 8, 64), (1, 7, 256)):
        for coordinates, normalize in (("normalized", True), ("cells", False)):
            theirs = DetrSinePositionEmbedding.build_sine_position_embedding(
                (1, 1, height, width), "cpu", torch.float64, num_position_features=dim // 2, normalize=normalize,
                scale=2 * math.pi)
            spec = spec_of("sinusoidal-2d", form="detr", model_dim=dim, height=height, width=width,
                           coordinates=coordinates)
            made = sextant.vectors(spec, positions=cells(height, width), heads=2, head_dim=dim // 2, model_dim=dim)
            theirs = theirs[0].permute(1, 2, 0).reshape(height * width, dim)
            yield Comparison("rows", f"{height}x{width} dim={dim} {coordinates}", made["tables"]["rows"], theirs, 1e-12)


@proves("sinusoidal-2d form=mae", "transformers vit_mae build_2d_sinusoidal_position_embedding",
        "its function puts rows first; its ViTMAE then swaps the halves, as the released weights need")
def mae(sextant):
    for side, dim in ((3, 16), (8, 64), (14, 256)):
        spec = spec_of("sinusoidal-2d", form="mae", model_dim=dim, height=side, width=side)
        made = sextant.vectors(spec, positions=cells(side, side), heads=2, head_dim=dim // 2, model_dim=dim)
        theirs = build_2d_sinusoidal_position_embedding(side, side, dim, dtype=torch.float64)
        theirs = torch.cat([theirs[:, dim // 2:], theirs[:, :dim // 2]], dim=-1)
        yield Comparison("rows", f"{side}x{side} dim={dim}", made["tables"]["rows"], theirs, 1e-12)
