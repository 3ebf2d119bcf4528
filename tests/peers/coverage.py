"""Which spec gives each scheme, rule and layout that any peer has, and what it is proven against.

Prints the table; exit code 1 if a spec is refused or its scheme is proven against nothing."""

import argparse
import subprocess
import sys
from pathlib import Path

from run import FAMILIES, ROOT, print_table

YARN = "rope:frequencies=yarn,factor=4,original_length=4096"
# A row, and the spec that gives it; or why there is none.
ROWS = [
    ("Schemes", None),
    ("none (whole model)", "none"),
    ("NoPE on some layers", "layers:[rope]x3,[none]"),
    ("NoPE and query temperature (Llama 4)", "layers:[rope:pairing=adjacent]x3,[temperature]"),
    ("sinusoidal, the paper's form", "sinusoidal"),
    ("sinusoidal, concatenated halves", "sinusoidal:form=concatenated"),
    ("sinusoidal, tensor2tensor step, zeroed padding row", "sinusoidal:form=tensor2tensor,offset=2,zero_row=1"),
    ("sinusoidal, MLX (cosines first, scaled)", "sinusoidal:form=tensor2tensor,order=cos_first,scale=0.1767766952966369"),
    ("learned absolute", "learned"),
    ("learned, rows + 2 (OPT, BART) and padding + 1 (RoBERTa)", "learned:offset=2"),
    ("hybrid: sinusoidal and learned", "sinusoidal+learned"),
    ("2D sinusoidal, DETR", "sinusoidal-2d"),
    ("2D sinusoidal, MAE", "sinusoidal-2d:form=mae"),
    ("Shaw, keys and values", "shaw"),
    ("Shaw, keys alone", "shaw:terms=keys"),
    ("Shaw, asymmetric (wav2vec2-BERT)", "shaw:clip=64,clip_after=8"),
    ("BERT relative_key", "bert:terms=keys"),
    ("BERT relative_key_query", "bert:terms=keys_and_queries"),
    ("Transformer-XL", "transformer-xl"),
    ("XLNet", "xlnet"),
    ("Music Transformer", "music"),
    ("T5 bucket bias, causal", "t5"),
    ("T5, bidirectional", "t5:direction=bidirectional"),
    ("T5, a table a layer (UMT5)", "t5:scope=per_layer"),
    ("T5, scores not scaled", "t5:scores=unscaled"),
    ("DeBERTa v1", "deberta:form=v1"),
    ("DeBERTa v2, v3 (log buckets)", "deberta:form=v2"),
    ("Swin 2D table", "swin"),
    ("Swin v2 log-spaced MLP", "swin-v2"),
    ("SAM decomposed 2D", "sam"),
    ("ALiBi", "alibi"),
    ("ALiBi, geometric slopes for every head count", "alibi:family=geometric"),
    ("ALiBi, trained slopes", "alibi:slopes=trained"),
    ("ALiBi scaled with the scores (Falcon)", "alibi:applied=with_scores"),
    ("ALiBi, two-sided and asymmetric", "alibi:future_factor=0.5"),
    ("ALiBi on sharded heads", "alibi:heads=8,heads_before=8"),
    ("ALiBi, slopes a caller gives for each batch row", ("left out", "a scheme's tables do not depend on the batch; trained slopes are its own weights")),
    ("RoPE in halves (NeoX)", "rope"),
    ("RoPE adjacent (GPT-J)", "rope:pairing=adjacent"),
    ("RoPE read adjacent, written in halves (DeepSeek)", "rope:pairing=adjacent_to_halves"),
    ("partial rotary, leading", "rope:rotated_dims=32"),
    ("partial rotary, trailing or any window", "rope:rotated_dims=32,first_channel=32"),
    ("xPos", "xpos"),
    ("per-layer base (local, global)", "layers:[rope:base=10000]x5,[rope:frequencies=linear,base=1000000,factor=8]"),
    ("bias shared from layer 0", "layers:[t5]"),
    ("KERPLE log", "kerple"),
    ("KERPLE power", "kerple:kernel=power"),
    ("KERPLE multiplicative weight form", ("left out", "it multiplies attention weights; no hook does, and no released model uses it")),
    ("FIRE", "fire"),
    ("Sandwich", "sandwich"),
    ("learned by distance", "learned-bias"),
    ("CoPE", "cope"),
    ("dynamic MLP bias (CPB)", "cpb"),
    ("forgetting gate (FoX)", "forgetting"),
    ("PaTH", ("left out", "a product of Householder matrices a token, no position table; conventions.md states no formula")),
    ("PoPE and FoPE", ("left out", "conventions.md states no formula for them, so they are not certain")),
    ("dual-chunk attention, ReRoPE", ("left out", "two or three rotations chosen by the distance of a pair: no table by position; named in conventions.md without formulas that are certain")),
    ("MLA decoupled RoPE", "rope:rotated_dims=64,first_channel=128,pairing=adjacent_to_halves"),
    ("temperature, Llama 4", "temperature"),
    ("temperature, Ministral 3", "temperature:form=ministral"),
    ("log-n", "log-n"),
    ("Frequency rules", None),
    ("default", "rope"),
    ("linear (position interpolation)", "rope:frequencies=linear,factor=4"),
    ("static NTK by alpha (HunYuan, yarn repository)", "rope:frequencies=ntk,alpha=4"),
    ("NTK fixed", "rope:frequencies=ntk_fixed,factor=4"),
    ("NTK mixed", "rope:frequencies=ntk_mixed,factor=4"),
    ("dynamic NTK", "rope:frequencies=dynamic,factor=2,original_length=4096"),
    ("dynamic NTK with alpha (HunYuan)", "rope:frequencies=dynamic,factor=1,alpha=1000,original_length=32768"),
    ("dynamic linear", "rope:frequencies=dynamic_linear,original_length=4096"),
    ("NTK by parts", "rope:frequencies=ntk_by_parts,factor=4,original_length=4096"),
    ("YaRN", YARN),
    ("YaRN, ramp ends not rounded (truncate false)", YARN + ",ramp_ends=exact"),
    ("YaRN, beta_fast and beta_slow", YARN + ",beta_fast=16,beta_slow=2"),
    ("YaRN, attention factor given", YARN + ",attention_factor=1.2"),
    ("YaRN, mscale and mscale_all_dim, DeepSeek's softmax scale", YARN + ",mscale=1,mscale_all_dim=1,softmax=deepseek"),
    ("YaRN, extrapolation factor", YARN + ",extrapolation_factor=0.5"),
    ("dynamic YaRN", "rope:frequencies=dynamic_yarn,original_length=4096"),
    ("Llama 3", "rope:frequencies=llama3,factor=8,low_freq_factor=1,high_freq_factor=4,original_length=8192,base=500000"),
    ("LongRoPE", "rope:rotated_dims=4,frequencies=longrope,factor=32,original_length=4096,short_factors=[1,1.2],long_factors=[1,30]"),
    ("proportional (Gemma 4)", "rope:frequencies=proportional,fraction=0.25"),
    ("frequencies given as a list", "rope:rotated_dims=4,frequencies=given,inv_freq=[1,0.1]"),
    ("frequencies trained", "rope:frequencies=trainable"),
    ("float32 steps of released code", "rope:numerics=as_trained"),
    ("Axis layouts", None),
    ("M-RoPE sectioned (Qwen2-VL)", "rope:rotated_dims=128,axes=sections,sections=[16,24,24]"),
    ("M-RoPE on partial adjacent pairs (GLM-4V)", "rope:rotated_dims=64,pairing=adjacent,axes=sections,sections=[8,12,12]"),
    ("M-RoPE interleaved (Qwen3-VL)", "rope:rotated_dims=128,axes=interleaved,sections=[24,20,20]"),
    ("M-RoPE interleaved, partial (Qwen3.5)", "rope:rotated_dims=64,axes=interleaved,sections=[11,11,10]"),
    ("M-RoPE and YaRN", YARN + ",rotated_dims=128,axes=sections,sections=[16,24,24]"),
    ("ERNIE h, w, t mixing", "rope:rotated_dims=128,pairing=adjacent,axes=ernie,sections=[22,22,20]"),
    ("four axes (XD-RoPE)", "rope:rotated_dims=128,axes=sections,sections=[16,16,16,16]"),
    ("2D, Pixtral", "rope:axes=grid,axis_frequencies=split,width=64"),
    ("2D, Qwen2-VL's vision tower", "rope:axes=grid"),
    ("2D, Llama 4's vision tower", "rope:rotated_dims=88,pairing=adjacent,axes=grid,order=columns_first,offset=1,width=24"),
    ("2D, Gemma 4's vision tower", "rope:rotated_dims=72,base=100,axes=grid,order=columns_first,blocks=each_axis"),
    ("2D, Kimi-VL (alternating)", "rope:pairing=adjacent,axes=grid,order=columns_first,spread=alternate"),
    ("2D, DINOv3", "rope:base=100,axes=grid,coordinates=unit,height=14,width=20"),
    ("2D, pixel frequencies (rotary-embedding-torch)", ("left out", "frequencies are a list on coordinates in [-1, 1]: axes=grid,coordinates=unit with frequencies=given gives it where the list is shared")),
    ("rarest-first id list (openPangu)", ("left out", "conventions.md names it without a formula")),
    ("Composition", None),
    ("rotary and bias", "rope+alibi"),
    ("learned and T5", "learned+t5"),
]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sextant", type=Path, default=ROOT / "build" / "sextant", help="the program")
    return parser.parse_args()


