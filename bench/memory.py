"""Memory and cost against length: each point one run in a process of its own, ours and torch's.

Attention with a T5 bias, forward alone and forward and backward with the table trainable, heads of 64. Torch
builds the bias of all pairs from its table and gives it to SDPA. A small run goes before, so that what is counted
beyond the inputs depends on the length: not code, nor threads.
"""

import json
import subprocess
import sys

from targets import NotMeasured, Target

LONGEST = 60  # seconds that torch is given for a point
# (tokens, heads): eight heads as far as torch has the memory, one head beyond.
LENGTHS = [(512, 8), (1024, 8), (2048, 8), (4096, 8), (8192, 1), (16384, 1), (32768, 1), (65536, 1)]
PASSES = {"forward": ("attention/t5", "sdpa/t5"), "training": ("attention_train/t5", "sdpa_train/t5")}
MB = 1e6


def available_bytes():
    with open("/proc/meminfo") as info:
        return next(int(line.split()[1]) for line in info if line.startswith("MemAvailable")) * 1024


def run(command, longest=None):
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=longest)
    except subprocess.TimeoutExpired:
        return {"missing": f"not done within {longest} s"}
    except OSError as error:
        return {"missing": str(error)}
    if ended.returncode != 0:
        return {"missing": (ended.stderr.strip().splitlines() or [f"ended with {ended.returncode}"])[-1][:200]}
    return json.loads(ended.stdout)


def run_torch(programs, subject, sizes, training):
    pairs = sizes["tokens"] ** 2
    # The bucket of each pair as int32, and floats a pair and head: the bias, and in training its gradient,
    # the scores and theirs.
    needed = pairs * (4 + 4 * sizes["heads"] * (4 if training else 1.5))
    if needed > 0.7 * available_bytes():
        return {"missing": f"needs about {needed / 2**30:.0f} GiB"}
    return run([*programs["torch"].command, "once", subject, json.dumps(sizes)], LONGEST)


def measure(programs, threads):
    points = []
    for tokens, heads in LENGTHS:
        for name, (ours, peer) in PASSES.items():
            print(f"bench: {name}, n={tokens}, {heads} heads", file=sys.stderr, flush=True)
            sizes = {"tokens": tokens, "heads": heads, "kv_heads": heads, "head_dim": 64, "threads": threads}
            own = run([programs["sextant"].command[0], "once", ours, "--tokens", str(tokens), "--heads", str(heads),
                       "--kv-heads", str(heads), "--threads", str(threads)])
            torch = run_torch(programs, peer, sizes, name == "training")
            points.append({"pass": name, "tokens": tokens, "heads": heads, "sextant": own, "torch": torch})
    return points


def cell(one, value, width, digits):
    return f"{one[value]:>{width},.{digits}f}" if value in one else f"{'-':>{width}}"


def lines(points):
    """The points as a table; of torch's gaps the reason."""
    text = [f"{'':>8} {'':>5} {'sextant':>38} {'torch SDPA, bias of all pairs':>32}   times as",
            f"{'n':>8} {'heads':>5} {'ms':>10} {'GFLOP/s':>8} {'MB':>8} {'peak MB':>9} {'ms':>10} {'MB':>10} "
            f"{'peak MB':>10}   fast  small"]
    for name in PASSES:
        text.append(f"{name}: MB beyond the inputs, and the whole process's peak")
        for point in points:
            if point["pass"] != name:
                continue
            rows = []
            for who in ("sextant", "torch"):
                one = dict(point[who])
                if "missing" not in one:
                    one["ms"], one["MB"] = one["seconds"] * 1e3, one["beyond_inputs"] / MB
                    one["peak"] = one["process_peak"] / MB
                    one["rate"] = one.get("work", 0) / one["seconds"] / 1e9
                rows.append(one)
            own, peer = rows
            line = (f"{point['tokens']:>8} {point['heads']:>5} {cell(own, 'ms', 10, 1)} {cell(own, 'rate', 8, 0)} "
                    f"{cell(own, 'MB', 8, 1)} {cell(own, 'peak', 9, 1)} ")
            if "missing" in peer or "missing" in own:
                text.append(line + "  not measured: " + peer.get("missing", own.get("missing", "")))
            else:
                text.append(line + f"{cell(peer, 'ms', 10, 1)} {cell(peer, 'MB', 10, 1)} {cell(peer, 'peak', 10, 1)} "
                            f"{peer['ms'] / own['ms']:>6.1f} {peer['MB'] / max(own['MB'], 0.01):>6.1f}")
    return text


def point_of(points, tokens, heads, who):
    for point in points:
        if (point["pass"], point["tokens"], point["heads"]) == ("training", tokens, heads):
            if "missing" in point[who]:
                raise NotMeasured(f"{who}: {point[who]['missing']}")
            return point[who]
    raise NotMeasured(f"n={tokens} was not run")


def workspace(points, tokens):
    """Beyond the inputs, outputs and gradients."""
    one = point_of(points, tokens, 8, "sextant")
    return one["beyond_inputs"] - one["figures"]["output bytes"]


TARGETS = (
    Target("workspace at n=4096 over that at n=2048, h=8, training",
           lambda points: workspace(points, 4096) / workspace(points, 2048), at_most=2.05),
    Target("MB beyond the inputs, n=4096 h=8, training",
           lambda points: point_of(points, 4096, 8, "sextant")["beyond_inputs"] / MB, at_most=50),
    Target("torch's memory beyond the inputs over ours, n=4096 h=8, training",
           lambda points: point_of(points, 4096, 8, "torch")["beyond_inputs"]
           / point_of(points, 4096, 8, "sextant")["beyond_inputs"], at_least=40, stretch=50),
    Target("MB of the whole process, n=65536 h=1, training",
           lambda points: point_of(points, 65536, 1, "sextant")["process_peak"] / MB, at_most=200),
)
