"""Golden numbers that public bug reports were recomputed with, each from a command of the program.

Prints every command with its output beside the expected numbers; exit code 1 if one differs."""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ONE_TO_EIGHT = {"inputs": {"query": [[[1, 2, 3, 4, 5, 6, 7, 8]]]}}
LLAMA3 = "rope:frequencies=llama3,low_freq_factor=1,high_freq_factor=4,original_length=8192,base=500000"
YARN = "rope:frequencies=yarn"
SQRT_192 = 192 ** 0.5


def table(spec, *arguments):
    return ["table", spec, "--json", *arguments]


def divisors(spec, plain, first, last):
    """Default frequencies over the rule's, pairs first..last."""
    return lambda run: [a / b for a, b in zip(run(table(plain))["inv_freq"][first:last + 1],
                                              run(table(spec))["inv_freq"][first:last + 1])]



def kept_divided(run, spec, plain, factor):
    """How many pairs are kept, blended and divided by the factor."""
    ratio = [a / b for a, b in zip(run(table(plain))["inv_freq"], run(table(spec))["inv_freq"])]
    kept = sum(abs(r - 1) < 1e-12 for r in ratio)
    divided = sum(abs(r - factor) < 1e-9 for r in ratio)
    return [kept, len(ratio) - kept - divided, divided]


def rotated(spec):
    return lambda run: run(["vectors", spec, "--heads", "1", "--positions", "3", "--json", "--inputs",
                            run.inputs])["encoded"]["query"][0][0]


def found(values):
    """What `vectors check` says of a port that gives these numbers at position 3."""
    def check(run):
        right = run(["vectors", "rope:rotated_dims=8", "--heads", "1", "--positions", "3", "--json",
                     "--inputs", run.inputs])
        port = {name: right[name] for name in right if name not in ("tables", "scores", "output", "figures")}
        port["encoded"] = {"query": [[values]]}
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(port, file)
            file.flush()
            findings = run(["vectors", "check", file.name, "--json"], allow=(0, 1))
        return f"{findings[0]['kind']}: {findings[0]['explanation']}"
    return check


def of(name, spec, *arguments, pick=lambda value: value):
    return lambda run: pick(run(table(spec, *arguments))[name])


def base_of(spec, length):
    """The base that a rule has at a length, from its second frequency."""
    return lambda run: run(table(spec, "--length", str(length)))["inv_freq"][1] ** -64.0


def buckets(spec, distances):
    low, high = min(distances), max(distances)
    def pick(run):
        found_buckets = run(table(spec, "--distances", f"{low}..{high}"))["buckets"]
        return [found_buckets[d - low] for d in distances]
    return pick


def note(*arguments):
    return lambda run: run.note(list(arguments))


def cosines(one, other, positions):
    return lambda run: run(table(one, "--against", other, "--positions", ",".join(map(str, positions))))[
        "expected_cosine"]


