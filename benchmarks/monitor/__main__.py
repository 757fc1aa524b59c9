"""Monitoring: false alarms without drift, days until a drop is found, and time for a million answers.

Simulated months of 1,000 requests a day go through the deciding function, with the default configuration (one false
alarm in ten years), including the fixed floor. Limits: without drift at most one month in 20 has an alarm, seen at once
and daily through a moving window; a drop of .10 in the mean reward a week after a promotion, and on its very day, is
found within 3 days in 95 % of the simulations, where the evaluation had 240 prompts a task (of 17, as the source
project had, the shares are shown without a limit). A million rows through `tucano monitor` take under 3 minutes, start
included. The rates of single series and the daily intervals are asserted by `tests/tasks/monitor`.
"""

import math
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

import numpy as np

from benchmarks.harness import Report, map_in_processes, run_benchmark
from benchmarks.monitor.logs import ASKED, LIMIT, ROWS, measured
from benchmarks.monitor.simulated import DAYS, Month

SEED: Final = 20_261
MAX_FALSE: Final = 1 / 20
WITHIN: Final = 3
MIN_FOUND: Final = 0.95
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


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--only", choices=list(PARTS), action="append", help="run this part instead of all")
    parser.add_argument("--months", type=int, default=400, help="without drift, of each kind")
    parser.add_argument("--quarters", type=int, default=7, help="of daily runs, of each kind")
    parser.add_argument("--drops", type=int, default=300, help="of each kind")
    parser.add_argument("--rows", type=int, default=ROWS, help="of the logs")


def measure(report: Report, options: Namespace) -> None:
    """Run each part."""
    for name in options.only or PARTS:
        PARTS[name](report, options)


def _without_drift(
    report: Report,
    title: str,
    months: Mapping[str, Month],
    find: Callable[[Month, Sequence[int]], int | None],
    first: int,
    count: int,
) -> None:
    rows = []
    for number, (name, month) in enumerate(months.items(), first):
        streams = [(SEED, number, each) for each in range(count)]
        alarms = sum(day is not None for day in map_in_processes(partial(find, month), streams, name))
        of = count * month.days // DAYS
        rows.append((name, of, alarms))
        report.limit(alarms <= MAX_FALSE * of, f"{name}: {alarms} false alarms in {of} months, limit 1 in 20")
    report.table(title, {"evaluation": "", "months": ",", "with an alarm": ""}, rows)


def _false_alarms(report: Report, options: Namespace) -> None:
    _without_drift(report, "Months without drift", FALSE, Month.alarm, 0, options.months)


def _daily_runs(report: Report, options: Namespace) -> None:
    title = "Quarters without drift, each day's run over its last 35 days"
    _without_drift(report, title, RUNS, Month.daily_alarm, 200, options.quarters)


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


def _time(report: Report, options: Namespace) -> None:
    seconds, megabytes = measured(options.rows)
    report.line(
        f"{options.rows:,} rows of logs ({megabytes:,.0f} MB, {options.rows // ASKED:,} different answers) through "
        f"`tucano monitor` take {seconds:.0f} s; limit {LIMIT:g} s."
    )
    report.limit(seconds <= LIMIT, f"{options.rows:,} rows took {seconds:.0f} s, limit {LIMIT:g} s")


PARTS: Final[Mapping[str, Callable[[Report, Namespace], None]]] = {
    "false": _false_alarms,
    "runs": _daily_runs,
    "drop": _drops,
    "time": _time,
}

if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
