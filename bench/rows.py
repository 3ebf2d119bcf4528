"""The table's rows: cases at their shapes, and the targets read from them.

To add a kernel: a subject in C++ (bench/*_subjects.cc), a line in a case below, and its targets.
`reference` says what was measured when the targets were set, on 2 cores of an Emerald Rapids machine
(AVX-512 and AMX); figures of this run stand beside it.
"""

from rounds import Case
from targets import Row, fact, fact_ratio, faster, of_limit, time_ratio

OURS, TORCH, ORT, GGML = "sextant", "torch", "onnxruntime", "ggml"
RMW, READ, FMA = "RMW limit", "read limit", "FMA peak"


# ---- rotation: 32 heads of 128, in place; ggml NEOX is halves, NORM adjacent ----

F32 = {"sextant halves": (OURS, "rotate/f32/halves"), "sextant adjacent": (OURS, "rotate/f32/adjacent"),
       "ggml NEOX": (GGML, "rope/f32/neox"), "ggml NORM": (GGML, "rope/f32/norm"),
       "onnxruntime halves": (ORT, "rotate/halves"), "onnxruntime adjacent": (ORT, "rotate/adjacent"),
       "torch complex": (TORCH, "rotate/complex"), "torch complex in place": (TORCH, "rotate/complex_in_place"),
       "torch compiled": (TORCH, "rotate/compiled")}
EAGER = {"torch eager": (TORCH, "rotate/eager")}
HALF = {"sextant bf16": (OURS, "rotate/bf16/halves"), "sextant f16": (OURS, "rotate/f16/halves"),
        "ggml f16 NEOX": (GGML, "rope/f16/neox"), "ggml f16 NORM": (GGML, "rope/f16/norm")}


def rotation_case(name, tokens, subjects, bytes_each=4, **settings):
    sizes = {"tokens": tokens, "heads": 32, "kv_heads": 32, "head_dim": 128,
             "bytes": tokens * 32 * 128 * bytes_each} | settings
    return Case(name, sizes, {RMW: (OURS, "limit/read_modify_write")} | subjects, rate="GB/s", limit=RMW)


ROTATION = [
    rotation_case("f32, 1 token, 16 KB", 1, F32 | EAGER, threads=1),
    rotation_case("f32, 64 tokens, 1 MB", 64, F32 | EAGER),
    rotation_case("f32, 512 tokens, 8 MB", 512, F32 | EAGER),
    rotation_case("f32, 4096 tokens, 67 MB", 4096, F32 | EAGER),
    rotation_case("f32, 32768 tokens, 537 MB", 32768, F32),
    rotation_case("16 bits, 32768 tokens, 268 MB", 32768, HALF, 2),
    Case("table 8192 x 512", {"tokens": 8192, "heads": 8, "head_dim": 64},
         {"sextant": (OURS, "table/sinusoidal"), "torch eager": (TORCH, "table/sinusoidal"),
          "torch compiled": (TORCH, "table/sinusoidal_compiled")}, rate="GB/s"),
]
ONE, L2, MIDDLE, L3, DRAM, SHORT, SINUSOIDAL = (case.name for case in ROTATION)
ROTATION_ROWS = [
    Row("RoPE f32 in place, DRAM (>= 256 MB)", "rotate", "41-46 GB/s (8 B/elem)",
        "ggml NORM .42, NEOX .24, ORT .2 of RMW",
        (of_limit(DRAM, "sextant halves", RMW, 0.95, 1.05), of_limit(DRAM, "sextant adjacent", RMW, 0.95, 1.05),
         faster(DRAM, "sextant halves", "ggml NEOX", 4), faster(DRAM, "sextant adjacent", "ggml NORM", 2.3))),
    Row("RoPE f32, L3 (67 MB) and L2 (1 MB)", "rotate", "75-86 / 150-169 GB/s",
        "GB/s: ggml NEOX 10.7 / 10.8; at 512 and 4096 tokens torch complex 28 / 4.4, compiled 9.4 / 2.1, "
        "eager 1.6 / 1.0",
        (faster(L3, "sextant halves", "ggml NEOX", 6.5, 7), faster(L2, "sextant halves", "ggml NEOX", 11, 13))
        + tuple(faster(case, ours, peer, least) for case in (MIDDLE, L3)
                for ours, peer, least in (("sextant adjacent", "torch complex", 2.5),
                                          ("sextant halves", "torch compiled", 6),
                                          ("sextant halves", "torch eager", 40)))
        + tuple(faster(case, "sextant adjacent", "torch complex in place") for case in (MIDDLE, L3))),
    Row("RoPE one token (decode)", "rotate", "~0.8 us (T=1, 16 KB)", "ggml NEOX 8.0, NORM 2.5 us",
        (faster(ONE, "sextant halves", "ggml NEOX", 6, 9), faster(ONE, "sextant adjacent", "ggml NORM", 2),
         fact(ONE, "sextant halves", "calls for other threads", 0))),
    Row("RoPE bf16/f16 in place", "rotate", "43-78 GB/s (4 B/elem)", "ggml f16 NEOX .03, NORM .1 of RMW; no bf16",
        (of_limit(SHORT, "sextant bf16", RMW, 0.9), of_limit(SHORT, "sextant f16", RMW, 0.9),
         faster(SHORT, "sextant f16", "ggml f16 NEOX", 20, 28),
         faster(SHORT, "sextant bf16", "ggml f16 NEOX", 20, 28))),
    Row("sinusoidal table", "rotate", "write bandwidth, 14-37 GB/s", "torch .1 of it",
        (faster(SINUSOIDAL, "sextant", ("torch eager", "torch compiled"), 5, 15),
         fact(SINUSOIDAL, "sextant", "largest error", 2e-7))),
]


