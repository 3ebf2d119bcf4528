"""What a comparison with a peer is, and how the program is asked for its numbers."""

import json
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch


USAGE = 2  # the program's exit code for what it does not know


class NotBuilt(Exception):
    """The program does not know a scheme, a setting or a command."""


@dataclass
class Comparison:
    """Two arrays that must agree: at one point of a grid, within a tolerance."""

    what: str
    point: str
    ours: np.ndarray
    theirs: np.ndarray
    tolerance: float
    relative: bool = False  # differences count as parts of the peer's value

    def difference(self) -> float:
        ours, theirs = as_array(self.ours), as_array(self.theirs)
        if ours.shape != theirs.shape:
            raise ValueError(f"shapes {ours.shape} and {theirs.shape} at {self.point}")
        if ours.size == 0:
            raise ValueError(f"nothing to compare at {self.point}")
        gap = np.abs(ours - theirs)
        if self.relative:
            gap = gap / np.where(theirs == 0, 1, np.abs(theirs))
        return float("inf") if np.isnan(gap).any() else float(gap.max())


@dataclass
class Proof:
    """A scheme, the peer's function it is proven against, and the comparisons that prove it."""

    scheme: str
    peer: str
    compare: Callable[["Sextant"], Iterator[Comparison]]
    note: str = ""  # where the peer differs on purpose, or is wrong, and why


PROOFS: list[Proof] = []


def proves(scheme: str, peer: str, note: str = ""):
    def add(compare):
        PROOFS.append(Proof(scheme, peer, compare, note))
        return compare

    return add


class Given(torch.nn.Module):
    """In place of a projection: the projected vectors themselves."""

    def __init__(self, vectors):
        super().__init__()
        self.vectors = vectors

    def forward(self, _):
        return self.vectors


def as_array(values) -> np.ndarray:
    if hasattr(values, "detach"):
        values = values.detach().numpy()
    return np.asarray(values, dtype=np.float64)


def spec_of(scheme: str, **settings) -> str:
    """rope:base=500000,pairing=adjacent"""
    parts = []
    for name, value in settings.items():
        if isinstance(value, (list, tuple, np.ndarray)):
            value = "[" + ",".join(repr(float(v)) if isinstance(v, float) else str(v) for v in value) + "]"
        parts.append(f"{name}={value}")
    return scheme + (":" + ",".join(parts) if parts else "")


def positions_text(positions) -> str:
    """One axis as 0,1,2; several with ; between."""
    if np.ndim(positions) == 1:
        positions = [positions]
    return ";".join(",".join(str(int(p)) for p in axis) for axis in positions)


class Sextant:
    """The built program; every call is one run of it."""

    def __init__(self, program: Path):
        self.program = program
        self.calls = 0

    def _run(self, arguments: list[str]) -> dict:
        self.calls += 1
        done = subprocess.run([str(self.program), *arguments], capture_output=True, text=True)
        if done.returncode != 0:
            kind = NotBuilt if done.returncode == USAGE else RuntimeError
            raise kind(f"sextant {' '.join(arguments)[:200]}: {done.stderr.strip()[-300:]}")
        return json.loads(done.stdout)

    def table(self, spec: str, *, positions=None, distances=None, length=0, **sizes) -> dict:
        """`sextant table`: by position (one axis), or by distance from first to last."""
        arguments = ["table", spec, "--json"]
        if positions is not None:
            arguments += ["--positions", positions_text(positions)]
        if distances is not None:
            arguments += ["--distances", f"{distances[0]}..{distances[1]}"]
        if length:
            arguments += ["--length", str(length)]
        return arrays_of(self._run(arguments + flags(sizes)))

    def vectors(self, spec: str, *, positions, mask="none", inputs=None, **sizes) -> dict:
        """`sextant vectors`: inputs, weights, tables, encoded queries and keys, scores, outputs."""
        arguments = ["vectors", spec, "--json", "--positions", positions_text(positions)]
        arguments += ["--mask", mask] + flags(sizes)
        if inputs is None:
            return arrays_of(self._run(arguments))
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(inputs, file, default=lambda array: as_array(array).tolist())
            file.flush()
            return arrays_of(self._run(arguments + ["--inputs", file.name]))


def flags(sizes: dict) -> list[str]:
    return [text for name, value in sizes.items()
            for text in ("--" + name.replace("_", "-"), str(value))]


def arrays_of(value):
    """Lists of numbers as arrays, objects as they are; null is NaN."""
    if isinstance(value, dict):
        return {name: arrays_of(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return np.asarray(value, dtype=np.float64)
    return value
