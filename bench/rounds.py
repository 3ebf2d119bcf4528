"""Interleaved rounds over one case: every subject once a round, in turn, in its own process."""

import statistics
import sys
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Case:
    """One shape and what is measured at it: a label for each subject of a worker."""
    name: str
    sizes: dict
    subjects: dict               # label -> (worker, subject)
    rate: str = ""               # how work per second is shown: "GFLOP/s", "GB/s"; "" where it says nothing
    limit: str = ""              # the label that is the limit
    fresh: tuple = ()            # workers started anew for this case, so that their peak memory is its own
    least_seconds: float = 0.05  # short work is repeated for this long
    unmeasured: int = 1          # rounds that do not count, in which threads start and clocks go up


@dataclass
class Result:
    seconds: list = field(default_factory=list)  # by round
    work: float = 0
    figures: dict = field(default_factory=dict)
    missing: str = ""

    @property
    def median(self):
        return statistics.median(self.seconds)


class Results(dict):
    """Results of a case by label, and which label is the limit ("": none)."""

    def __init__(self, case):
        super().__init__((label, Result()) for label in case.subjects)
        self.limit = case.limit


def measure(case, workers, rounds, threads):
    """Results by label. A subject that cannot be measured says why and leaves the others alone."""
    print(f"bench: {case.name}", file=sys.stderr, flush=True)
    workers.restart_failed()
    workers.restart(case.fresh)
    sizes = {"threads": threads} | case.sizes
    results = Results(case)

    def ask(label, **request):
        worker, _ = case.subjects[label]
        answer = workers[worker].ask(id=label, **request)
        if "missing" in answer:
            results[label].missing = answer["missing"]
        return answer

    for label, (_, subject) in case.subjects.items():
        results[label].work = ask(label, do="prepare", subject=subject, sizes=sizes).get("work", 0)
    for round_number in range(case.unmeasured + rounds):
        order = list(case.subjects)
        for label in order if round_number % 2 else reversed(order):
            if results[label].missing:
                continue
            answer = ask(label, do="measure", least_seconds=case.least_seconds)
            if "seconds" in answer:
                results[label].figures = answer.get("figures", {})
                if round_number >= case.unmeasured:
                    results[label].seconds.append(answer["seconds"])
    for worker in {worker for worker, _ in case.subjects.values()}:
        workers[worker].ask(do="release")
    return results
