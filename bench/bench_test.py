"""Tests of the harness: verdicts, rounds over processes, and sextant_bench's answers.

    SEXTANT_BENCH=build/sextant_bench python3 bench/bench_test.py
"""

import os
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

import memory
import report
import rounds
import rows
from rounds import Case, Result, Results
from targets import Target, fact, faster, judge, of_limit, time_ratio
from worker import Program, Workers

HERE = Path(__file__).resolve().parent
PROGRAM = os.environ.get("SEXTANT_BENCH")

PEER = """
    import time
    from peer import Made, Missing, serve, subject

    @subject("sleep")
    def sleep(sizes):
        return Made(lambda: time.sleep(sizes["seconds"]), figures={"asked": sizes["seconds"]})

    @subject("refuses")
    def refuses(sizes):
        raise Missing("not on this machine")

    @subject("ends")
    def ends(sizes):
        raise SystemExit("out of luck")

    serve(lambda: {"versions": {"peer": "1"}})
"""


def results_of(**measured):
    """A case "c" whose limit does 100 units of work a second."""
    case = Case("c", {}, {label: ("w", "s") for label in ("limit", "ours", "peer", "gone")}, limit="limit")
    results = Results(case)
    results["limit"] = Result([1.0, 2.0, 1.0], work=100)
    results["ours"] = Result([2.0, 4.0, 2.5], work=150, figures={"error": 3e-7})
    results["peer"] = Result([6.0, 8.0, 5.0], work=0)
    results["gone"] = Result(missing="no such kernel")
    return {"c": results}


class Verdicts(unittest.TestCase):
    def verdict(self, target):
        judged = judge(target, results_of())
        return judged["verdict"], judged["figure"]

    def test_ratios_are_medians_of_ratios_within_a_round(self):
        # 6/2, 8/4, 5/2.5
        self.assertEqual(self.verdict(faster("c", "ours", "peer", 2.0, 2.5)), ("met", 2.0))
        self.assertEqual(self.verdict(faster("c", "ours", "peer", 1.5, 2.0)), ("met, stretch too", 2.0))
        self.assertEqual(self.verdict(faster("c", "ours", "peer", 2.1)), ("NOT met", 2.0))
        self.assertEqual(self.verdict(faster("c", "ours", "peer")), ("no target", 2.0))
        self.assertEqual(self.verdict(time_ratio("c", "ours", "limit", 2.0, 1.0)), ("met", 2.0))
        self.assertEqual(self.verdict(time_ratio("c", "ours", "limit", 1.9)), ("NOT met", 2.0))

    def test_part_of_the_limit_counts_work(self):
        # In a round ours does 150 units in twice the time of 100.
        self.assertEqual(self.verdict(of_limit("c", "ours", "limit", 0.75)), ("met", 0.75))
        self.assertEqual(self.verdict(of_limit("c", "ours", "limit", 0.76)), ("NOT met", 0.75))

    def test_what_a_kernel_at_the_limit_would_reach(self):
        # 150 units at the limit take 1.5, 3 and 1.5: 6/1.5, 8/3, 5/1.5.
        judged = judge(faster("c", "ours", "peer", 2.0), results_of())
        self.assertAlmostEqual(judged["at_the_limit"], 5 / 1.5)

    def test_of_several_peers_the_fastest_counts(self):
        results = results_of()
        results["c"]["gone"] = Result([3.0, 4.0, 2.5])
        self.assertEqual(judge(faster("c", "ours", ("peer", "gone")), results)["figure"], 1.0)

    def test_what_was_not_measured_is_never_met(self):
        for target in (faster("c", "gone", "peer", 0.0), faster("c", "ours", "gone", 0.0),
                       of_limit("c", "gone", "limit", 0.0), time_ratio("c", "gone", "ours", 1e9),
                       fact("c", "ours", "unstated", 1e9), faster("no case", "ours", "peer", 0.0)):
            verdict, figure = self.verdict(target)
            self.assertTrue(verdict.startswith("not measured: "), verdict)
            self.assertIsNone(figure)
        self.assertIn("no such kernel", self.verdict(faster("c", "gone", "peer", 0.0))[0])

    def test_facts(self):
        self.assertEqual(self.verdict(fact("c", "ours", "error", 2e-7)), ("NOT met", 3e-7))
        self.assertEqual(self.verdict(fact("c", "ours", "error", 3e-7)), ("met", 3e-7))

    def test_counts(self):
        judged = [{"targets": [{"verdict": v} for v in
                               ("met", "met, stretch too", "NOT met", "no target", "not measured: why")]}]
        self.assertEqual(report.count_text(judged), "2 targets met, 1 NOT met, 1 not measured")


