"""Vectors by distance: scores against the attention modules of the peers, in double."""

import math

import numpy as np
import torch
from transformers import DebertaConfig, DebertaV2Config, Wav2Vec2BertConfig, Wav2Vec2ConformerConfig, XLNetConfig
from transformers.models.deberta.modeling_deberta import DisentangledSelfAttention as DebertaAttention
from transformers.models.deberta.modeling_deberta import build_relative_position as deberta_positions
from transformers.models.deberta_v2.modeling_deberta_v2 import DisentangledSelfAttention as DebertaV2Attention
from transformers.models.deberta_v2.modeling_deberta_v2 import build_relative_position, make_log_bucket_position
from transformers.models.wav2vec2_bert.modeling_wav2vec2_bert import Wav2Vec2BertSelfAttention
from transformers.models.wav2vec2_conformer.modeling_wav2vec2_conformer import (
    Wav2Vec2ConformerRelPositionalEmbedding,
    Wav2Vec2ConformerSelfAttention,
)
from transformers.models.xlnet.modeling_xlnet import XLNetModel, XLNetRelativeAttention

from comparison import Comparison, Given, proves, spec_of

HEADS, HEAD_DIM, MODEL_DIM = 3, 6, 18
SIZES = {"heads": HEADS, "head_dim": HEAD_DIM, "model_dim": MODEL_DIM}


def made_for(sextant, scheme, length, **settings):
    return sextant.vectors(spec_of(scheme, init_std=1, **settings), positions=range(length),
                           context=length, **SIZES)


def inputs_of(made):
    return [torch.tensor(made["inputs"][name])[None] for name in ("query", "key", "value")]


def linear(weight):
    """Weights [heads, head_dim, model_dim] as a torch Linear holds them."""
    return torch.tensor(weight).reshape(-1, np.shape(weight)[-1])


# --- Shaw ---------------------------------------------------------------------------------------


@proves("shaw clip_after", "transformers wav2vec2_bert relative_key",
        "keys alone; the values' term of the paper is in no peer here")
def wav2vec2_bert(sextant):
    for left, right, length in ((4, 2, 11), (64, 8, 90), (3, 0, 9), (1, 1, 5)):
        made = made_for(sextant, "shaw", length, clip=left, clip_after=right, terms="keys")
        config = Wav2Vec2BertConfig(
            hidden_size=MODEL_DIM, num_attention_heads=HEADS, position_embeddings_type="relative_key",
            left_max_position_embeddings=left, right_max_position_embeddings=right, attention_dropout=0.0)
        module = Wav2Vec2BertSelfAttention(config).double().eval()
        module.distance_embedding.weight.data = torch.tensor(made["weights"]["key"])
        config._attn_implementation = "eager"
        ours = torch.softmax(torch.tensor(made["scores"]), dim=-1)
        theirs = softmax_of(module, made, length)
        yield Comparison("softmax", f"left={left} right={right} n={length}", ours, theirs, 1e-12)


def softmax_of(module, made, length, **positions):
    """The softmax of a wav2vec2 attention for the given queries and keys."""
    query, key, value = (x.transpose(1, 2).reshape(1, length, MODEL_DIM) for x in inputs_of(made))
    module.linear_q, module.linear_k, module.linear_v = Given(query), Given(key), Given(value)
    return module(torch.zeros(1, length, MODEL_DIM, dtype=torch.float64), **positions)[1][0]


@proves("shaw", "tensor2tensor dot_product_attention_relative (its formula), keys and values",
        "needs TensorFlow 1; no peer that installs has the values' term")
def shaw(sextant):
    for clip, length in ((2, 9), (16, 9), (0, 5)):
        made = made_for(sextant, "shaw", length, clip=clip)
        query, key, value = (x[0] for x in inputs_of(made))
        distance = torch.arange(length)[None] - torch.arange(length)[:, None]
        row = distance.clamp(-clip, clip) + clip
        of_key, of_value = (torch.tensor(made["weights"][name])[row] for name in ("key", "value"))
        scores = (query @ key.transpose(-1, -2) + torch.einsum("hid,ijd->hij", query, of_key)) / math.sqrt(HEAD_DIM)
        weights = torch.softmax(scores, dim=-1)
        output = weights @ value + torch.einsum("hij,ijd->hid", weights, of_value)
        yield Comparison("scores", f"clip={clip} n={length}", made["scores"], scores, 1e-12)
        yield Comparison("output", f"clip={clip} n={length}", made["output"], output, 1e-12)


