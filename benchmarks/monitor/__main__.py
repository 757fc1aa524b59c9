"""Monitoring: false alarms without drift, days until a drop is found, and time for a million answers.

Simulated months of 1,000 requests a day go through the deciding function, with the default configuration (one false
alarm in ten years), including the fixed floor. Limits: without drift at most one month in 20 has an alarm, seen at once
and daily through a moving window; a drop of .10 in the mean reward a week after a promotion, and on its very day, is
found within 3 days in 95 % of the simulations, where the evaluation had 240 prompts a task (of 17, as the source
project had, the shares are shown without a limit); each measure beside the reward has no more alarms than promised; the
daily intervals hold the true mean in 94 %, of each task by itself. A million rows through `tucano monitor` take under
3 minutes, start included.
"""

import math
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
from scipy.stats import binom

from benchmarks.harness import Report, map_in_processes, run_benchmark
from benchmarks.monitor.logs import ASKED, LIMIT, ROWS, measured
from benchmarks.monitor.simulated import DAYS, GRID, MEANS, OFTEN, Beside, Month, bound, shares
from tasks.monitor.series import interval

SEED: Final = 20_261
MAX_FALSE: Final = 1 / 20
WITHIN: Final = 3
MIN_FOUND: Final = 0.95
MIN_COVERAGE: Final = 0.94
FALSE: Final = {
    "240 prompts a task": Month(240),
    "17 prompts a task": Month(17),
    "240, each day's means differ by .02": Month(240, wander=0.02),
    "240, 30,000 requests a day": Month(240, requests=30_000),
}
"""Months without drift."""
LONG: Final = 90
RUNS: Final = {
    "240 prompts a task": Month(240, days=LONG),
    "17 prompts a task": Month(17, days=LONG),
    "240, each day's means differ by .02": Month(240, wander=0.02, days=LONG),
}
"""Quarters without drift, in which each day's run reads the last 35 days."""
DROPS: Final[Mapping[str, tuple[Month, bool]]] = {
    "240 prompts, after a week": (Month(240, drop=0.10, drop_day=7, days=12), True),
    "240 prompts, on the first day": (Month(240, drop=0.10, days=5), True),
    "17 prompts, after a week": (Month(17, drop=0.10, drop_day=7, days=12), False),
    "17 prompts, on the first day": (Month(17, drop=0.10, days=5), False),
}
"""Months with a drop, and whether the limit holds for them."""
BESIDE_PROMPTS: Final = (60, 17)
CHANCE_OF_MISS: Final = 0.01
SIZES: Final = (5, 10, 30, 170)
INTERVALS: Final = 20_000


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--only", choices=list(PARTS), action="append", help="run this part instead of all")
    parser.add_argument("--months", type=int, default=400, help="without drift, of each kind")
    parser.add_argument("--quarters", type=int, default=7, help="of daily runs, of each kind")
    parser.add_argument("--beside", type=int, default=60, help="windows of what is beside the reward, of each kind")
    parser.add_argument("--drops", type=int, default=300, help="of each kind")
    parser.add_argument("--rows", type=int, default=ROWS, help="of the logs")


def measure(report: Report, options: Namespace) -> None:
    """Run each part."""
    for name in options.only or PARTS:
        PARTS[name](report, options)


def _false_alarms(report: Report, options: Namespace) -> None:
    rows = []
    for number, (name, month) in enumerate(FALSE.items()):
        streams = [(SEED, number, each) for each in range(options.months)]
        alarms = sum(each is not None for each in map_in_processes(month.alarm, streams, name, chunk=10))
        rows.append((name, options.months, alarms))
        miss = f"{name}: {alarms} of {options.months} months have a false alarm, limit 1 in 20"
        report.limit(alarms <= MAX_FALSE * options.months, miss)
    report.table("Months without drift", {"evaluation": "", "months": ",", "with an alarm": ""}, rows)


def _daily_runs(report: Report, options: Namespace) -> None:
    rows = []
    for number, (name, quarter) in enumerate(RUNS.items()):
        streams = [(SEED, 200 + number, each) for each in range(options.quarters)]
        found = map_in_processes(quarter.daily_alarm, streams, name)
        alarms, months = sum(each is not None for each in found), options.quarters * LONG // DAYS
        rows.append((name, months, alarms))
        miss = f"{name}: {alarms} false alarms in {months} months of daily runs, limit 1 in 20"
        report.limit(alarms <= MAX_FALSE * months, miss)
    columns = {"evaluation": "", "months": ",", "quarters with an alarm": ""}
    report.table("Quarters without drift, each day's run over its last 35 days", columns, rows)