LINES = [
    ("x = 1..8 at position 3, halves", rotated("rope:rotated_dims=8"),
     [-1.695593, 0.137552, 2.788682, 3.975982, -4.808842, 6.323059, 7.086837, 8.011964], 1e-6),
    ("the same, adjacent", rotated("rope:rotated_dims=8,pairing=adjacent"),
     [-1.272233, -1.838865, 1.683929, 4.707907, 4.817777, 6.147278, 6.975969, 8.020964], 1e-6),
    ("the same, output left de-interleaved", rotated("rope:rotated_dims=8,pairing=adjacent_to_halves"),
     [-1.272233, 1.683929, 4.817777, 6.975969, -1.838865, 4.707907, 6.147278, 8.020964], 1e-6),
    ("wrong sign of rotation, found",
     found([-0.284392, 3.683794, 3.208619, 4.023982, -5.091082, 5.140979, 6.906864, 7.987964]), "sign", 0),
    ("angles of adjacent pairs with rotate-half, found",
     found([-1.695593, -2.826705, 0.797368, 1.457184, 5.027746, 6.057291, 7.008968, 8.011964]),
     "no rotation", 0),
    ("llama3 factor 8, d = 128: pairs kept, blended, divided",
     lambda run: kept_divided(run, LLAMA3 + ",factor=8,rotated_dims=128",
                                 "rope:base=500000,rotated_dims=128", 8), [29, 6, 29], 0),
    ("its divisors at pairs 29..34",
     divisors(LLAMA3 + ",factor=8,rotated_dims=128", "rope:base=500000,rotated_dims=128", 29, 34),
     [1.207484, 1.553415, 2.026313, 2.694530, 3.684253, 5.257327], 1e-6),
    ("llama3 factor 32, d = 64: pairs kept, blended, divided",
     lambda run: kept_divided(run, LLAMA3 + ",factor=32,rotated_dims=64",
                                 "rope:base=500000,rotated_dims=64", 32), [15, 3, 14], 0),
    ("its divisors at pairs 15..17",
     divisors(LLAMA3 + ",factor=32,rotated_dims=64", "rope:base=500000,rotated_dims=64", 15, 17),
     [1.651329, 3.292262, 9.666729], 1e-6),
    ("YaRN Qwen2.5: ramp ends", of("ramp_range", YARN + ",factor=4,original_length=32768,base=1000000,rotated_dims=128"),
     [23, 40], 0),
    ("its raw ends", of("ramp_ends", YARN + ",factor=4,original_length=32768,base=1000000,rotated_dims=128"),
     [23.596, 39.651], 1e-3),
    ("its attention factor", of("attention_factor", YARN + ",factor=4,original_length=32768,base=1000000,rotated_dims=128"),
     1.138629, 1e-6),
    ("its inv_freq[32] and [63]",
     of("inv_freq", YARN + ",factor=4,original_length=32768,base=1000000,rotated_dims=128",
        pick=lambda w: [w[32] * 1e4, w[63] * 1e7]), [6.029412, 3.102344], 1e-6),
    ("YaRN gpt-oss: ramp ends",
     of("ramp_range", YARN + ",factor=32,original_length=4096,base=150000,rotated_dims=64,ramp_ends=exact"),
     [8.092779, 17.398025], 1e-6),
    ("its attention factor",
     of("attention_factor", YARN + ",factor=32,original_length=4096,base=150000,rotated_dims=64,ramp_ends=exact"),
     1.346574, 1e-6),
    ("rounded instead: ramp ends",
     of("ramp_range", YARN + ",factor=32,original_length=4096,base=150000,rotated_dims=64"), [8, 18], 0),
    ("and the relative error of pair 17",
     lambda run: abs(run(table(YARN + ",factor=32,original_length=4096,base=150000,rotated_dims=64"))["inv_freq"][17]
                     / run(table(YARN + ",factor=32,original_length=4096,base=150000,rotated_dims=64,ramp_ends=exact"))["inv_freq"][17] - 1),
     0.76, 5e-3),
    ("YaRN DeepSeek-V3: ramp ends",
     of("ramp_range", YARN + ",factor=40,original_length=4096,rotated_dims=64,mscale=1,mscale_all_dim=1,softmax=deepseek"),
     [10, 23], 0),
    ("its factor on cosines and sines",
     of("attention_factor", YARN + ",factor=40,original_length=4096,rotated_dims=64,mscale=1,mscale_all_dim=1,softmax=deepseek"),
     1.0, 1e-12),
    ("its softmax scale at head width 192",
     of("softmax_multiplier", YARN + ",factor=40,original_length=4096,rotated_dims=64,mscale=1,mscale_all_dim=1,softmax=deepseek",
        pick=lambda m: m / SQRT_192), 0.135234, 1e-6),
    ("YaRN DeepSeek-V2-Lite: factor",
     of("attention_factor", YARN + ",factor=40,original_length=4096,rotated_dims=64,mscale=0.707,mscale_all_dim=0.707,softmax=deepseek"),
     1.0, 1e-12),
    ("its softmax scale at head width 192",
     of("softmax_multiplier", YARN + ",factor=40,original_length=4096,rotated_dims=64,mscale=0.707,mscale_all_dim=0.707,softmax=deepseek",
        pick=lambda m: m / SQRT_192), 0.114721, 1e-6),
    *[(f"YaRN attention factor of {s}", of("attention_factor", f"{YARN},factor={s},original_length=4096"), g, 1e-6)
      for s, g in {4: 1.138629, 8: 1.207944, 16: 1.277259, 32: 1.346574, 36: 1.358352, 40: 1.368888,
                   64: 1.415888}.items()],
    ("LongRoPE attention factor 131072/4096",
     of("attention_factor", "rope:frequencies=longrope,original_length=4096,factor=32"), 1.190238, 1e-6),
    ("LongRoPE attention factor 131072/8192",
     of("attention_factor", "rope:frequencies=longrope,original_length=8192,factor=16"), 1.143544, 1e-6),
    *[(f"dynamic NTK base at {length}",
       base_of("rope:frequencies=dynamic,factor=2,original_length=4096,rotated_dims=128", length), base, 5e-7)
      for length, base in {1: 10000, 4096: 10000, 4097: 10004.96, 8192: 30527.74, 16384: 72195.86}.items()],
    *[(f"NTK base of alpha {alpha}", base_of(f"rope:frequencies=ntk,alpha={alpha},rotated_dims=128", 1), base, 5e-7 if alpha < 90 else 5e-6)
      for alpha, base in {2: 20221.26, 4: 40889.94, 8: 82684.62, 93.057: 1e6}.items()],
    ("ALiBi slopes of 12 heads", of("slopes", "alibi:heads=12"),
     [.5, .25, .125, .0625, .03125, .015625, .0078125, .00390625, .707107, .353553, .176777, .088388], 1e-6),
    ("ALiBi slopes of 6 heads", of("slopes", "alibi:heads=6"), [.25, .0625, .015625, .00390625, .5, .125], 0),
    ("T5 buckets, causal", buckets("t5", [-15, -16, -18, -19, -23, -24, -32, -64, -91, -112, -113, -128, -1000]),
     [15, 16, 16, 17, 18, 19, 21, 26, 29, 30, 31, 31, 31], 0),
    ("T5 buckets, both sides, key before",
     buckets("t5:direction=bidirectional", [-7, -8, -11, -12, -16, -23, -32, -64, -91, -500]),
     [7, 8, 8, 9, 10, 11, 12, 14, 15, 15], 0),
    ("key after: 16 more", buckets("t5:direction=bidirectional", [7, 8, 12, 91]), [23, 24, 25, 31], 0),
    ("bf16 positions 0..4095", note("table", "rope:rotated_dims=2", "--json", "--position-format", "bf16", "--positions", "0..4095"),
     "769 of 4096 positions are distinct; 256 and 257 are the first to fall together", 0),
    ("bf16 positions 0..8191", note("table", "rope:rotated_dims=2", "--json", "--position-format", "bf16", "--positions", "0..8191"),
     "897 of 8192", 0),
    ("bf16 positions 0..131071", note("table", "rope:rotated_dims=2", "--json", "--position-format", "bf16", "--positions", "0..131071"),
     "1409 of 131072", 0),
    ("f16 positions", note("table", "rope:rotated_dims=2", "--json", "--position-format", "f16", "--positions", "0..4095"),
     "2048 and 2049 are the first to fall together", 0),
    ("f16 position 131071", note("table", "rope:rotated_dims=2", "--json", "--position-format", "f16", "--positions", "131071"),
     "131071 is infinite in f16", 0),
    # The reference sampled random vectors (.686 at 5, .416 at 20); these are the exact expectations.
    ("expected cosine, halves against adjacent",
     cosines("rope:rotated_dims=128", "rope:rotated_dims=128,pairing=adjacent", [0, 1, 2, 5, 20, 100]),
     [1, .946, .850, .686, .416, .194], 8e-3),
    ("expected cosine, base 1e4 against 1e6",
     cosines("rope:rotated_dims=128", "rope:rotated_dims=128,base=1000000", [1, 10, 100, 1000, 8000]),
     [.998, .841, .468, .215, .040], 6e-4),
    ("expected cosine, base 1e6 against 1e7",
     cosines("rope:rotated_dims=128,base=1000000", "rope:rotated_dims=128,base=10000000",
             [1, 10, 100, 1000, 8000]), [1.000, .980, .673, .490, .252], 6e-4),
    ("expected cosine, llama3 factor 8 ignored",
     cosines("rope:rotated_dims=128,base=500000", LLAMA3 + ",factor=8,rotated_dims=128",
             [100, 1000, 8192, 20000, 60000]), [.9996, .963, .769, .627, .540], 6e-4),
]


