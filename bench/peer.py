"""The peers' side of the pipe: subjects by name, prepared and timed when told.

A peer is a program that fills SUBJECTS (with the decorator `subject`) and calls `serve`. bench/worker.py
speaks the other side; bench/program.cc answers the same requests for our own code.
"""

import json
import math
import os
import sys
import time
from dataclasses import dataclass, field
from typing import Callable

SUBJECTS = {}
LONG = 0.25  # seconds; a run this long is not made faster by what the caches held before it


class Missing(Exception):
    """This subject cannot be measured here; the text says why."""


@dataclass
class Made:
    run: Callable  # does the work `count` times
    count: int = 1
    figures: dict = field(default_factory=dict)
    expected: float = 0.0  # seconds of a run, as last seen

    def seconds(self, least_seconds):
        if self.expected < LONG:
            start = time.perf_counter()
            self.run()
            self.expected = time.perf_counter() - start
        repeats = max(1, math.ceil(least_seconds / max(self.expected, 1e-7)))
        start = time.perf_counter()
        for _ in range(repeats):
            self.run()
        self.expected = (time.perf_counter() - start) / repeats
        return self.expected / self.count


def subject(name):
    def add(make):
        SUBJECTS[name] = make
        return make
    return add


def answer(request, prepared, describe):
    what = request["do"]
    if what == "describe":
        return describe()
    if what == "prepare":
        if request["subject"] not in SUBJECTS:
            raise Missing(f"no subject {request['subject']}")
        made = SUBJECTS[request["subject"]](request["sizes"])
        prepared[request["id"]] = made
        made.run()  # compiles what is compiled at the first call
        return {"work": 0}
    if what == "measure":
        made = prepared[request["id"]]
        return {"seconds": made.seconds(request["least_seconds"]), "figures": made.figures}
    if what == "release":
        prepared.clear()
        return {}
    raise Missing(f"unknown request {what}")


def serve(describe):
    """Answers requests until standard input ends. What libraries print goes to standard error."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    prepared = {}
    for line in sys.stdin:
        try:
            reply = answer(json.loads(line), prepared, describe)
        except Missing as reason:
            reply = {"missing": str(reason)}
        except Exception as error:  # a peer that fails is a row not measured, not the end of the run
            text = str(error).strip() or type(error).__name__
            reply = {"missing": f"{type(error).__name__}: {text.splitlines()[0][:200]}"}
        out.write(json.dumps(reply) + "\n")
        out.flush()