@proves("bert", "transformers 4.57 BertSelfAttention relative_key, relative_key_query (its lines)",
        "transformers 5 dropped them, so its lines of version 4 are run here")
def bert(sextant):
    for terms, length, most in (("keys", 7, 7), ("keys", 20, 64), ("keys_and_queries", 7, 7),
                                ("keys_and_queries", 20, 64)):
        made = made_for(sextant, "bert", length, max_positions=most, terms=terms)
        query, key, _ = inputs_of(made)
        positions = torch.arange(length)
        distance = positions.view(-1, 1) - positions.view(1, -1)
        embedding = torch.nn.functional.embedding(distance + most - 1, torch.tensor(made["weights"]["distance"]))
        scores = query @ key.transpose(-1, -2) + torch.einsum("bhld,lrd->bhlr", query, embedding)
        if terms == "keys_and_queries":
            scores = scores + torch.einsum("bhrd,lrd->bhlr", key, embedding)
        theirs = scores[0] / math.sqrt(HEAD_DIM)
        yield Comparison("scores", f"{terms} n={length} M={most}", made["scores"], theirs, 1e-12)


# --- DeBERTa ------------------------------------------------------------------------------------

TERMS = {"content_to_position": ["c2p"], "position_to_content": ["p2c"], "both": ["c2p", "p2c"]}


@proves("deberta form=v1", "transformers deberta disentangled_att_bias",
        "the paper's equation 4 takes delta(j, i) in the second term; the code, and so every checkpoint, delta(i, j)")
def deberta_v1(sextant):
    for terms, names in TERMS.items():
        for most, length in ((4, 11), (16, 11), (12, 12), (2, 9)):
            made = made_for(sextant, "deberta", length, form="v1", terms=terms, max_relative_positions=most)
            config = DebertaConfig(hidden_size=MODEL_DIM, num_attention_heads=HEADS, relative_attention=True,
                                   pos_att_type=names, max_relative_positions=most)
            module = DebertaAttention(config).double().eval()
            weights = made["weights"]
            if "c2p" in names:
                module.pos_proj.weight.data = linear(weights["key_projection"])
            if "p2c" in names:
                module.pos_q_proj.weight.data = linear(weights["query_projection"])
                module.pos_q_proj.bias.data = torch.tensor(weights["query_bias"]).reshape(-1)
            query, key, _ = inputs_of(made)
            query = query / math.sqrt(HEAD_DIM * (1 + len(names)))
            bias = module.disentangled_att_bias(
                query, key, deberta_positions(query, key), torch.tensor(weights["rel_embeddings"]), 1 + len(names))
            theirs = (query @ key.transpose(-1, -2) + bias)[0]
            yield Comparison("scores", f"{terms} most={most} n={length}", made["scores"], theirs, 2e-6)


@proves("deberta form=v2", "transformers deberta_v2 disentangled_attention_bias",
        "its scale is a float32 square root, which sets the tolerance")
def deberta_v2(sextant):
    for terms, names in TERMS.items():
        for buckets, most, length in ((8, 16, 40), (4, 64, 70), (32, 64, 20)):
            made = made_for(sextant, "deberta", length, form="v2", terms=terms, position_buckets=buckets,
                            max_relative_positions=most)
            config = DebertaV2Config(
                hidden_size=MODEL_DIM, num_attention_heads=HEADS, relative_attention=True, pos_att_type=names,
                position_buckets=buckets, max_relative_positions=most, share_att_key=False)
            module = DebertaV2Attention(config).double().eval()
            weights = made["weights"]
            if "c2p" in names:
                module.pos_key_proj.weight.data = linear(weights["key_projection"])
                module.pos_key_proj.bias.data.zero_()
            if "p2c" in names:
                module.pos_query_proj.weight.data = linear(weights["query_projection"])
                module.pos_query_proj.bias.data = torch.tensor(weights["query_bias"]).reshape(-1)
            query, key, _ = (x[0] for x in inputs_of(made))
            relative = build_relative_position(query, key, bucket_size=buckets, max_position=most)
            bias = module.disentangled_attention_bias(
                query, key, relative, torch.tensor(weights["rel_embeddings"]), 1 + len(names))
            theirs = query @ key.transpose(-1, -2) / math.sqrt(HEAD_DIM * (1 + len(names))) + bias
            yield Comparison("scores", f"{terms} buckets={buckets} most={most} n={length}", made["scores"],
                             theirs.reshape(HEADS, length, length), 5e-6)