class Declarations(unittest.TestCase):
    def test_every_target_reads_what_a_case_measures(self):
        every = {}
        for case in [case for group in rows.CASES.values() for case in group]:
            self.assertNotIn(case.name, every)
            every[case.name] = Results(case)
            for result in every[case.name].values():
                result.seconds, result.work = [1.0], 1.0
                result.figures = {name: 1.0 for name in ("calls for other threads", "largest error",
                                                         "difference to whole", "peak resident bytes")}
        count = 0
        for row in rows.ROWS:
            self.assertIn(row.group, rows.CASES)
            for target in row.targets:
                self.assertEqual(judge(target, every)["figure"], 1.0, target.text)
                count += 1
        self.assertGreater(count, 80)

    def test_memory_targets(self):
        points = [{"pass": "training", "tokens": tokens, "heads": heads,
                   "sextant": {"beyond_inputs": mb * 1e6, "process_peak": 150e6, "figures": {"output bytes": 1e6}},
                   "torch": {"beyond_inputs": 50 * mb * 1e6}} for tokens, heads, mb in
                  ((2048, 8, 3), (4096, 8, 5), (65536, 1, 9))]
        figures = [judge(target, points)["figure"] for target in memory.TARGETS]
        self.assertEqual(figures, [2.0, 5.0, 50.0, 150.0])
        self.assertTrue(judge(memory.TARGETS[0], points[:1])["verdict"].startswith("not measured"))


class Rounds(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        script = Path(folder.name) / "fake_peer.py"
        script.write_text(f"import sys\nsys.path.insert(0, {str(HERE)!r})\n" + textwrap.dedent(PEER))
        self.workers = Workers({"one": Program((sys.executable, str(script))),
                                "two": Program((sys.executable, str(script))),
                                "absent": Program((), "get it there"),
                                "ours": Program((PROGRAM, "serve") if PROGRAM else (), "SEXTANT_BENCH is not set")})
        self.addCleanup(self.workers.close)

    def measure(self, subjects, sizes, **settings):
        return rounds.measure(Case("c", sizes, subjects, least_seconds=0.01, **settings), self.workers, 3, 2)

    def test_subjects_that_fail_leave_the_others_alone(self):
        results = self.measure({"works": ("one", "sleep"), "refuses": ("one", "refuses"), "ends": ("two", "ends"),
                                "absent": ("absent", "sleep"), "unknown": ("one", "unheard of")}, {"seconds": 0.002})
        self.assertEqual(len(results["works"].seconds), 3)
        self.assertGreaterEqual(min(results["works"].seconds), 0.002)
        self.assertEqual(results["works"].figures, {"asked": 0.002})
        self.assertEqual(results["refuses"].missing, "not on this machine")
        self.assertEqual(results["ends"].missing, "the process ended: out of luck")
        self.assertEqual(results["absent"].missing, "get it there")
        self.assertIn("unheard of", results["unknown"].missing)

    def test_a_process_that_ended_serves_the_next_case(self):
        self.measure({"ends": ("two", "ends")}, {})
        self.assertEqual(self.measure({"works": ("two", "sleep")}, {"seconds": 0.001})["works"].missing, "")

    def test_who_is_not_asked_is_stopped(self):
        self.measure({"a": ("one", "sleep"), "b": ("two", "sleep")}, {"seconds": 0.001})
        for name in ("one", "two"):
            status = Path(f"/proc/{self.workers[name].process.pid}/status").read_text()
            self.assertIn("State:\tT", status)

    @unittest.skipUnless(PROGRAM, "SEXTANT_BENCH is not set")
    def test_sextant_bench_answers(self):
        sizes = {"tokens": 40, "heads": 2, "kv_heads": 2, "head_dim": 16, "bytes": 4096}
        results = self.measure({"limit": ("ours", "limit/fma"), "forward": ("ours", "attention/t5"),
                                "training": ("ours", "attention_train/t5_causal"), "turn": ("ours", "rotate/f32/halves"),
                                "unknown": ("ours", "no/such")}, sizes, limit="limit")
        for label in ("limit", "forward", "training", "turn"):
            self.assertEqual(len(results[label].seconds), 3, results[label].missing)
        self.assertEqual(results["forward"].work, 4 * 40 * 40 * 2 * 16)
        self.assertEqual(results["training"].work, 3.5 * 4 * 40 * 40 * 2 * 16 / 2)
        self.assertEqual(results["turn"].work, 2 * 4 * 40 * 2 * 16)
        self.assertEqual(results["turn"].figures["calls for other threads"], 0)
        self.assertEqual(results["unknown"].missing, "sextant_bench has no subject no/such")
        self.assertIn("sextant's SIMD target", self.workers.versions())


if __name__ == "__main__":
    unittest.main()