class Runner:
    """Runs the program and remembers its commands."""

    def __init__(self, program, inputs):
        self.program, self.inputs, self.commands = program, inputs, []

    def _run(self, arguments):
        self.commands.append("sextant " + " ".join(arguments))
        return subprocess.run([str(self.program), *arguments], capture_output=True, text=True)

    def __call__(self, arguments, allow=(0,)):
        done = self._run(arguments)
        if done.returncode not in allow:
            raise RuntimeError(done.stderr.strip())
        return json.loads(done.stdout)

    def note(self, arguments):
        return self._run(arguments).stderr.strip()


def close(got, expected, tolerance):
    if isinstance(expected, str):
        return expected in got
    if not isinstance(expected, list):
        got, expected = [got], [expected]
    return len(got) == len(expected) and all(
        abs(a - b) <= tolerance * max(1, abs(b)) for a, b in zip(got, expected))


def shown(value):
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return " ".join(shown(item) for item in value)
    return f"{value:.7g}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sextant", type=Path, default=ROOT / "build" / "sextant", help="the program")
    arguments = parser.parse_args()
    wrong = 0
    with tempfile.NamedTemporaryFile("w", suffix=".json") as inputs:
        json.dump(ONE_TO_EIGHT, inputs)
        inputs.flush()
        for what, compute, expected, tolerance in LINES:
            run = Runner(arguments.sextant, inputs.name)
            try:
                got = compute(run)
                right = close(got, expected, tolerance)
            except (RuntimeError, KeyError, IndexError, json.JSONDecodeError) as error:
                got, right = f"{type(error).__name__} {error}", False
            wrong += not right
            print(f"{'ok    ' if right else 'WRONG '} {what}")
            for command in dict.fromkeys(run.commands):
                print(f"         $ {command}")
            print(f"         {shown(got)}" + ("" if right else f"   expected {shown(expected)}"))
    print(f"golden table: {len(LINES)} lines, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
