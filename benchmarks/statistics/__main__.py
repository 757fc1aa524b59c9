"""Comparisons and the gate: false claims without a difference, coverage of intervals, planted models, and time.

Simulated scores in [0, 1] on a grid, most of it zero-heavy, through the deciding functions; 2,000 resamples each,
where a real comparison takes 10,000. Limits: of equally good models the gate promotes at most 5 %, and of a difference
that is many small gains and a few large losses at most 5 % are called better; 95 % intervals hold the true mean in 93
to 97 %, on all scenarios of a number of prompts together, and on each by itself give or take two standard errors.
`tucano compare` of six tasks, three seeds, four samples and 240 prompts a task takes under 5 seconds, of 65 pairs 3.

Planted models through the whole gate (see `benchmarks/statistics/planted.py`): of constants at most 5 % of the
evaluations call any task better, and none is promoted; of those that learned nothing, or form alone, at most 5 % are
promoted; those that learned content are promoted in each.
"""

import json
import math
import random
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean, median
from typing import Final, TypeVar

from benchmarks.harness import Report, map_in_processes, run_benchmark, simulate_in_chunks
from benchmarks.processes import watch
from benchmarks.statistics import planted
from benchmarks.statistics.scenarios import (
    COVERED,
    MARGIN,
    WIDE_MARGIN,
    Draw,
    equally_good,
    interval_holds,
    simulate,
    skewed_loss,
)
from schemas.tasks import TASK_NAMES, TaskName

CHUNK: Final = 25
PROMPTS: Final = (20, 65, 240)
MAX_FALSE: Final = 0.05
COVERAGE: Final = (0.93, 0.97)
RUNS: Final = 3
MAX_SECONDS: Final = 5.0
MAX_PAIRS_SECONDS: Final = 3.0

Key = TypeVar("Key")


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--only", choices=list(PARTS), action="append", help="run this part instead of all")
    parser.add_argument("--simulations", type=int, default=500, help="of each scenario")
    parser.add_argument("--evaluations", type=int, default=200, help="of constants and of form; a third of nothing")


def measure(report: Report, options: Namespace) -> None:
    """Run each part."""
    for name in options.only or PARTS:
        PARTS[name](report, options)


def _null(report: Report, options: Namespace) -> None:
    wanted = {
        (prompts, seeds, spread): partial(equally_good, prompts, seeds, spread)
        for prompts in (65, 240)
        for seeds, spread in ((1, 0.0), (3, 0.0), (3, 0.05))
    }
    columns = ("promoted", "promoted, wide", "overall better", "a task better")
    rows = []
    for (prompts, seeds, spread), found in _simulated("equally good models", wanted, options).items():
        name = f"{prompts}, {seeds}, {spread:g}"
        rows.append((name, *(found[column] for column in columns)))
        for column in columns[:2]:
            miss = f"of equally good models ({name}) the gate promotes {found[column]:.1%}, limit 5 %"
            report.limit(found[column] <= MAX_FALSE, miss)
    title = f"Equally good models on six tasks, {options.simulations:,} comparisons each: what is claimed"
    report.table(title, {"prompts in all, seeds, luck of a seed": "", **dict.fromkeys(columns, ".1%")}, rows)
    report.line(
        f"The margin is {MARGIN:g}; wide: {WIDE_MARGIN:g}, so that the gate rests on its other conditions. Luck: the "
        "standard deviation of what a training's seed adds to all latent scores.\n"
    )


def _skewed(report: Report, options: Namespace) -> None:
    wanted = {prompts: partial(skewed_loss, prompts) for prompts in PROMPTS}
    rows = []
    for prompts, found in _simulated("skewed", wanted, options).items():
        rows.append((str(prompts), found["better"], found["Wilcoxon"]))
        miss = f"a skewed loss on {prompts} prompts is called better in {found['better']:.1%}, limit 5 %"
        report.limit(found["better"] <= MAX_FALSE, miss)
    title = "80 % gain .05 and 20 % lose .25, a loss of .010: what is called better"
    report.table(title, {"prompts": "", "better": ".1%", "Wilcoxon p < .05": ".1%"}, rows)