@proves("deberta form=v2", "transformers deberta_v2 make_log_bucket_position",
        "its float32 logarithm is one bucket off at 8 of 1.4 million sizes and distances tried, 1643 of (512, 4096) for "
        "one; at no distance of the released sizes")
def deberta_buckets(sextant):
    for buckets, most in ((256, 512), (256, 384), (32, 64), (32, 512), (64, 2048)):
        spec = spec_of("deberta", model_dim=1, position_buckets=buckets, max_relative_positions=most,
                       heads=1, head_dim=1)
        ours = sextant.table(spec, length=most + 9)["buckets"]
        theirs = make_log_bucket_position(torch.arange(most + 9), buckets, most).clamp(max=buckets - 1)
        yield Comparison("buckets", f"buckets={buckets} most={most}", ours, theirs, 0.5)


# --- XLNet and Transformer-XL -------------------------------------------------------------------


def scores_of_xlnet(made, length, attention, clamp):
    config = XLNetConfig(d_model=MODEL_DIM, n_head=HEADS, d_inner=8, n_layer=1, vocab_size=5, attn_type=attention,
                         clamp_len=clamp, bi_data=False)
    module, model = XLNetRelativeAttention(config).double(), XLNetModel(config)
    encoding = model.relative_positional_encoding(length, length, bsz=1).double()
    weights = made["weights"]
    module.r_w_bias.data = torch.tensor(weights["content_bias"])
    module.r_r_bias.data = torch.tensor(weights["position_bias"])
    projection = torch.tensor(weights["projection"]).permute(2, 0, 1)
    query, key, _ = (x.permute(2, 0, 1, 3) for x in inputs_of(made))
    relative = torch.einsum("ibh,hnd->ibnd", encoding, projection)
    ac = torch.einsum("ibnd,jbnd->bnij", query + module.r_w_bias, key)
    bd = torch.einsum("ibnd,jbnd->bnij", query + module.r_r_bias, relative)
    return ((ac + module.rel_shift_bnij(bd, klen=length)) * module.scale)[0]


@proves("xlnet direction=both", "transformers xlnet relative_positional_encoding, rel_shift_bnij",
        "its sinusoids are float32; segment terms left out on both sides")
def xlnet(sextant):
    for length, clamp in ((5, -1), (24, -1), (24, 7)):
        made = made_for(sextant, "xlnet", length, clamp_len=max(clamp, 0))
        yield Comparison("scores", f"n={length} clamp={clamp}", made["scores"],
                         scores_of_xlnet(made, length, "bi", clamp), 2e-5)


@proves("xlnet direction=past", "transformers xlnet attn_type=uni",
        "above the diagonal it reads another row's distances and masks them")
def xlnet_past(sextant):
    for length, clamp in ((5, -1), (24, -1), (24, 7)):
        made = made_for(sextant, "xlnet", length, clamp_len=max(clamp, 0), direction="past")
        below = np.tril(np.ones((length, length)))
        yield Comparison("scores", f"n={length} clamp={clamp}", made["scores"] * below,
                         scores_of_xlnet(made, length, "uni", clamp) * torch.tensor(below), 2e-5)


@proves("transformer-xl", "transformers wav2vec2_conformer relative attention, both directions",
        "its sinusoids alternate sines and cosines, so the projection's columns are put in that order; float32")
