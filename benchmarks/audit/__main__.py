"""Simulated error rates of the audit's gate, coverage of rho's intervals, and time of an audit.

Simulated raters: a task's audit with 40 scores, of completions whose true rho is known, for four shapes of rewards.
Limits, on all shapes together: at a true rho of .85 the gate passes 95 % of the audits or more, at .50 at most 10 %,
and each of the two stated intervals holds the true rho in 93 to 97 % of them. Each shape by itself is held to the same
limits, give or take two standard errors. Without a limit: the wider of the two intervals, whose lower end the gate
checks and which is conservative by construction; other true rhos, six such tasks at once, completions of a prompt that
resemble each other, sheets drawn by reward, and how often the rubric of two raters is reported as ambiguous.

Time: an audit of 300 scored completions, probes, report and imports included, in under 10 seconds.
"""

import argparse
import json
import math
import shutil
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Final

from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.audit.raters import SEED, SHAPES, Outcome, Scenario, found_alphas, simulate
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
PER_TASK: Final = 50
"""Completions of each of the six tasks in the audit that is timed."""
RUNS: Final = 3
MAX_SECONDS: Final = 10.0

Outcomes = Mapping[Scenario, Sequence[Outcome]]


def main() -> int:
    """Run the benchmark; the exit code says whether every limit was met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--audits", type=int, default=2_000, help="of each scenario with a limit (default: %(default)s)"
    )
    parser.add_argument("--resamples", type=int, default=2_000, help="of each bootstrap (default: %(default)s)")
    parser.add_argument("--audit", type=Path, metavar="FOLDER", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.audit is not None:
        return _audit(arguments.audit)
    misses = _time()
    outcomes = _simulated(arguments.audits, arguments.resamples)
    _print_passes(outcomes, arguments.audits)
    _print_coverage(outcomes)
    _print_objections(outcomes)
    _print_alphas(arguments.audits)
    misses += _missed(outcomes)
    for miss in misses:
        print(f"MISSED: {miss}")
    return 1 if misses else 0


def _simulated(audits: int, resamples: int) -> Outcomes:
    """Return the outcomes of each scenario; dividing them between two processes changes none."""
    wanted = {Scenario(shape, rho): audits for rho in HELD for shape in SHAPES}
    wanted |= {Scenario(shape, rho): audits // FEWER for rho in OTHERS for shape in SHAPES}
    wanted |= {_other_sheet(name, rho): audits // FEWER for name in OTHER_SHEETS for rho in HELD}
    chunks = [
        (scenario, min(CHUNK, count - done), (SEED, number, done))
        for number, (scenario, count) in enumerate(wanted.items())
        for done in range(0, count, CHUNK)
    ]
    outcomes: defaultdict[Scenario, list[Outcome]] = defaultdict(list)
    with ProcessPoolExecutor(PROCESSES) as pool:
        found = pool.map(partial(_chunk, resamples), chunks)
        for (scenario, *_), each in zip(
            track(chunks, description="simulated audits", console=Console(stderr=True)), found, strict=True
        ):
            outcomes[scenario] += each
    return outcomes


def _chunk(resamples: int, chunk: tuple[Scenario, int, tuple[int, ...]]) -> list[Outcome]:
    scenario, audits, seed = chunk
    return simulate(scenario, SCORES, audits, resamples, seed)


def _other_sheet(name: str, rho: float) -> Scenario:
    prompt_share, drawn = OTHER_SHEETS[name]
    return Scenario("continuous", rho, prompt_share, drawn)


def _rows(outcomes: Outcomes, rho: float) -> dict[str, Sequence[Outcome]]:
    """Return the outcomes at a true rho: of each shape, of all, and of other sheets where there are any."""
    shapes: dict[str, Sequence[Outcome]] = {shape: outcomes[Scenario(shape, rho)] for shape in SHAPES}
    everything = [outcome for each in shapes.values() for outcome in each]
    others = {name: outcomes[_other_sheet(name, rho)] for name in OTHER_SHEETS if rho in HELD}
    return {**shapes, "all four": everything, **others}


def _print_passes(outcomes: Outcomes, audits: int) -> None:
    table = _table("Audits that the gate passes, by true rho", "rewards")
    rhos = sorted((*HELD, *OTHERS))
    for rho in rhos:
        table.add_column(f"{rho:.2f}", justify="right")
    by_rho = {rho: _rows(outcomes, rho) for rho in rhos}
    for name in by_rho[HELD[0]]:
        table.add_row(name, *(_percent(_passed(by_rho[rho][name])) if name in by_rho[rho] else "" for rho in rhos))
    table.add_row("six tasks, all pass", *(_percent(_passed(by_rho[rho]["all four"]) ** 6) for rho in rhos))
    table.add_row("mean rho found", *(f"{fmean(each.rho for each in by_rho[rho]['all four']):.3f}" for rho in rhos))
    Console(width=100).print(table)
    errors = [100 * _error(MIN_PASS, count) for count in (audits, audits // FEWER)]
    print(
        f"{audits:,} audits of each shape at {HELD[0]:.2f} and {HELD[1]:.2f}, {audits // FEWER:,} elsewhere: standard "
        f"errors at 95 % of {errors[0]:.1f} and {errors[1]:.1f}\npercentage points.\n"
    )


def _print_coverage(outcomes: Outcomes) -> None:
    table = _table("Audits whose 95 % interval holds the true rho", "rewards")
    for rho in HELD:
        for name in INTERVALS:
            table.add_column(f"{rho:.2f}\n{name}", justify="right")
    by_rho = {rho: _rows(outcomes, rho) for rho in HELD}
    for row in by_rho[HELD[0]]:
        table.add_row(row, *(_percent(_covered(by_rho[rho][row], interval)) for rho in HELD for interval in INTERVALS))
    Console(width=100).print(table)


def _print_objections(outcomes: Outcomes) -> None:
    rho = HELD[-1]
    table = _table(f"Audits that a check objects to, at a true rho of {rho:.2f}", "rewards")
    for check in CHECKS:
        table.add_column(check.replace("_", " "), justify="right")
    for name, each in _rows(outcomes, rho).items():
        table.add_row(name, *(_percent(fmean(check in outcome.objections for outcome in each)) for check in CHECKS))
    Console(width=100).print(table)


def _print_alphas(audits: int) -> None:
    config = AuditConfig()
    table = _table(f"Two raters: audits with alpha below {config.min_alpha}", "true alpha")
    for overlap in OVERLAPS:
        table.add_column(f"{overlap} completions", justify="right")
        table.add_column("mean alpha", justify="right")
    for number, alpha in enumerate(ALPHAS):
        cells = []
        for overlap in OVERLAPS:
            found = found_alphas(alpha, overlap, audits, (SEED, number, overlap))
            cells += [_percent(fmean(each < config.min_alpha for each in found)), f"{fmean(found):.3f}"]
        table.add_row(f"{alpha:.2f}", *cells)
    Console(width=100).print(table)


def _missed(outcomes: Outcomes) -> list[str]:
    misses = []
    for rho in HELD:
        for name, each in _rows(outcomes, rho).items():
            if name in OTHER_SHEETS:
                continue
            errors = 0 if name == "all four" else 2
            passed = _passed(each)
            limit = MIN_PASS if rho == HELD[-1] else MAX_PASS
            beyond = limit - passed if rho == HELD[-1] else passed - limit
            if beyond > errors * _error(limit, len(each)):
                misses.append(f"rho {rho:.2f}, {name}: the gate passes {_percent(passed)}, limit {_percent(limit)}")
            misses += [
                f"rho {rho:.2f}, {name}: {interval}'s interval holds it in {_percent(_covered(each, interval))}, "
                f"limits {_percent(COVERAGE[0])} and {_percent(COVERAGE[1])}"
                for interval in STATED
                if _is_beyond(_covered(each, interval), len(each), errors)
            ]
    return misses


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


def _table(title: str, first: str) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column(first)
    return table


def _time() -> list[str]:
    """Time audits of 300 completions, each in a process of its own."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    completions, rows = _write_sheet(FOLDER)
    walls, processors = [], []
    for _ in range(RUNS):
        started = time.perf_counter()
        child = subprocess.run(
            [sys.executable, "-m", "benchmarks.audit", "--audit", str(FOLDER)],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        walls.append(time.perf_counter() - started)
        processors.append(json.loads(child.stdout)["processor_seconds"])
    shutil.rmtree(FOLDER)
    table = _table(f"Audit of {completions} completions, {rows} scores", "run")
    for name in ("seconds", "of one processor", "at most"):
        table.add_column(name, justify="right")
    for number, (wall, processor) in enumerate(zip(walls, processors, strict=True), 1):
        table.add_row(str(number), f"{wall:.1f}", f"{processor:.1f}", "")
    median = statistics.median(walls)
    table.add_row("median", f"{median:.1f}", f"{statistics.median(processors):.1f}", f"{MAX_SECONDS:g}")
    Console(width=100).print(table)
    return [f"an audit took {median:.1f} s, limit {MAX_SECONDS:g}"] if median > MAX_SECONDS else []


def _write_sheet(folder: Path) -> tuple[int, int]:
    """Write the shipped sheet and rollouts, some of each task once more under other prompt ids; return the sizes."""
    from schemas.documents import Rollout
    from schemas.tables.rollout_tables import read_rollouts
    from tasks.audit.sampling import AT_RANDOM, BY_REWARD
    from tasks.audit.sheet import Row, as_row, audit_id, read_rows, write_rows
    from tasks.audit.stage import files_of, shipped_files

    shipped, files = shipped_files(), files_of(folder)
    known = {audit_id(rollout): rollout for rollout in read_rollouts(shipped.rollouts)}
    scored: defaultdict[str, list[Row]] = defaultdict(list)
    for row in read_rows(shipped.sheet):
        scored[row["audit_id"]].append(row)

    def of_task(task: str) -> Iterator[tuple[Rollout, Sequence[Row]]]:
        there = [(known[identity], rows) for identity, rows in scored.items() if known[identity].task == task]
        for number in range(PER_TASK):
            rollout, rows = there[number % len(there)]
            turn = number // len(there)
            yield rollout if not turn else rollout.model_copy(update={"prompt_id": f"{rollout.prompt_id}-{turn}"}), rows

    chosen = [each for task in dict.fromkeys(rollout.task for rollout in known.values()) for each in of_task(task)]
    rows = [
        # Half count as drawn at random, so that the random half has its intervals too.
        {**row, **{name: value for name, value in as_row(rollout, (AT_RANDOM, BY_REWARD)[number % 2]).items() if value}}
        for number, (rollout, given) in enumerate(chosen)
        for row in given
    ]
    write_rows(files.sheet, rows)
    files.rollouts.write_text("".join(f"{rollout.model_dump_json()}\n" for rollout, _ in chosen), encoding="utf-8")
    shutil.copytree(shipped.store, files.store)
    return len(chosen), len(rows)


def _audit(folder: Path) -> int:
    """Audit as `tucano audit check` does, and print the processor time, imports included."""
    from tasks.audit import stage

    output = folder / "report"
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir()
    stage.run(stage.files_of(folder), AuditConfig(require_human=False), "grounded", output)
    print(json.dumps({"processor_seconds": time.process_time()}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
