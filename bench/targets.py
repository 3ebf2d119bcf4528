"""Rows of the table: a kernel, its limit, and targets that are judged from the measured cases."""

import statistics
from dataclasses import dataclass
from typing import Callable, Optional


class NotMeasured(Exception):
    """A figure that there is not; the text says why."""


@dataclass(frozen=True)
class Target:
    text: str                        # what the figure is
    figure: Callable                 # from results by case name; throws NotMeasured
    at_least: Optional[float] = None
    at_most: Optional[float] = None  # without either the figure is shown and judges nothing
    stretch: Optional[float] = None
    most: Optional[Callable] = None  # from the same: the figure of a kernel that ran at the limit


@dataclass(frozen=True)
class Row:
    kernel: str
    group: str
    limit: str       # the physical limit, and which case measures it
    reference: str   # what was measured for the limit and the peers when the targets were set
    targets: tuple


def result(results, case, label):
    if case not in results:
        raise NotMeasured(f"case {case} was not run")
    found = results[case][label]
    if found.missing or not found.seconds:
        raise NotMeasured(f"{label}: {found.missing or 'no round ended'}")
    return found


def median_ratio(one, other):
    """The median over rounds of the ratio within a round."""
    return statistics.median(a / b for a, b in zip(one.seconds, other.seconds))


def faster(case, ours, peer, at_least=None, stretch=None):
    """How many times as fast as a peer; of several peers, as the fastest of them."""
    peers = [peer] if isinstance(peer, str) else list(peer)

    def fastest(results):
        return min((result(results, case, label) for label in peers), key=lambda one: one.median)

    def figure(results):
        own = result(results, case, ours)
        return median_ratio(fastest(results), own)

    def most(results):
        if not results[case].limit:
            raise NotMeasured("the case has no limit")
        limit = result(results, case, results[case].limit)
        return limit.work / result(results, case, ours).work * median_ratio(fastest(results), limit)
    return Target(f"{case}: {ours}, times as fast as {' or '.join(peers)}", figure, at_least, stretch=stretch,
                  most=most)


def of_limit(case, ours, limit, at_least=None, stretch=None):
    def figure(results):
        own, most = result(results, case, ours), result(results, case, limit)
        return own.work / most.work * median_ratio(most, own)
    return Target(f"{case}: {ours}, part of the {limit}", figure, at_least, stretch=stretch)


def time_ratio(case, ours, base, at_most, stretch=None):
    def figure(results):
        return median_ratio(result(results, case, ours), result(results, case, base))
    return Target(f"{case}: {ours}, time over that of {base}", figure, at_most=at_most, stretch=stretch)


def fact(case, ours, name, at_most):
    def figure(results):
        figures = result(results, case, ours).figures
        if name not in figures:
            raise NotMeasured(f"{ours} does not state: {name}")
        return figures[name]
    return Target(f"{case}: {ours}, {name}", figure, at_most=at_most)


def fact_ratio(case, ours, peer, name, at_most, stretch=None):
    def figure(results):
        return result(results, case, ours).figures[name] / result(results, case, peer).figures[name]
    return Target(f"{case}: {ours}, {name} over those of {peer}", figure, at_most=at_most, stretch=stretch)


def reaches(value, target, bound):
    return value >= bound if target.at_least is not None else value <= bound


def judge(target, results):
    """The target as a dictionary: bound, figure, the figure at the limit, and the verdict."""
    bound = target.at_least if target.at_least is not None else target.at_most
    judged = {"target": target.text, "at_least": target.at_least, "at_most": target.at_most,
              "stretch": target.stretch, "figure": None, "at_the_limit": None}
    try:
        value = target.figure(results)
    except NotMeasured as reason:
        return judged | {"verdict": f"not measured: {reason}"}
    judged["figure"] = value
    try:
        judged["at_the_limit"] = target.most(results) if target.most else None
    except NotMeasured:
        pass
    if bound is None:
        verdict = "no target"
    elif not reaches(value, target, bound):
        verdict = "NOT met"
    elif target.stretch is not None and reaches(value, target, target.stretch):
        verdict = "met, stretch too"
    else:
        verdict = "met"
    return judged | {"verdict": verdict}