def _beside(report: Report, options: Namespace) -> None:
    """Measure false alarms of what is compared beside the reward."""
    most, windows, worst = bound(OFTEN), options.beside, 0
    for number, prompts in enumerate(BESIDE_PROMPTS):
        name = f"{prompts} prompts a task"
        streams = [(SEED, 500 + number, each) for each in range(windows)]
        found = list(map_in_processes(Beside(prompts).highest, streams, name))
        for measure in found[0]:
            alarms = sum(each[measure] >= OFTEN for each in found)
            worst = max(worst, alarms)
            miss = f"{name}, {measure}: {alarms} of {windows} windows have an alarm, promised {windows * most:.1f}"
            # More than the promise is a miss where chance alone has it in less than one benchmark of a hundred.
            report.limit(binom.sf(alarms - 1, windows, most) > CHANCE_OF_MISS, miss)
    report.line(
        f"{windows} windows of 35 days without drift, one alarm in 30 days promised: of what is compared beside the "
        f"reward no measure has more than {worst} alarms; promised are {windows * most:.1f}.\n"
    )


def _drops(report: Report, options: Namespace) -> None:
    rows: list[tuple[str | float, ...]] = []
    for number, (name, (month, is_limited)) in enumerate(DROPS.items()):
        streams = [(SEED, 100 + number, each) for each in range(options.drops)]
        found = map_in_processes(month.alarm, streams, name, chunk=10)
        # An alarm before the drop does not count.
        days = np.array(
            [math.inf if day is None or day < month.drop_day else day - month.drop_day + 1 for day in found]
        )
        within = {day: float(np.mean(days <= day)) for day in (1, 2, WITHIN, 5)}
        rows.append((name, *within.values()))
        miss = f"{name}: found within {WITHIN} days in {within[WITHIN]:.1%}, limit 95 %"
        report.limit(not is_limited or within[WITHIN] >= MIN_FOUND, miss)
    columns = {"evaluation, drop": "", **dict.fromkeys(("within 1 d", "2 d", "3 d", "5 d"), ".1%")}
    report.table(f"A drop of .10 at 1,000 requests a day, {options.drops:,} of each: found", columns, rows)


def _intervals(report: Report, _: Namespace) -> None:
    rows: list[tuple[str | float, ...]] = []
    rng = np.random.default_rng(SEED)
    for task, mean in MEANS.items():
        covered = []
        for size in SIZES:
            drawn = rng.choice(GRID, (INTERVALS, size), p=shares(task, 0.0))
            sizes = np.full(INTERVALS, float(size))
            low, high = interval(sizes, drawn.sum(axis=1), (drawn**2).sum(axis=1))
            covered.append(float(np.mean((low <= mean) & (mean <= high))))
            miss = f"{task}, {size} answers: the interval holds the mean in {covered[-1]:.1%}, limit 94 %"
            report.limit(covered[-1] >= MIN_COVERAGE, miss)
        rows.append((f"{task}, {mean:.2f}", *covered))
    title = f"95 % intervals of a day that hold the true mean, {INTERVALS:,} days each"
    report.table(title, {"task, mean": "", **{f"{size} answers": ".1%" for size in SIZES}}, rows)


def _time(report: Report, options: Namespace) -> None:
    took = measured(options.rows, ASKED)
    report.line(
        f"{options.rows:,} rows of logs ({took.megabytes:,.0f} MB, {took.different:,} different answers) through "
        f"`tucano monitor` take {took.wall:.0f} s; limit {LIMIT:g} s."
    )
    report.limit(took.wall <= LIMIT, f"{options.rows:,} rows took {took.wall:.0f} s, limit {LIMIT:g} s")


PARTS: Final[Mapping[str, Callable[[Report, Namespace], None]]] = {
    "false": _false_alarms,
    "runs": _daily_runs,
    "beside": _beside,
    "drop": _drops,
    "intervals": _intervals,
    "time": _time,
}

if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
