"""Simulated error rates of the audit's gate, coverage of rho's intervals, and time of an audit.

Simulated raters: a task's audit with 40 scores, of completions whose true rho is known, for four shapes of rewards.
Limits, on all shapes together: at a true rho of .85 the gate passes 95 % of the audits or more, at .50 at most 10 %,
and each of the two stated intervals holds the true rho in 93 to 97 % of them. Each shape by itself is held to the same
limits, give or take two standard errors. Without a limit: the wider of the two intervals, whose lower end the gate
checks and which is conservative by construction; other true rhos, six such tasks at once, completions of a prompt that
resemble each other, sheets drawn by reward, and how often the rubric of two raters is reported as ambiguous.

Time: an audit of 300 scored completions, probes, report and imports included, in under 10 seconds.
"""

import math
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

from benchmarks.audit.raters import SEED, SHAPES, Outcome, Scenario, found_alphas, simulate_chunk
from benchmarks.audit.timed import write_sheet
from benchmarks.harness import Report, map_in_processes, run_benchmark
from schemas.config.config import AuditConfig

FOLDER: Final = Path(".tucano") / "benchmark-audit"
SCORES: Final = 40
HELD: Final = (0.50, 0.85)
"""True rhos that have limits."""
OTHERS: Final = (0.60, 0.70, 0.95)
PROMPT_SHARE: Final = 0.5
OTHER_SHEETS: Final[Mapping[str, tuple[float, bool]]] = {
    "prompts differ": (PROMPT_SHARE, False),
    "drawn by reward": (PROMPT_SHARE, True),
}
"""Sheets that are not forty independent rows, of continuous rewards: the prompt's share of a completion's worth, and
whether the sheet is drawn as `tucano audit sheet` does."""
FEWER: Final = 5
"""Divisor of the number of audits without a limit."""
CHUNK: Final = 100
PROCESSES: Final = 2
STATED: Final = ("Bonett-Wright", "BCa")
"""The intervals that a report states."""
INTERVALS: Final = (*STATED, "wider")
CHECKS: Final = ("rho", "rho_low", "within_prompt", "worst_in_top_quartile", "best_without_reward")
MIN_PASS: Final = 0.95
MAX_PASS: Final = 0.10
COVERAGE: Final = (0.93, 0.97)
ALPHAS: Final = (0.50, 0.67, 0.80, 0.90)
OVERLAPS: Final = (20, 40)
RUNS: Final = 3
MAX_SECONDS: Final = 10.0

Outcomes = Mapping[Scenario, Sequence[Outcome]]


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--audits", type=int, default=2_000, help="of each scenario with a limit")
    parser.add_argument("--resamples", type=int, default=2_000, help="of each bootstrap")


def measure(report: Report, options: Namespace) -> None:
    """Time an audit, then simulate many."""
    _time(report)
    outcomes = _simulated(options.audits, options.resamples)
    _report_passes(report, outcomes, options.audits)
    _report_coverage(report, outcomes)
    _report_objections(report, outcomes)
    _report_alphas(report, options.audits)
    _check(report, outcomes)


