"""What a result says about the machine it was measured on."""

import datetime
import os
import platform
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FLAGS = ("sse4_2", "avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512_vnni", "avx512_bf16", "avx512_fp16",
         "amx_tile", "amx_bf16", "asimd", "asimdhp", "bf16", "sve")


def first_line(*command):
    try:
        out = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=20).stdout
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return out.splitlines()[0].strip() if out.strip() else "unknown"


def caches():
    """Size of each level that the first processor sees."""
    found = {}
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = ((index / name).read_text().strip() for name in ("level", "type", "size"))
        found[f"L{level}{' ' + kind.lower() if level == '1' else ''}"] = size
    return found


def describe():
    info = Path("/proc/cpuinfo").read_text()
    flags = set(re.findall(r"^(?:flags|Features)\s*:(.*)$", info, re.M)[0].split())
    memory = re.search(r"MemTotal:\s*(\d+) kB", Path("/proc/meminfo").read_text())
    pages = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    huge = re.search(r"\[(\w+)\]", pages.read_text()) if pages.exists() else None
    dirty = subprocess.run(["git", "status", "--porcelain", "--untracked-files=no", "--", "sextant", "torch", "lab",
                            "bench", "cmake"], capture_output=True, text=True, cwd=ROOT).stdout.strip()
    return {
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "cpu": (re.findall(r"^model name\s*:\s*(.*)$", info, re.M) or [platform.machine()])[0],
        "cores": len(os.sched_getaffinity(0)),
        "flags": [flag for flag in FLAGS if flag in flags],
        "caches": caches(),
        "memory GiB": round(int(memory[1]) / 2**20, 1),
        "huge pages": huge[1] if huge else "unknown",
        "kernel": platform.release(),
        "load average before": [round(load, 2) for load in os.getloadavg()],
        "compiler": first_line("c++", "--version"),
        "commit": first_line("git", "rev-parse", "--short", "HEAD") + (" with changes" if dirty else ""),
    }


def lines(machine):
    """The same for a person."""
    def shown(value):
        if isinstance(value, dict):
            return ", ".join(f"{name} {item}" for name, item in value.items())
        return " ".join(map(str, value)) if isinstance(value, list) else str(value)
    return [f"  {name + ':':<22} {shown(value)}" for name, value in machine.items()]
