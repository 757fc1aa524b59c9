"""Simulated error rates of the audit's gate, coverage of rho's intervals, and time of an audit.

Simulated raters: a task's audit with 40 scores, of completions whose true rho is known, for four shapes of rewards.
Limits: at a true rho of .85 the gate passes 95 % of the audits of all shapes or more, at .50 at most 10 %, and of each
shape give or take two standard errors. Each of the two stated intervals holds the true rho in 93 to 97 %, of all
shapes and of each, give or take two standard errors of the simulation: .54 percentage points for 4,000 audits. Bonett-
Wright's is conservative where rho is high: at .85 its variance is 1.25 times the true one, and 80,000 such audits are
covered in 96.8 %. Without a limit: the wider of the two, whose lower end the gate checks and which is conservative by
construction; completions of a prompt that resemble each other; and sheets drawn by reward.

Time: an audit of 300 scored completions, probes, report and imports included, in under 10 seconds.
"""

import shutil
import statistics
import subprocess
import sys
import time
from argparse import ArgumentParser, Namespace
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Final

from benchmarks.audit.raters import SHAPES, Outcome, Scenario, simulate
from benchmarks.audit.timed import write_sheet
from benchmarks.harness import Report, map_in_processes, run_benchmark
from benchmarks.statistics.__main__ import is_beyond

FOLDER: Final = Path(".tucano") / "benchmark-audit"
SEED: Final = 5
SCORES: Final = 40
RESAMPLES: Final = 1_000
GOOD, BAD = 0.85, 0.50
"""True rhos that have limits."""
OTHER_SHEETS: Final[Mapping[str, tuple[float, bool]]] = {"prompts differ": (0.5, False), "drawn by reward": (0.5, True)}
"""Sheets that are not forty independent rows, of continuous rewards: the prompt's share of a completion's worth, and
whether the sheet is drawn as `tucano audit sheet` does."""
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
    parser.add_argument("--audits", type=int, default=1_000, help="of each shape; a quarter of other sheets")


def measure(report: Report, options: Namespace) -> None:
    """Time an audit, then simulate many."""
    _time(report)
    rows: list[tuple[str | int | float, ...] | None] = []
    for rho, outcomes in _simulated(options.audits).items():
        for name, each in outcomes.items():
            passed = fmean(outcome.passed for outcome in each)
            covered = {kind: fmean(outcome.covered[kind] for outcome in each) for kind in (*STATED, "wider")}
            rows.append((f"{rho:.2f} {name}", len(each), passed, *covered.values()))
            if name not in OTHER_SHEETS:
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


def _simulated(audits: int) -> dict[float, dict[str, list[Outcome]]]:
    """Return the outcomes by true rho: of each shape, of all, and of other sheets."""
    wanted = {(rho, shape): (Scenario(shape, rho), audits) for rho in (BAD, GOOD) for shape in SHAPES}
    for name, sheet in OTHER_SHEETS.items():
        wanted |= {(rho, name): (Scenario("continuous", rho, *sheet), audits // 4) for rho in (BAD, GOOD)}
    chunks = [
        (key, (scenario, SCORES, min(CHUNK, count - done), RESAMPLES, (SEED, number, done)))
        for number, (key, (scenario, count)) in enumerate(wanted.items())
        for done in range(0, count, CHUNK)
    ]
    found: defaultdict[tuple[float, str], list[Outcome]] = defaultdict(list)
    outcomes = map_in_processes(simulate, [chunk for _, chunk in chunks], "simulated audits")
    for (key, _), each in zip(chunks, outcomes, strict=True):
        found[key] += each
    for rho in (BAD, GOOD):
        found[rho, ALL] = [outcome for shape in SHAPES for outcome in found[rho, shape]]
    names: Sequence[str] = (*SHAPES, ALL, *OTHER_SHEETS)
    return {rho: {name: found[rho, name] for name in names} for rho in (BAD, GOOD)}


def _time(report: Report) -> None:
    """Time audits of 300 completions, each in a process of its own."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    completions, scores = write_sheet(FOLDER)
    walls, processors = [], []
    for _ in range(RUNS):
        started = time.perf_counter()
        command = [sys.executable, "-m", "benchmarks.audit.timed", str(FOLDER)]
        child = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        walls.append(time.perf_counter() - started)
        processors.append(float(child.stdout))
    shutil.rmtree(FOLDER)
    wall, processor = statistics.median(walls), statistics.median(processors)
    report.line(
        f"An audit of {completions} completions with {scores} scores takes {wall:.1f} s, {processor:.1f} s of one "
        f"processor (median of {RUNS}); limit {MAX_SECONDS:g} s.\n"
    )
    report.limit(wall <= MAX_SECONDS, f"an audit took {wall:.1f} s, limit {MAX_SECONDS:g}")


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