# ---- attention: batch 1, 8 heads of 64 ----

def attention_case(name, tokens, subjects):
    sizes = {"tokens": tokens, "heads": 8, "kv_heads": 8, "head_dim": 64}
    peak = {FMA: (OURS, "limit/fma")}
    # What f32 can do says nothing of 16 bits.
    return Case(name, sizes, peak | subjects, rate="GFLOP/s", limit="" if "bf16" in name else FMA)


ATTENTION = [
    attention_case("forward, n=2048", 2048, {
        "sextant": (OURS, "attention/none"), "sextant T5": (OURS, "attention/t5"),
        "sextant ALiBi": (OURS, "attention/alibi"), "SDPA": (TORCH, "sdpa/none"), "SDPA bias": (TORCH, "sdpa/bias"),
        "ORT": (ORT, "attention/none"), "ORT bias": (ORT, "attention/bias"), "Flex": (TORCH, "flex/none"),
        "Flex ALiBi": (TORCH, "flex/alibi"), "Flex table": (TORCH, "flex/table"),
        "ggml f32": (GGML, "flash/f32"), "ggml f16": (GGML, "flash/f16"), "ggml f16 ALiBi": (GGML, "flash/f16_alibi")}),
    attention_case("forward causal, n=2048", 2048, {
        "sextant": (OURS, "attention/causal"), "sextant T5": (OURS, "attention/t5_causal"),
        "SDPA": (TORCH, "sdpa/causal"), "SDPA bias": (TORCH, "sdpa/bias_causal"),
        "SDPA ALiBi": (TORCH, "sdpa/alibi_causal"),
        "ORT": (ORT, "attention/causal"), "ORT bias": (ORT, "attention/bias_causal"),
        "Flex ALiBi": (TORCH, "flex/alibi_causal"), "Flex table": (TORCH, "flex/table_causal")}),
    attention_case("ALiBi causal, n=4096", 4096, {
        "sextant no bias": (OURS, "attention/causal"), "sextant whole": (OURS, "attention/alibi_causal"),
        "sextant skipping": (OURS, "attention/alibi_causal_skip")}),
    attention_case("ALiBi causal, n=16384", 16384, {
        "sextant no bias": (OURS, "attention/causal"), "sextant skipping": (OURS, "attention/alibi_causal_skip")}),
    attention_case("vectors by distance, n=2048", 2048, {
        "sextant no bias": (OURS, "attention/none"), "sextant Shaw": (OURS, "attention/shaw"),
        "sextant Transformer-XL": (OURS, "attention/transformer-xl"), "sextant DeBERTa": (OURS, "attention/deberta"),
        "torch Shaw": (TORCH, "vectors/shaw"), "torch Transformer-XL": (TORCH, "vectors/transformer-xl"),
        "torch DeBERTa": (TORCH, "vectors/deberta")}),
    attention_case("forward bf16, n=2048", 2048, {
        "sextant f32": (OURS, "attention/none"), "sextant": (OURS, "attention/none_bf16"),
        "sextant T5": (OURS, "attention/t5_bf16"), "SDPA": (TORCH, "sdpa/none_bf16"),
        "SDPA bias": (TORCH, "sdpa/bias_bf16")}),
    attention_case("training, n=2048", 2048, {
        "sextant backward": (OURS, "attention_backward/none"), "sextant backward, bias": (OURS, "attention_backward/t5"),
        "sextant": (OURS, "attention_train/none"), "sextant bias": (OURS, "attention_train/bias"),
        "sextant T5": (OURS, "attention_train/t5"), "SDPA": (TORCH, "sdpa_train/none"),
        "SDPA bias": (TORCH, "sdpa_train/tensor"), "SDPA T5": (TORCH, "sdpa_train/t5"),
        "SDPA T5 compiled": (TORCH, "sdpa_train/t5_compiled")}),
    attention_case("training causal, n=2048", 2048, {
        "sextant": (OURS, "attention_train/causal"), "sextant T5": (OURS, "attention_train/t5_causal"),
        "SDPA": (TORCH, "sdpa_train/causal"), "SDPA T5": (TORCH, "sdpa_train/t5_causal"),
        "SDPA T5 compiled": (TORCH, "sdpa_train/t5_causal_compiled")}),
]
FORWARD, CAUSAL, SKIP_4K, SKIP_16K, VECTORS, BF16, TRAIN, TRAIN_CAUSAL = (case.name for case in ATTENTION)
KINDS = ("Shaw", "Transformer-XL", "DeBERTa")
ATTENTION_ROWS = [
    Row("attention forward f32, no bias", "attention", "320 GFLOP/s", "SDPA .45-.55, ORT .45-.65 of peak; SDPA 50-72 ms",
        (of_limit(FORWARD, "sextant", FMA, 0.70, 0.80), faster(FORWARD, "sextant", "SDPA", 1.15, 1.4),
         faster(FORWARD, "sextant", "ORT", 1.15, 1.4))),
    Row("+ T5 / ALiBi / any distance bias", "attention", "no extra bytes of note",
        "bias given: SDPA 57-94, ORT 75-83; Flex 146-183 ms",
        (time_ratio(FORWARD, "sextant T5", "sextant", 1.04, 1.02),
         time_ratio(FORWARD, "sextant ALiBi", "sextant", 1.04, 1.02),
         faster(FORWARD, "sextant T5", "SDPA bias", 1.3, 1.6), faster(FORWARD, "sextant T5", "ORT bias", 1.3, 1.6),
         faster(FORWARD, "sextant T5", "Flex table", 3), faster(FORWARD, "sextant ALiBi", "Flex ALiBi", 3))),
    Row("causal + distance bias", "attention", "half the tiles", "SDPA with mask: full cost; Flex 120 ms",
        (faster(CAUSAL, "sextant T5", "SDPA bias", 2.5, 3), faster(CAUSAL, "sextant T5", "Flex ALiBi", 5),
         faster(CAUSAL, "sextant T5", "Flex table"), faster(CAUSAL, "sextant T5", "ORT bias"))),
    Row("ALiBi causal, provable tile skip", "attention", "fewer tiles", "nobody",
        (time_ratio(SKIP_4K, "sextant skipping", "sextant no bias", 0.70),
         time_ratio(SKIP_16K, "sextant skipping", "sextant no bias", 0.40, 0.30),
         fact(SKIP_4K, "sextant skipping", "difference to whole", 1e-6),
         fact(SKIP_16K, "sextant skipping", "difference to whole", 1e-6))),
    Row("relative vectors (Shaw, TXL, DeBERTa)", "attention", "+(2k+1)/n of a product", "torch gather, n^2 d",
        tuple(time_ratio(VECTORS, f"sextant {kind}", "sextant no bias", 1.25, 1.12) for kind in KINDS)
        + tuple(faster(VECTORS, f"sextant {kind}", f"torch {kind}", 5) for kind in KINDS)),
    Row("attention forward bf16 (AMX) + bias", "attention", "softmax-bound", "SDPA bf16 20 ms",
        (faster(BF16, "sextant T5", "sextant f32", 2.5, 4), faster(BF16, "sextant", "SDPA", 1.2, 1.6),
         faster(BF16, "sextant T5", "SDPA bias", 1.2, 1.6))),
    Row("forward+backward f32, no bias", "attention", "320 GFLOP/s", "SDPA 154 ms",
        (of_limit(TRAIN, "sextant backward", FMA, 0.65, 0.80), faster(TRAIN, "sextant", "SDPA", 1.05, 1.2))),
    Row("forward+backward, trainable bias", "attention", "+1 load/add/store per 16",
        "SDPA 491 (tensor) / 1005 ms (T5 table), n^2 memory",
        (time_ratio(TRAIN, "sextant backward, bias", "sextant backward", 1.05),
         faster(TRAIN, "sextant bias", "SDPA bias", 2.8, 3.2), faster(TRAIN, "sextant T5", "SDPA T5", 5.5, 7),
         faster(TRAIN, "sextant T5", "SDPA T5 compiled"),
         faster(TRAIN_CAUSAL, "sextant T5", "SDPA T5", 10),
         faster(TRAIN_CAUSAL, "sextant T5", "SDPA T5 compiled"))),
]


