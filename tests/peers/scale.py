"""Factors by query position."""

import math

import torch
from transformers.models.ministral3.modeling_ministral3 import get_llama_4_attn_scale

from comparison import Comparison, proves, spec_of

POSITIONS = (0, 1, 8190, 8191, 8192, 8193, 16383, 16384, 100000, 1048575)


@proves("temperature form=llama4", "transformers llama4 attn_scales (its lines)",
        "inside its attention's forward; the expression is run here in double")
def llama4(sextant):
    for scale, beta in ((8192, 0.1), (128, 0.25)):
        ours = sextant.table(spec_of("temperature", form="llama4", floor_scale=scale, beta=beta), positions=POSITIONS)
        positions = torch.tensor(POSITIONS).double()
        theirs = torch.log1p(torch.floor((positions + 1.0) / scale)) * beta + 1.0
        yield Comparison("query scale", f"scale={scale} beta={beta}", ours["query_scale"], theirs, 1e-14)


@proves("temperature form=ministral", "transformers ministral3 get_llama_4_attn_scale")
def ministral(sextant):
    for scale, beta in ((8192, 0.1), (128, 0.25)):
        ours = sextant.table(spec_of("temperature", form="ministral", floor_scale=scale, beta=beta),
                             positions=POSITIONS)
        theirs = get_llama_4_attn_scale(torch.tensor([POSITIONS]).double(), beta, scale)
        yield Comparison("query scale", f"scale={scale} beta={beta}", ours["query_scale"], theirs.reshape(-1), 1e-14)


@proves("log-n", "Qwen-1 modeling_qwen.py logn_list (its lines)", "remote code, not installable")
def log_n(sextant):
    for trained in (2048, 8192):
        ours = sextant.table(spec_of("log-n", trained_length=trained), positions=POSITIONS)
        theirs = [math.log(p + 1, trained) if p + 1 > trained else 1 for p in POSITIONS]
        yield Comparison("query scale", f"trained={trained}", ours["query_scale"], theirs, 1e-14)
