"""Compares every scheme with the peers that have it, and prints what is proven against whom.

Exit code 1 if a number differs by more than its tolerance, a comparison fails, or a scheme that is
not excused by --not-built is missing from the program."""

import argparse
import sys
import time
import traceback
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")

ROOT = Path(__file__).resolve().parents[2]
FAMILIES = ("additive", "rotary", "axes", "bias", "vectors", "contextual", "scale")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sextant", type=Path, default=ROOT / "build" / "sextant", help="the program")
    parser.add_argument("--only", default="", help="schemes or peers whose name holds this")
    parser.add_argument("--not-built", default="", metavar="A,B", help="schemes that may be missing")
    return parser.parse_args()


def run_proof(proof, sextant):
    """Rows of [what, points, largest, tolerance, worst point] and the reason it failed, if it did."""
    from comparison import NotBuilt

    rows = {}
    try:
        for comparison in proof.compare(sextant):
            row = rows.setdefault(comparison.what, [0, 0.0, comparison.tolerance, "", False])
            difference = comparison.difference()
            row[0] += 1
            row[4] = row[4] or difference > comparison.tolerance
            if difference / comparison.tolerance >= row[1] / row[2]:
                row[1:4] = [difference, comparison.tolerance, comparison.point]
    except NotBuilt as missing:
        return rows, "not built", str(missing)
    except Exception:
        return rows, "failed", traceback.format_exc(limit=-3)
    return rows, "" if rows else "failed", "" if rows else "compared nothing"


def main():
    arguments = parse_arguments()
    if not arguments.sextant.exists():
        sys.exit(f"check-peers: {arguments.sextant} is not there; script/build release makes it")
    for family in FAMILIES:
        __import__(family)
    from comparison import PROOFS, Sextant

    sextant = Sextant(arguments.sextant)
    proofs = [p for p in PROOFS if arguments.only in p.scheme or arguments.only in p.peer]
    excused = set(filter(None, arguments.not_built.split(",")))
    started = last = time.monotonic()
    table, problems, notes, points = [], [], [], 0
    for number, proof in enumerate(proofs, 1):
        rows, status, text = run_proof(proof, sextant)
        for what, (count, largest, tolerance, point, beyond) in rows.items():
            points += count
            table.append((proof.scheme, proof.peer, what, str(count), f"{largest:.1e}",
                          f"{tolerance:.0e}", "DIFFERS" if beyond else "ok"))
            if beyond:
                problems.append(f"{proof.scheme} against {proof.peer}: {what} differs by "
                                f"{largest:.3e} at {point}, allowed {tolerance:.0e}")
        if status:
            is_excused = status == "not built" and proof.scheme.split()[0] in excused
            table.append((proof.scheme, proof.peer, "", "", "", "", "excused" if is_excused else status))
            if not is_excused:
                problems.append(f"{proof.scheme} against {proof.peer}: {status}\n  {text.strip()}")
        if proof.note:
            notes.append(f"{proof.scheme}, {proof.peer}: {proof.note}")
        if time.monotonic() - last > 5:
            last = time.monotonic()
            print(f"check-peers: {number} of {len(proofs)}, {proof.scheme}", file=sys.stderr, flush=True)
    print_table(("scheme", "proven against", "what", "points", "largest", "allowed", ""), table)
    if notes:
        print("\nWhere a peer differs:")
        for note in notes:
            print("  " + note)
    if problems:
        print("\nProblems:")
        for problem in problems:
            print("  " + problem)
    print(f"\ncheck-peers: {points} points of {len(proofs)} proofs, {len(problems)} problems, "
          f"{time.monotonic() - started:.0f} s, {sextant.calls} runs of the program")
    return 1 if problems or not table else 0


def print_table(header, rows):
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    for row in [header, *rows]:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())


if __name__ == "__main__":
    sys.exit(main())
