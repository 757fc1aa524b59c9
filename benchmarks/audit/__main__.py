"""Simulated error rates of the audit's gate, coverage of rho's intervals, and time of an audit.

Simulated raters: a task's audit with 40 scores, of completions whose true rho is known, for four shapes of rewards.
Limits: at a true rho of .85 the gate passes 95 % of the audits of all shapes or more, at .50 at most 10 %, and of each
shape give or take two standard errors. Each of the two stated intervals holds the true rho in 93 to 97 %, of all
shapes and of each, give or take two standard errors of the simulation: .54 percentage points for 4,000 audits. Bonett-
Wright's is conservative where rho is high: at .85 its variance is 1.25 times the true one, and 80,000 such audits are
covered in 96.8 %. Without a limit: the wider of the two, whose lower end the gate checks and which is conservative by
construction.

Time: `tucano audit check` of 309 scored completions, probes, report and start included, in under 10 seconds.
"""

import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from statistics import fmean, median
from typing import Final

from benchmarks.audit.raters import SHAPES, simulate
from benchmarks.harness import Report, run_benchmark, simulate_in_chunks
from benchmarks.processes import watch
from benchmarks.statistics.__main__ import is_beyond
from schemas.config.config import AUDIT_FOLDER

SHEET: Final = AUDIT_FOLDER / "sheet.csv"
ROLLOUTS: Final = AUDIT_FOLDER / "rollouts.jsonl"
GOOD, BAD = 0.85, 0.50
"""True rhos that have limits."""
CHUNK: Final = 50
STATED: Final = ("Bonett-Wright", "BCa")
"""The intervals that a report states."""
ALL: Final = "all four"
ERRORS: Final = 2
MIN_PASS: Final = 0.95
MAX_PASS: Final = 0.10
RUNS: Final = 3
MAX_SECONDS: Final = 10.0


def arguments(parser: ArgumentParser) -> None:
    """Add the option."""
    parser.add_argument("--audits", type=int, default=1_000, help="of each shape")


def measure(report: Report, options: Namespace) -> None:
    """Time an audit, then simulate many."""
    _time(report)
    wanted = {(rho, shape): ((rho, shape), options.audits) for rho in (BAD, GOOD) for shape in SHAPES}
    found = simulate_in_chunks(simulate, wanted, "simulated audits", CHUNK)
    rows: list[tuple[str | int | float, ...] | None] = []
    for rho in (BAD, GOOD):
        outcomes = {shape: [outcome for part in found[rho, shape] for outcome in part] for shape in SHAPES}
        outcomes[ALL] = [outcome for of_shape in outcomes.values() for outcome in of_shape]
        for name, each in outcomes.items():
            passed = fmean(outcome.passed for outcome in each)
            covered = {kind: fmean(outcome.covered[kind] for outcome in each) for kind in (*STATED, "wider")}
            rows.append((f"{rho:.2f} {name}", len(each), passed, *covered.values()))
            _check(report, f"rho {rho:.2f}, {name}", rho, passed, covered, len(each), 0 if name == ALL else ERRORS)
        rows.append(None)
    columns = {"true rho, rewards": "", "audits": ",", "passed": ".1%", **dict.fromkeys((*STATED, "wider"), ".1%")}
    title = "Audits of 40 scores that the gate passes, and 95 % intervals that hold the true rho"
    report.table(title, columns, rows[:-1])


def _check(
    report: Report, name: str, rho: float, passed: float, covered: Mapping[str, float], count: int, errors: int
) -> None:
    limit = MIN_PASS if rho == GOOD else MAX_PASS
    beyond = limit - passed if rho == GOOD else passed - limit
    allowed = errors * (limit * (1 - limit) / count) ** 0.5
    report.limit(beyond <= allowed, f"{name}: the gate passes {passed:.1%}, limit {limit:.0%}")
    for kind in STATED:
        miss = f"{name}: {kind}'s interval holds it in {covered[kind]:.1%}, limits 93 % and 97 %"
        report.limit(not is_beyond(covered[kind], count, ERRORS), miss)


def _time(report: Report) -> None:
    """Time audits of the shipped sheet, each in a process of its own."""
    command = ("flows", "audit", "check", str(SHEET), "--rollouts", str(ROLLOUTS), "--report")
    with tempfile.TemporaryDirectory() as folder:
        times = [watch(*command, f"{folder}/{run}", every=1.0, success=(0, 3)).seconds for run in range(RUNS)]
    seconds = median(times)
    report.line(
        f"An audit of the shipped sheet, 309 completions with 618 scores, takes {seconds:.1f} s (median of {RUNS}); "
        f"limit {MAX_SECONDS:g} s.\n"
    )
    report.limit(seconds <= MAX_SECONDS, f"an audit took {seconds:.1f} s, limit {MAX_SECONDS:g}")


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