def conformer(sextant):
    for length in (5, 24):
        made = made_for(sextant, "transformer-xl", length)
        config = Wav2Vec2ConformerConfig(hidden_size=MODEL_DIM, num_attention_heads=HEADS, attention_dropout=0.0,
                                         position_embeddings_type="relative", max_source_positions=50)
        config._attn_implementation = "eager"
        module = Wav2Vec2ConformerSelfAttention(config).double().eval()
        halves = linear(made["weights"]["projection"]).reshape(-1, 2, MODEL_DIM // 2)
        module.linear_pos.weight.data = halves.transpose(1, 2).reshape(-1, MODEL_DIM)
        module.pos_bias_u.data = torch.tensor(made["weights"]["content_bias"])
        module.pos_bias_v.data = torch.tensor(made["weights"]["position_bias"])
        encoding = Wav2Vec2ConformerRelPositionalEmbedding(config)(torch.zeros(1, length, MODEL_DIM)).double()
        ours = torch.softmax(torch.tensor(made["scores"]), dim=-1)
        theirs = softmax_of(module, made, length, relative_position_embeddings=encoding)
        yield Comparison("softmax", f"n={length}", ours, theirs, 1e-5)


@proves("transformer-xl", "kimiyoung/transformer-xl RelPartialLearnableMultiHeadAttn (its lines)",
        "no installable release; its shift (pad a column, reshape, drop a row) is run here")
def transformer_xl(sextant):
    for length, clamp in ((5, -1), (24, -1), (24, 7)):
        made = made_for(sextant, "transformer-xl", length, clamp_length=max(clamp, 0))
        weights = {name: torch.tensor(values) for name, values in made["weights"].items()}
        positions = torch.arange(length - 1, -1, -1.0, dtype=torch.float64)
        if clamp > 0:
            positions.clamp_(max=clamp)
        frequencies = 1 / (10000 ** (torch.arange(0.0, MODEL_DIM, 2.0, dtype=torch.float64) / MODEL_DIM))
        angles = torch.outer(positions, frequencies)
        relative = torch.einsum("jm,nhm->njh", torch.cat([angles.sin(), angles.cos()], dim=-1), weights["projection"])
        query, key, _ = (x[0] for x in inputs_of(made))
        ac = (query + weights["content_bias"][:, None]) @ key.transpose(-1, -2)
        bd = (query + weights["position_bias"][:, None]) @ relative.transpose(-1, -2)
        padded = torch.cat([bd.new_zeros(HEADS, length, 1), bd], dim=-1)
        bd = padded.view(HEADS, length + 1, length)[:, 1:].reshape(HEADS, length, length)
        below = np.tril(np.ones((length, length)))
        theirs = (ac + bd) / math.sqrt(HEAD_DIM) * torch.tensor(below)
        yield Comparison("scores", f"n={length} clamp={clamp}", made["scores"] * below, theirs, 1e-12)


# --- Music Transformer --------------------------------------------------------------------------


@proves("music", "tensor2tensor dot_product_self_attention_relative_v2 (its lines)",
        "needs TensorFlow 1; its padding and skewing are run here in torch")
def music(sextant):
    for most, length in ((8, 5), (8, 8), (8, 13), (1, 4)):
        for sharing in ("by_head", "shared"):
            made = made_for(sextant, "music", length, max_distance=most, sharing=sharing)
            query, key, _ = (x[0] for x in inputs_of(made))
            table = torch.tensor(made["weights"]["key"]).expand(HEADS, -1, -1)
            padded = torch.nn.functional.pad(table, (0, 0, max(length - most, 0), 0))
            used = padded[:, max(most - length, 0):][:, :length]
            relative = torch.nn.functional.pad(query @ used.transpose(-1, -2), (1, 0))
            skewed = relative.reshape(HEADS, 1 + length, length)[:, 1:]
            below = np.tril(np.ones((length, length)))
            theirs = (query @ key.transpose(-1, -2) + skewed) / math.sqrt(HEAD_DIM) * torch.tensor(below)
            yield Comparison("scores", f"max={most} n={length} {sharing}", made["scores"] * below, theirs, 1e-12)
