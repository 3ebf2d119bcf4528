"""Biases computed from queries, keys and scores, against the peers' modules."""

import numpy as np
import torch
from transformers import SamVisionConfig
from transformers.models.sam.modeling_sam import SamVisionAttention
from x_transformers.x_transformers import CoPE, DataDependentAlibi

from comparison import Comparison, proves, spec_of

HEADS, HEAD_DIM = 3, 4


def added(sextant, scheme, length, **settings):
    """The vectors of a scheme and what it adds to plain scaled scores, below the diagonal."""
    made = sextant.vectors(spec_of(scheme, **settings), positions=range(length), mask="causal", heads=HEADS,
                           head_dim=HEAD_DIM)
    query, key = (torch.tensor(made["inputs"][name]) for name in ("query", "key"))
    plain = query @ key.transpose(-1, -2) / HEAD_DIM**0.5
    below = torch.ones(length, length, dtype=torch.bool).tril()
    bias = torch.where(below, torch.tensor(made["scores"]) - plain, 0)
    return made, query, key, plain, below, bias


@proves("cope", "x-transformers CoPE", "masked scores must be masked before the gates, as its attention does")
def cope(sextant):
    for most, length in ((16, 10), (4, 12), (1, 5)):
        made, query, _, plain, below, bias = added(sextant, "cope", length, max_positions=most, init_std=1)
        module = CoPE(HEAD_DIM, HEADS, most).double()
        module.pos_emb.data = torch.tensor(made["weights"]["table"])
        masked = plain.masked_fill(~below, -torch.finfo(plain.dtype).max)
        theirs = torch.where(below, module(query[None], masked[None])[0], 0)
        yield Comparison("bias", f"positions={most} n={length}", bias, theirs, 1e-12)


@proves("forgetting", "x-transformers DataDependentAlibi",
        "its gate reads the layer's input; here the same layer is given each head's keys")
def forgetting(sextant):
    for length in (5, 20):
        made, _, key, _, below, bias = added(sextant, "forgetting", length, init_std=1, initial_bias=1)
        for h in range(HEADS):
            module = DataDependentAlibi(HEAD_DIM, 1).double()
            linear = module.to_forget_gates[0]
            linear.weight.data = torch.tensor(made["weights"]["weight"])[h:h + 1]
            linear.bias.data = torch.tensor(made["weights"]["bias"])[h:h + 1]
            theirs = torch.where(below, module(key[h][None])[0, 0], 0)
            yield Comparison("bias", f"head {h} n={length}", bias[h], theirs, 1e-12)


@proves("sam", "transformers SamVisionAttention.get_decomposed_rel_pos")
def sam(sextant):
    for height, width in ((3, 5), (4, 4)):
        length = height * width
        made = sextant.vectors(spec_of("sam", height=height, width=width, init_std=1), positions=range(length),
                               heads=HEADS, head_dim=HEAD_DIM)
        query, key = (torch.tensor(made["inputs"][name]) for name in ("query", "key"))
        bias = torch.tensor(made["scores"]) - query @ key.transpose(-1, -2) / HEAD_DIM**0.5
        config = SamVisionConfig(hidden_size=HEADS * HEAD_DIM, num_attention_heads=HEADS, use_rel_pos=False)
        module = SamVisionAttention(config, window_size=0).double()
        rows, columns = (torch.tensor(made["weights"][name]) for name in ("rows", "columns"))
        theirs = module.get_decomposed_rel_pos(query, rows, columns, (height, width), (height, width))
        yield Comparison("bias", f"{height}x{width}", bias, np.asarray(theirs.detach()).reshape(HEADS, length, length),
                         1e-12)