# ---- decoding: one query of 32 heads of 128 against a cache ----

def decode_case(bits, kv_heads, tokens):
    kind, ggml = {32: ("f32", "f32"), 16: ("bf16", "f16")}[bits]
    sizes = {"tokens": tokens, "heads": 32, "kv_heads": kv_heads, "head_dim": 128,
             "bytes": 2 * tokens * kv_heads * 128 * bits // 8}
    subjects = {READ: (OURS, "limit/read"), "sextant": (OURS, f"decode/{kind}"),
                f"ggml {ggml}": (GGML, f"decode/{ggml}"), "SDPA": (TORCH, f"decode/{kind}")}
    if kv_heads != 32:
        subjects["SDPA folded"] = (TORCH, f"decode/{kind}_folded")
    shared = "MHA" if kv_heads == 32 else "GQA 4:1"
    return Case(f"{shared} {kind}, {tokens} tokens", sizes, subjects, rate="GB/s", limit=READ)


DECODE = [decode_case(bits, kv_heads, tokens) for kv_heads in (32, 8) for bits in (32, 16)
          for tokens in (4096, 16384)]


def decode_targets(shared, parts, sdpa, ggml=None):
    targets = []
    for case in DECODE:
        if not case.name.startswith(shared):
            continue
        short = " bf16" in case.name
        targets.append(of_limit(case.name, "sextant", READ, *parts[short]))
        targets.append(faster(case.name, "sextant", "SDPA", sdpa))
        targets.append(faster(case.name, "sextant", "ggml f16" if short else "ggml f32", ggml))
        if "SDPA folded" in case.subjects:
            targets.append(faster(case.name, "sextant", "SDPA folded"))
    return tuple(targets)


DECODE_ROWS = [
    Row("decode MHA (f32, bf16)", "decode", "read bandwidth 26 (DRAM), 49 GB/s (L3)", "ggml f32 .77-.95; SDPA .7 of it",
        decode_targets("MHA", [(0.92, 0.97), (0.88, 0.97)], 1.3)),
    Row("decode GQA 4:1", "decode", "the same", "SDPA .2-.35, ggml .2 of it",
        decode_targets("GQA", [(0.75, 0.9), (0.65, 0.9)], 2.5, 3.2)),
]


# ---- training a small GPT: 4 layers of width 128, 4 heads, 512 pieces, 4096 tokens a step ----

def lab_case(scheme, tokens):
    sizes = {"scheme": scheme, "context": tokens, "batch": 4096 // tokens, "layers": 4, "width": 128, "heads": 4,
             "pieces": 512, "steps": 3}
    subjects = {"sextant": ("lab sextant", "lab/sextant"), "eager": ("lab eager", "lab/eager"),
                "compiled": ("lab compiled", "lab/compiled")}
    return Case(f"T={tokens} {scheme}", sizes, subjects, rate="tok/s", fresh=("lab eager", "lab compiled"),
                unmeasured=0)  # each measurement has a step that does not count


LAB = [lab_case(scheme, tokens) for tokens in (256, 1024) for scheme in ("none", "rope", "alibi", "t5")]
BETTER = ("eager", "compiled")
LAB_ROWS = [
    Row("tiny GPT tok/s (T=256)", "lab", "GEMM ~250 GFLOP/s",
        "tok/s: none 17.1k, RoPE eager 11.8k, compiled 15.1k, T5 eager 12.9k, compiled 10.7k",
        (faster("T=256 none", "sextant", BETTER, 1.0), faster("T=256 rope", "sextant", BETTER, 1.25, 1.5),
         faster("T=256 t5", "sextant", BETTER, 1.4, 2), faster("T=256 alibi", "sextant", BETTER))),
    Row("tiny GPT tok/s (T=1024)", "lab", "the same", "not measured",
        (faster("T=1024 t5", "sextant", BETTER, 2), faster("T=1024 none", "sextant", BETTER),
         faster("T=1024 rope", "sextant", BETTER), faster("T=1024 alibi", "sextant", BETTER))),
    Row("tiny GPT peak resident memory", "lab", "", "not measured",
        tuple(fact_ratio(f"T={tokens} {scheme}", "sextant", "eager", "peak resident bytes", 0.6)
              for tokens in (256, 1024) for scheme in ("none", "rope", "alibi", "t5"))),
]

CASES = {"rotate": ROTATION, "attention": ATTENTION, "decode": DECODE, "lab": LAB}
ROWS = ROTATION_ROWS + ATTENTION_ROWS + DECODE_ROWS + LAB_ROWS
