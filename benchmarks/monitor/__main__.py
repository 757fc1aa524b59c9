"""Monitoring: false alarms without drift, days until a drop is found, and time for a million answers.

Simulated months of 1,000 requests a day go through the deciding function, with the default configuration (one false
alarm in ten years), including the fixed floor. Limits: without drift at most one month in 20 has an alarm, seen at once
and daily through a moving window (the first alarm of each year); a drop of .10 in the mean reward a
week after a promotion, and on its very day, is found within 3 days in 95 % of the simulations, where the evaluation had
240 prompts a task. Of 17 prompts a task, as the source project had them, the shares are shown without a limit. The
daily intervals' coverage has a limit of 94 %, of each task by itself. A million rows through `tucano monitor` take
under 3 minutes, start included.
"""

import argparse
import math
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from typing import Final

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy.stats import beta
from scipy.stats import t as student

from benchmarks.monitor.logs import ASKED, LIMIT, ROWS, measured
from benchmarks.monitor.months import DAYS, GRID, MEANS, Month, shares
from tasks.monitor.mean_error import interval

SEED: Final = 20_261
PROCESSES: Final = 2
MAX_FALSE: Final = 1 / 20
WITHIN: Final = 3
MIN_FOUND: Final = 0.95
MIN_COVERAGE: Final = 0.94
FALSE: Final[Mapping[str, tuple[Month, int]]] = {
    "240 prompts a task": (Month(240), 1),
    "17 prompts a task": (Month(17), 1),
    "240, each day's means differ by .02": (Month(240, wander=0.02), 8),
    "240, 30,000 requests a day": (Month(240, requests=30_000), 8),
}
"""Months without drift; the divisor says how many times fewer are simulated."""
YEAR: Final = 365
YEARS: Final[Mapping[str, Month]] = {
    "240 prompts a task": Month(240, days=YEAR),
    "17 prompts a task": Month(17, days=YEAR),
    "240, each day's means differ by .02": Month(240, wander=0.02, days=YEAR),
}
"""Years without drift, in which each day's run reads the last 35 days."""
DROPS: Final[Mapping[str, tuple[Month, bool]]] = {
    "240 prompts, after a week": (Month(240, drop=0.10, drop_day=7, days=12), True),
    "240 prompts, on the first day": (Month(240, drop=0.10, days=5), True),
    "17 prompts, after a week": (Month(17, drop=0.10, drop_day=7, days=12), False),
    "17 prompts, after three weeks": (Month(17, drop=0.10, drop_day=21, days=26), False),
    "17 prompts, on the first day": (Month(17, drop=0.10, days=5), False),
    "240 prompts, .05 after a week": (Month(240, drop=0.05, drop_day=7, days=21), False),
}
"""Months with a drop, and whether the limit holds for them."""
SHOWN_DAYS: Final = (1, 2, 3, 5)
SIZES: Final = (5, 10, 30, 170)
INTERVALS: Final = 20_000


def main() -> int:
    """Run the benchmark; the exit code says whether every limit was met."""
    parts: Mapping[str, Callable[[argparse.Namespace], list[str]]] = {
        "false": _false_alarms,
        "runs": _daily_runs,
        "drop": _drops,
        "intervals": _intervals,
        "time": _time,
    }
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=list(parts), action="append", help="run this part (default: all)")
    parser.add_argument("--months", type=int, default=2_000, help="without drift, of each kind (default: %(default)s)")
    parser.add_argument("--years", type=int, default=3, help="of daily runs, of each kind (default: %(default)s)")
    parser.add_argument("--drops", type=int, default=500, help="of each kind (default: %(default)s)")
    parser.add_argument("--rows", type=int, default=ROWS, help="of the logs (default: %(default)s)")
    parser.add_argument(
        "--asked", type=int, default=ASKED, help="how often each different answer is in the logs (default: %(default)s)"
    )
    parser.add_argument("--processes", type=int, default=PROCESSES, help="at once (default: %(default)s)")
    arguments = parser.parse_args()
    misses = [miss for name in arguments.only or parts for miss in parts[name](arguments)]
    for miss in misses:
        print(f"MISSED: {miss}")
    return 1 if misses else 0


