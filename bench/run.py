"""Measures ours and the peers in the same run and prints the table of targets; see bench/README.md."""

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import machine
import memory
import report
from rounds import measure
from rows import CASES, ROWS
from targets import Row
from worker import Program, Workers

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PEERS = ROOT / ".venv-bench"
GROUPS = ("rotate", "attention", "decode", "memory", "lab", "kernels")
BUSY = 0.5  # a load average from which on figures are not to be trusted


def programs(threads):
    """The processes that measure, by name; what is absent says how to get it."""
    torch_python = str(ROOT / ".venv" / "bin" / "python")
    ort_python, ggml = PEERS / "bin" / "python", PEERS / "ggml" / "bins" / "linux-x64"
    found = {"sextant": Program((str(ROOT / "build" / "sextant_bench"), "serve", "--threads", str(threads))),
             "torch": Program((torch_python, str(HERE / "torch_peer.py"), str(threads)))}
    for name in ("lab sextant", "lab eager", "lab compiled"):
        found[name] = Program((torch_python, str(HERE / "lab_speed.py"), str(threads)))
    have = subprocess.run([ort_python, "-c", "import onnxruntime, onnx"], capture_output=True).returncode == 0 \
        if ort_python.exists() else False
    found["onnxruntime"] = Program(
        (str(ort_python), str(HERE / "onnxruntime_peer.py"), str(threads)) if have else (),
        "onnxruntime is absent; script/bench installs the Python packages onnxruntime and onnx into .venv-bench")
    found["ggml"] = Program(
        (sys.executable, str(HERE / "ggml_peer.py"), str(threads), str(ggml))
        if (ggml / "libggml-base.so").exists() else (),
        "ggml is absent; script/bench puts the npm package @node-llama-cpp/linux-x64 into .venv-bench/ggml")
    return found


def write(name, text, data, folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.txt").write_text("\n".join(text) + "\n")
    (folder / f"{name}.json").write_text(json.dumps(data, indent=1) + "\n")


def run_cases(group, workers, options):
    """Text, data and judged rows of a group that is measured in rounds."""
    results = {}
    text = []
    for case in CASES[group]:
        results[case.name] = measure(case, workers, options.rounds, options.threads)
        text += report.case_lines(case, results[case.name]) + [""]
    rows = [row for row in ROWS if row.group == group]
    judged = report.judged_rows(rows, results)
    cases = [{"name": case.name, "sizes": case.sizes, "limit": case.limit,
              "results": {label: dataclasses.asdict(one) for label, one in results[case.name].items()}}
             for case in CASES[group]]
    return text + report.table_lines(rows, judged), {"cases": cases, "rows": judged}


def run_memory(known, options):
    points = memory.measure(known, options.threads)
    rows = [Row("memory growth", "memory", "O(n d)", "SDPA trainable bias: n^2 f32 several times", memory.TARGETS)]
    judged = report.judged_rows(rows, points)
    return memory.lines(points) + [""] + report.table_lines(rows, judged), {"points": points, "rows": judged}


def run_kernels(options):
    """Google Benchmark's own list of our kernels."""
    program = ROOT / "build" / "sextant_kernel_bench"
    if not program.exists():
        return ["not measured: sextant_kernel_bench is not built; it needs Debian's libbenchmark-dev"], {"rows": []}
    ended = subprocess.run([program, "--benchmark_format=json", "--benchmark_min_time=0.1", "--benchmark_repetitions=3",
                            "--benchmark_report_aggregates_only=true", str(options.threads)],
                           capture_output=True, text=True, check=True)
    found = [one for one in json.loads(ended.stdout)["benchmarks"]
             if one.get("error_occurred") or one.get("aggregate_name") == "median"]
    text = [f"{'kernel':<42} {'median of 3':>14} {'work/s':>12}"]
    for one in found:
        name = one["run_name"].removesuffix("/real_time")
        text.append(f"{name:<42} not measured: {one['error_message']}" if one.get("error_occurred") else
                    f"{name:<42} {one['real_time']:>11.2f} us {one['work/s'] / 1e9:>10.2f} G")
    return text, {"benchmarks": found, "rows": []}


def run_group(group, workers, known, options):
    start, about = time.time(), machine.describe()
    if group == "memory":
        text, data = run_memory(known, options)
    elif group == "kernels":
        text, data = run_kernels(options)
    else:
        text, data = run_cases(group, workers, options)
    if group == "memory":
        workers["torch"]  # for its version
    about |= {"versions": workers.versions(), "threads": options.threads, "2 MB pages asked for": options.huge_pages,
              "load average after": [round(load, 2) for load in os.getloadavg()],
              "seconds": round(time.time() - start)}
    title = [f"# script/bench {group}: ours and the peers in the same run"] + machine.lines(about)
    if about["load average before"][0] > BUSY:
        title.append(f"  NOT QUIET: the load average was {about['load average before'][0]} before the run")
    count = [report.count_text(data["rows"])] if data["rows"] else []
    text = title + [""] + text + [""] + count
    write(group, text, {"group": group, "machine": about, "rounds": options.rounds} | data, options.results)
    print("\n".join(text), flush=True)
    return data["rows"]


def arguments():
    parser = argparse.ArgumentParser(
        prog="script/bench", description="Measures Sextant's kernels and their peers in the same run, in interleaved "
        "rounds, and prints each target with its figure. Writes NAME.txt and NAME.json for each group. Everything "
        "takes about 11 minutes once built; the first run also compiles what torch compiles (3 minutes more).")
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"of {', '.join(GROUPS)}; all without it")
    parser.add_argument("--rounds", type=int, default=5, help="rounds that count (%(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="threads of ours and of every peer (%(default)s)")
    parser.add_argument("--huge-pages", action="store_true", help="every process asks for pages of 2 MB (not in memory)")
    parser.add_argument("--results", type=Path, default=HERE / "results", help="folder (bench/results)")
    parser.add_argument("--no-setup", action="store_true", help="neither install nor build first")
    options = parser.parse_args()
    unknown = [group for group in options.groups if group not in GROUPS]
    if unknown:
        parser.error(f"no group {unknown[0]}; there are {', '.join(GROUPS)}")
    if options.rounds < 1 or options.threads < 1:
        parser.error("rounds and threads must be at least 1")
    return options


def main():
    options = arguments()
    start = time.time()
    known = programs(options.threads)
    workers = Workers(known, {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"} if options.huge_pages else {})
    rows = []
    try:
        for group in options.groups or GROUPS:
            rows += run_group(group, workers, known, options)
    finally:
        workers.close()
    print(f"\nbench: {report.count_text(rows)}; {time.time() - start:.0f} s; written to {options.results}")


if __name__ == "__main__":
    main()
