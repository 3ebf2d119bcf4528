"""Figures and the table of targets as text."""

from targets import judge

UNITS = {"GFLOP/s": 1e9, "GB/s": 1e9, "tok/s": 1.0}


def time_text(seconds):
    for unit, size in (("s ", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:9.2f} {unit}"
    return f"{seconds * 1e6:9.2f} us"


def case_lines(case, results):
    """A line for each subject: median time with its range, rate, and part of the limit."""
    rounds = max((len(one.seconds) for one in results.values()), default=0)
    text = [f"{case.name}: medians of {rounds} rounds"]
    # Peers do what our subjects do, so their rate counts the same operations.
    own = next((one.work for label, one in results.items() if one.work and label != case.limit), 0)
    for label, one in results.items():
        if one.missing or not one.seconds:
            text.append(f"  {label:<22} not measured: {one.missing}")
            continue
        work = 1.0 if case.rate == "tok/s" else (one.work or own)
        rate = f" {work / one.median / UNITS[case.rate]:10.1f} {case.rate}" if case.rate and work else ""
        spread = f"{min(one.seconds) / one.median:4.2f}..{max(one.seconds) / one.median:4.2f}"
        if label == case.limit:
            text.append(f"  {label:<22} {'':12}  {spread}{rate}")
            continue
        limit = results.get(case.limit)
        part = f" {work / one.median / (limit.work / limit.median):6.3f} of the limit" \
            if limit is not None and limit.seconds and work else ""
        text.append(f"  {label:<22} {time_text(one.median)}  {spread}{rate}{part}")
    return text


def bound_text(judged):
    if judged["at_least"] is not None:
        return f">= {judged['at_least']:g}"
    return f"<= {judged['at_most']:g}" if judged["at_most"] is not None else "-"


def figure_text(value):
    if value is None:
        return "-"
    return f"{value:.3g}" if abs(value) < 1 or abs(value) >= 1000 else f"{value:.2f}"


def row_lines(row, judged_targets):
    text = [row.kernel, f"  limit: {row.limit or '-'}; peers when targets were set: {row.reference}"]
    for judged in judged_targets:
        stretch = "" if judged["stretch"] is None else f"({judged['stretch']:g})"
        verdict = judged["verdict"].partition(": ")[0]
        text.append(f"  {bound_text(judged):>8} {stretch:>6} {figure_text(judged['figure']):>8} "
                    f"{figure_text(judged['at_the_limit']):>8}  {verdict:<17} {judged['target']}")
    missing = [judged["verdict"] for judged in judged_targets if judged["figure"] is None]
    return text + [f"  {reason}" for reason in dict.fromkeys(missing)]


TABLE_HEAD = f"  {'target':>8} {'extra':>6} {'figure':>8} {'at limit':>8}"


def judged_rows(rows, results):
    return [{"row": row.kernel, "limit": row.limit, "reference": row.reference,
             "targets": [judge(target, results) for target in row.targets]} for row in rows]


def table_lines(rows, judged):
    text = [TABLE_HEAD]
    for row, found in zip(rows, judged):
        text += row_lines(row, found["targets"])
    return text


def count_text(judged):
    verdicts = [target["verdict"] for row in judged for target in row["targets"]]
    met = sum(verdict.startswith("met") for verdict in verdicts)
    missed = verdicts.count("NOT met")
    missing = sum(verdict.startswith("not measured") for verdict in verdicts)
    return f"{met} targets met, {missed} NOT met, {missing} not measured"