def _coverage(report: Report, options: Namespace) -> None:
    wanted = {(name, prompts): partial(interval_holds, name, prompts) for name in COVERED for prompts in PROMPTS}
    found = _simulated("coverage", wanted, options)
    shares = {key: each["stated"] for key, each in found.items()}
    shares |= {("all", prompts): fmean(shares[name, prompts] for name in COVERED) for prompts in PROMPTS}
    for (name, prompts), share in shares.items():
        report.limit(
            not is_beyond(share, options.simulations, 0 if name == "all" else 2),
            f"{name}, {prompts} prompts: the interval holds the true mean in {share:.1%}, limits 93-97 %",
        )
    rows = [(name, *(shares[name, prompts] for prompts in PROMPTS)) for name in (*COVERED, "all")]
    columns = {"scenario": "", **dict.fromkeys(map(str, PROMPTS), ".1%")}
    report.table("95 % intervals that hold the true mean", columns, rows)
    error = 100 * _error(0.95, options.simulations)
    report.line(f"{options.simulations:,} each: a standard error at 95 % of {error:.1f} percentage points.\n")


def _planted(report: Report, options: Namespace) -> None:
    counts: Mapping[planted.Planted, int] = {
        "constant": options.evaluations,
        "nothing": max(20, options.evaluations // 3),
        "form": options.evaluations,
        "content": 20,
    }
    rows = []
    for name, count in counts.items():
        jobs = [(name, planted.SEED + number) for number in range(count)]
        outcomes = list(map_in_processes(planted.evaluate, jobs, f"gate: {name}", chunk=5))
        promoted = sum(outcome.promoted for outcome in outcomes) / count
        called = sum(bool(outcome.better) for outcome in outcomes) / count
        rows.append((name, count, promoted, called))
        least, most = {"constant": (0.0, 0.0), "content": (1.0, 1.0)}.get(name, (0.0, MAX_FALSE))
        miss = f"{promoted:.1%} of planted models that learned {name} are promoted, limits {least:.0%} to {most:.0%}"
        report.limit(least <= promoted <= most, miss)
        if name == "constant":
            report.limit(called <= MAX_FALSE, f"{called:.1%} of constants are called better, limit {MAX_FALSE:.0%}")
    columns = {"tuned model": "", "evaluations": ",", "promoted": ".1%", "a task called better": ".1%"}
    report.table(f"Planted models through the gate, {planted.PROMPTS} prompts a task", columns, rows)


def _time(report: Report, _: Namespace) -> None:
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for title, tasks, sizes, limit in (
            ("6 tasks x 3 seeds x 4 samples x 240 prompts", TASK_NAMES, (240, 3, 4), MAX_SECONDS),
            ("65 pairs", ("push",), (65, 1, 1), MAX_PAIRS_SECONDS),
        ):
            files = [_write(folder / f"{number}.jsonl", random.Random(number), tasks, *sizes) for number in range(2)]
            command = ("flows", "compare", *map(str, files), "--report", str(folder / "report"))
            # Scores at random are held: exit code 3.
            seconds = median(watch(*command, every=1.0, success=(0, 3)).seconds for _ in range(RUNS))
            rows.append((title, seconds, limit))
            report.limit(seconds <= limit, f"{title}: {seconds:.1f} s, limit {limit:g} s")
    columns = {f"`tucano compare`, start included, median of {RUNS}": "", "seconds": ".1f", "at most": "g"}
    report.table("Time of a comparison", columns, rows)


def _write(file: Path, rng: random.Random, tasks: Sequence[TaskName], prompts: int, seeds: int, samples: int) -> Path:
    """Write scores with their ground truth, which is compared too."""
    rows = (
        {
            "task": task,
            "prompt_id": f"{task}-{prompt}",
            "seed": seed,
            "sample": sample,
            "score": rng.randrange(21) / 20,
            "truth": rng.randrange(21) / 20,
        }
        for task in tasks
        for prompt in range(prompts)
        for seed in range(seeds)
        for sample in range(samples)
    )
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return file


PARTS: Final[Mapping[str, Callable[[Report, Namespace], None]]] = {
    "null": _null,
    "skewed": _skewed,
    "coverage": _coverage,
    "planted": _planted,
    "time": _time,
}


def _simulated(what: str, wanted: Mapping[Key, Draw], options: Namespace) -> dict[Key, dict[str, float]]:
    """Return the share of each scenario's simulations in which each thing is claimed."""
    count = options.simulations
    parts = simulate_in_chunks(simulate, {key: (draw, count) for key, draw in wanted.items()}, what, CHUNK)
    return {key: {name: sum(part[name] for part in each) / count for name in each[0]} for key, each in parts.items()}


def is_beyond(covered: float, count: int, errors: int) -> bool:
    """Return whether a share of intervals is outside of 93 to 97 %, give or take some standard errors."""
    low, high = COVERAGE
    return covered < low - errors * _error(low, count) or covered > high + errors * _error(high, count)


def _error(share: float, count: int) -> float:
    return math.sqrt(share * (1 - share) / count)


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