def _simulated(audits: int, resamples: int) -> Outcomes:
    """Return the outcomes of each scenario."""
    wanted = {Scenario(shape, rho): audits for rho in HELD for shape in SHAPES}
    wanted |= {Scenario(shape, rho): audits // FEWER for rho in OTHERS for shape in SHAPES}
    wanted |= {_other_sheet(name, rho): audits // FEWER for name in OTHER_SHEETS for rho in HELD}
    chunks = [
        (scenario, SCORES, min(CHUNK, count - done), resamples, (SEED, number, done))
        for number, (scenario, count) in enumerate(wanted.items())
        for done in range(0, count, CHUNK)
    ]
    outcomes: defaultdict[Scenario, list[Outcome]] = defaultdict(list)
    found = map_in_processes(simulate_chunk, chunks, PROCESSES, "simulated audits")
    for (scenario, *_), each in zip(chunks, found, strict=True):
        outcomes[scenario] += each
    return outcomes


def _other_sheet(name: str, rho: float) -> Scenario:
    prompt_share, drawn = OTHER_SHEETS[name]
    return Scenario("continuous", rho, prompt_share, drawn)


def _rows(outcomes: Outcomes, rho: float) -> dict[str, Sequence[Outcome]]:
    """Return the outcomes at a true rho: of each shape, of all, and of other sheets where there are any."""
    shapes: dict[str, Sequence[Outcome]] = {shape: outcomes[Scenario(shape, rho)] for shape in SHAPES}
    everything = [outcome for each in shapes.values() for outcome in each]
    others = {name: outcomes[_other_sheet(name, rho)] for name in OTHER_SHEETS if rho in HELD}
    return {**shapes, "all four": everything, **others}


def _report_passes(report: Report, outcomes: Outcomes, audits: int) -> None:
    rhos = sorted((*HELD, *OTHERS))
    by_rho = {rho: _rows(outcomes, rho) for rho in rhos}
    rows = [
        (name, *(_percent(_passed(by_rho[rho][name])) if name in by_rho[rho] else "" for rho in rhos))
        for name in by_rho[HELD[0]]
    ]
    together = {rho: by_rho[rho]["all four"] for rho in rhos}
    rows.append(("six tasks, all pass", *(_percent(_passed(together[rho]) ** 6) for rho in rhos)))
    rows.append(("mean rho found", *(f"{fmean(each.rho for each in together[rho]):.3f}" for rho in rhos)))
    report.table("Audits that the gate passes, by true rho", ("rewards", *(f"{rho:.2f}" for rho in rhos)), rows)
    errors = [100 * _error(MIN_PASS, count) for count in (audits, audits // FEWER)]
    report.line(
        f"{audits:,} audits of each shape at {HELD[0]:.2f} and {HELD[1]:.2f}, {audits // FEWER:,} elsewhere: standard "
        f"errors at 95 % of {errors[0]:.1f} and {errors[1]:.1f} percentage points.\n"
    )


def _report_coverage(report: Report, outcomes: Outcomes) -> None:
    by_rho = {rho: _rows(outcomes, rho) for rho in HELD}
    report.table(
        "Audits whose 95 % interval holds the true rho",
        ("rewards", *(f"{rho:.2f}\n{name}" for rho in HELD for name in INTERVALS)),
        [
            (row, *(_percent(_covered(by_rho[rho][row], interval)) for rho in HELD for interval in INTERVALS))
            for row in by_rho[HELD[0]]
        ],
    )


def _report_objections(report: Report, outcomes: Outcomes) -> None:
    rho = HELD[-1]
    report.table(
        f"Audits that a check objects to, at a true rho of {rho:.2f}",
        ("rewards", *(check.replace("_", " ") for check in CHECKS)),
        [
            (name, *(_percent(fmean(check in outcome.objections for outcome in each)) for check in CHECKS))
            for name, each in _rows(outcomes, rho).items()
        ],
    )


def _report_alphas(report: Report, audits: int) -> None:
    least = AuditConfig().min_alpha
    rows = []
    for number, alpha in enumerate(ALPHAS):
        cells = []
        for overlap in OVERLAPS:
            found = found_alphas(alpha, overlap, audits, (SEED, number, overlap))
            cells += [_percent(fmean(each < least for each in found)), f"{fmean(found):.3f}"]
        rows.append((f"{alpha:.2f}", *cells))
    columns = ("true alpha", *(name for overlap in OVERLAPS for name in (f"{overlap} completions", "mean alpha")))
    report.table(f"Two raters: audits with alpha below {least}", columns, rows)


def _check(report: Report, outcomes: Outcomes) -> None:
    for rho in HELD:
        for name, each in _rows(outcomes, rho).items():
            if name in OTHER_SHEETS:
                continue
            errors = 0 if name == "all four" else 2
            passed = _passed(each)
            limit = MIN_PASS if rho == HELD[-1] else MAX_PASS
            beyond = limit - passed if rho == HELD[-1] else passed - limit
            report.limit(
                beyond <= errors * _error(limit, len(each)),
                f"rho {rho:.2f}, {name}: the gate passes {_percent(passed)}, limit {_percent(limit)}",
            )
            for interval in STATED:
                covered = _covered(each, interval)
                report.limit(
                    not _is_beyond(covered, len(each), errors),
                    f"rho {rho:.2f}, {name}: {interval}'s interval holds it in {_percent(covered)}, "
                    f"limits {_percent(COVERAGE[0])} and {_percent(COVERAGE[1])}",
                )


def _is_beyond(covered: float, count: int, errors: int) -> bool:
    low, high = COVERAGE
    return covered < low - errors * _error(low, count) or covered > high + errors * _error(high, count)


def _passed(outcomes: Sequence[Outcome]) -> float:
    return fmean(not outcome.objections for outcome in outcomes)


def _covered(outcomes: Sequence[Outcome], interval: str) -> float:
    return fmean(outcome.covered[interval] for outcome in outcomes)


def _error(share: float, count: int) -> float:
    return math.sqrt(share * (1 - share) / count)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


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
    wall = statistics.median(walls)
    times = enumerate(zip(walls, processors, strict=True), 1)
    rows = [(str(number), f"{each:.1f}", f"{processor:.1f}", "") for number, (each, processor) in times]
    rows.append(("median", f"{wall:.1f}", f"{statistics.median(processors):.1f}", f"{MAX_SECONDS:g}"))
    columns = ("run", "seconds", "of one processor", "at most")
    report.table(f"Audit of {completions} completions, {scores} scores", columns, rows)
    report.limit(wall <= MAX_SECONDS, f"an audit took {wall:.1f} s, limit {MAX_SECONDS:g}")


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