def _false_alarms(arguments: argparse.Namespace) -> list[str]:
    table = _table(f"Months of {DAYS} days without drift", "evaluation")
    for column in ("months", "with an alarm", "months between two", "at least (95 %)"):
        table.add_column(column, justify="right")
    misses = []
    for number, (name, (month, fewer)) in enumerate(FALSE.items()):
        months = max(1, arguments.months // fewer)
        alarms = sum(each is not None for each in _simulated(name, month, months, number, arguments))
        # Clopper and Pearson's upper bound; with no alarm at all it is nearly 3 / months.
        highest = float(beta.ppf(0.95, alarms + 1, months - alarms))
        between = f"{months / alarms:,.0f}" if alarms else "none seen"
        table.add_row(name, f"{months:,}", str(alarms), between, f"{1 / highest:,.0f}")
        if alarms > MAX_FALSE * months:
            misses.append(f"{name}: {alarms} of {months} months have a false alarm, limit 1 in 20")
    _print(table)
    return misses


def _daily_runs(arguments: argparse.Namespace) -> list[str]:
    """Measure whether daily runs, each over other days, make alarms that one run does not."""
    table = _table("Years without drift, each day's run over its last 35 days", "evaluation")
    for column in ("months", "years with an alarm", "months between two, at least (95 %)", "highest evidence"):
        table.add_column(column, justify="right")
    misses = []
    for number, (name, year) in enumerate(YEARS.items()):
        streams = [(SEED, 200 + number, each) for each in range(arguments.years)]
        with ProcessPoolExecutor(arguments.processes) as pool:
            runs = pool.map(year.daily_runs, streams)
            years = list(track(runs, description=name, total=arguments.years, console=Console(stderr=True)))
        alarms = sum(each.alarm is not None for each in years)
        months = arguments.years * YEAR // DAYS
        highest = float(beta.ppf(0.95, alarms + 1, months - alarms))
        evidence = max(each.highest for each in years)
        table.add_row(name, f"{months:,}", str(alarms), f"{1 / highest:,.0f}", f"{evidence:.1g}")
        if alarms > MAX_FALSE * months:
            misses.append(f"{name}: {alarms} false alarms in {months} months of daily runs, limit 1 in 20")
    _print(table)
    return misses


def _drops(arguments: argparse.Namespace) -> list[str]:
    table = _table(f"A drop of .10 at 1,000 requests a day, {arguments.drops:,} of each: found", "evaluation, drop")
    for day in SHOWN_DAYS:
        table.add_column(f"within {day} d", justify="right")
    for share in (80, 90, 100):
        table.add_column(f"{share} % in", justify="right")
    misses = []
    for number, (name, (month, is_limited)) in enumerate(DROPS.items()):
        found = _simulated(name, month, arguments.drops, 100 + number, arguments)
        # An alarm before the drop does not count.
        days = np.array([math.inf if day is None else day - month.drop_day + 1.0 for day in found])
        days[days < 1] = math.inf
        within = {day: float(np.mean(days <= day)) for day in (*SHOWN_DAYS, WITHIN)}
        quantiles = [float(np.quantile(days, share, method="inverted_cdf")) for share in (0.8, 0.9, 1.0)]
        most = month.days - month.drop_day
        table.add_row(
            name,
            *(f"{100 * within[day]:.1f} %" for day in SHOWN_DAYS),
            *(f"{day:.0f} d" if math.isfinite(day) else f"> {most} d" for day in quantiles),
        )
        if is_limited and within[WITHIN] < MIN_FOUND:
            misses.append(f"{name}: found within {WITHIN} days in {within[WITHIN]:.1%}, limit 95 %")
    _print(table)
    return misses


def _simulated(what: str, month: Month, count: int, stream: int, arguments: argparse.Namespace) -> list[int | None]:
    """Return the first alarm of each month; dividing the months among processes changes none."""
    streams = [(SEED, stream, number) for number in range(count)]
    with ProcessPoolExecutor(arguments.processes) as pool:
        found = pool.map(month.alarm, streams, chunksize=20)
        return list(track(found, description=what, total=count, console=Console(stderr=True)))


def _intervals(_: argparse.Namespace) -> list[str]:
    table = _table("95 % intervals that hold the true mean, in percent: stated (Student's t by itself)", "task, mean")
    for size in SIZES:
        table.add_column(f"{size} answers", justify="right")
    misses = []
    rng = np.random.default_rng(SEED)
    for task, mean in MEANS.items():
        cells = []
        for size in SIZES:
            drawn = rng.choice(GRID, (INTERVALS, size), p=shares(task, 0.0))
            stated, plain = _coverage(drawn, mean)
            cells.append(f"{100 * stated:.1f} ({100 * plain:.1f})")
            if stated < MIN_COVERAGE:
                misses.append(f"{task}, {size} answers: the interval holds the mean in {stated:.1%}, limit 94 %")
        table.add_row(f"{task}, {mean:.2f}", *cells)
    _print(table)
    print(f"{INTERVALS:,} days each.\n")
    return misses


def _coverage(drawn: np.ndarray[tuple[int, int], np.dtype[np.float64]], mean: float) -> tuple[float, float]:
    size = drawn.shape[1]
    total = drawn.sum(axis=1)
    low, high = interval(np.full(len(drawn), float(size)), total, (drawn**2).sum(axis=1))
    half = student.ppf(0.975, size - 1) * drawn.std(axis=1, ddof=1) / math.sqrt(size)
    plain = np.abs(total / size - mean) <= half
    return float(np.mean((low <= mean) & (mean <= high))), float(np.mean(plain))


def _time(arguments: argparse.Namespace) -> list[str]:
    took = measured(arguments.rows, arguments.asked)
    table = _table(f"{arguments.rows:,} rows of logs through `tucano monitor`", "step")
    table.add_column("seconds", justify="right")
    for name, seconds in took.steps.items():
        table.add_row(name, f"{seconds:.1f}")
    table.add_row("the rest: start, servers, records", f"{took.wall - sum(took.steps.values()):.1f}")
    table.add_row("all", f"{took.wall:.1f}")
    _print(table)
    print(f"{took.megabytes:,.0f} MB of JSON Lines, {took.different:,} different answers. Limit: {LIMIT:g} s.\n")
    return [f"{arguments.rows:,} rows took {took.wall:.0f} s, limit {LIMIT:g} s"] if took.wall > LIMIT else []


def _table(title: str, first: str) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column(first)
    return table


def _print(table: Table) -> None:
    Console(width=100).print(table)


if __name__ == "__main__":
    sys.exit(main())