def proven_against():
    for family in FAMILIES:
        __import__(family)
    from comparison import PROOFS

    peers = {}
    for proof in PROOFS:
        peers.setdefault(proof.scheme.split()[0], set()).add(proof.peer.split(":")[0].split(",")[0])
    return peers


def schemes_of(spec):
    """The names of the schemes in a spec."""
    text = spec.replace("layers:", "").replace("]x", "] x")
    parts = [part.strip("[]") for part in text.split("],[")] if spec.startswith("layers:") else [spec]
    return [name.split(":")[0].strip("[] ") for part in parts for name in part.split("+") if ":" in name
            or name.strip("[]").replace("-", "").replace("2d", "").isalnum()]


def main():
    arguments = parse_arguments()
    peers, wrong, table = proven_against(), [], []
    for row, spec in ROWS:
        if spec is None:
            table.append((row.upper(), "", ""))
            continue
        if isinstance(spec, tuple):
            table.append((row, "left out", spec[1]))
            continue
        done = subprocess.run([str(arguments.sextant), "schemes", spec], capture_output=True, text=True)
        if done.returncode != 0:
            wrong.append(f"{row}: {spec}: {done.stderr.strip()}")
        names = [name for name in schemes_of(spec) if name != "none"]
        unproven = [name for name in names if name not in peers]
        wrong += [f"{row}: {name} is proven against nothing" for name in unproven]
        table.append((row, spec, ", ".join(sorted(set().union(*(peers.get(n, set()) for n in names))))[:90]))
    print_table(("scheme, rule or layout", "the spec that gives it", "its scheme is proven against"), table)
    for problem in wrong:
        print("  WRONG " + problem)
    given = sum(isinstance(spec, str) for _, spec in ROWS)
    print(f"coverage: {given} rows given, {sum(isinstance(s, tuple) for _, s in ROWS)} left out, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
