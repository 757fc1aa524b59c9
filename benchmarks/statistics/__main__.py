"""Comparisons: false claims without a difference, power with one, coverage of intervals, and time.

Simulated scores in [0, 1] on a grid, most of it zero-heavy, through the deciding functions; 2,000 resamples each,
where a real comparison takes 10,000. Limits: of equally good models the gate promotes at most 5 %, and of a difference
that is many small gains and a few large losses at most 5 % are called better; 95 % intervals hold the true mean in 93
to 97 %, on all scenarios of a number of prompts together, and on each by itself give or take two standard errors; six
tasks, three seeds, four samples and 240 prompts a task are compared in under 5 seconds, and `tucano compare` of 65
pairs takes under 3, start included. Without a limit: the power at the V4.2 report's effects, next to that of
Wilcoxon's signed-rank test, and intervals over new trainings, for which three seeds are too few.
"""

import argparse
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from typing import Final, TypeVar

from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.statistics.scenarios import COVERED, NULL_SPREADS, SEED_SPREADS, SKEWED, Answers, with_spread
from benchmarks.statistics.simulations import MARGIN, WIDE_MARGIN, Claim, Coverage, Null
from benchmarks.statistics.timing import LIMITS, seconds

SEED: Final = 20_260
RESAMPLES: Final = 2_000
CHUNK: Final = 50
PROCESSES: Final = 2
FEWER: Final = 2
"""Divisor of the number of simulations of coverage and power."""
PROMPTS: Final = (20, 65, 240)
MAX_FALSE: Final = 0.05
COVERAGE: Final = (0.93, 0.97)
INTERVALS: Final = ("stated", "lower", "plain", "widened")
"""A report's interval and its one-sided lower bound; for comparison BCa at its nominal and at its widened level."""
EFFECTS: Final[Mapping[str, tuple[float, float, tuple[int, ...]]]] = {
    "extraction +.164": (0.558, 0.722, (15, 17, 20)),
    "insights +.201": (0.400, 0.601, (15, 17, 20)),
    "overall +.075": (0.486, 0.561, (65,)),
}
"""The V4.2 report's mean scores of base and tuned, and the numbers of prompts that it had."""
SPREADS: Final = (0.18, 0.30, 0.40)
"""Standard deviations of the differences, which the V4.2 report does not state. Its p of .0003 with a mean of .075 of
65 is 3.43 standard errors, if the test is taken for one of the mean: .18. Rewards of its .34 to .40 differ by .30 to
.40 where two answers to a prompt are correlated by .4 to .6."""

Simulation = Null | Claim | Coverage
Counts = Mapping[str, int]
Key = TypeVar("Key")


def main() -> int:
    """Run the benchmark; the exit code says whether every limit was met."""
    parts: Mapping[str, Callable[[int, int], list[str]]] = {
        "null": _null,
        "skewed": _skewed,
        "power": _power,
        "coverage": _coverage,
        "seeds": _seeds,
        "time": lambda _, __: _time(),
    }
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=list(parts), action="append", help="run this part (default: all)")
    parser.add_argument(
        "--simulations", type=int, default=2_000, help="of each scenario with false claims (default: %(default)s)"
    )
    parser.add_argument("--processes", type=int, default=PROCESSES, help="at once (default: %(default)s)")
    arguments = parser.parse_args()
    misses = [
        miss for name in arguments.only or parts for miss in parts[name](arguments.simulations, arguments.processes)
    ]
    for miss in misses:
        print(f"MISSED: {miss}")
    return 1 if misses else 0


def _null(count: int, processes: int) -> list[str]:
    wanted = {
        (prompts, seeds, spread): Null(prompts, seeds, spread)
        for prompts in (65, 240)
        for seeds, spreads in NULL_SPREADS.items()
        for spread in spreads
    }
    counts = _simulated("equally good models", wanted, count, processes)
    columns = ("promoted", "promoted, wide", "overall better", "a task better", "overall worse", "Wilcoxon")
    table = _table("Equally good models on six tasks: what is claimed", "prompts in all, seeds, luck of a seed")
    for column in columns:
        table.add_column(column, justify="right")
    misses = []
    for (prompts, seeds, spread), found in counts.items():
        name = f"{prompts}, {seeds}, {spread:g}"
        table.add_row(name, *(_percent(_share(found, column)) for column in columns))
        misses += [
            f"of equally good models ({name}) the gate promotes {_percent(_share(found, column))}, limit 5 %"
            for column in ("promoted", "promoted, wide")
            if _share(found, column) > MAX_FALSE
        ]
    _print(table)
    print(
        f"{count:,} simulations each. The margin is {MARGIN:g}; wide: {WIDE_MARGIN:g}, so that the gate rests on its "
        "other conditions.\nWilcoxon: its one-sided p overall is below .05. The luck of a training is the standard "
        "deviation of what\nits seed adds to all latent scores.\n"
    )
    return misses


def _skewed(count: int, processes: int) -> list[str]:
    counts = _simulated("skewed", {prompts: Claim(SKEWED, prompts) for prompts in PROMPTS}, count, processes)
    table = _claims("80 % gain .05 and 20 % lose .25, a loss of .010: what is called better", "prompts")
    for prompts, found in counts.items():
        table.add_row(str(prompts), *_claimed(found))
    _print(table)
    print(f"{count:,} simulations each.\n")
    return [
        f"a skewed loss on {prompts} prompts is called better in {_percent(_share(found, 'better'))}, limit 5 %"
        for prompts, found in counts.items()
        if _share(found, "better") > MAX_FALSE
    ]


def _power(count: int, processes: int) -> list[str]:
    wanted = {
        (name, prompts, spread): Claim(with_spread(base, tuned, spread), prompts)
        for name, (base, tuned, sizes) in EFFECTS.items()
        for spread in SPREADS
        for prompts in sizes
    }
    counts = _simulated("power", wanted, max(1, count // FEWER), processes)
    table = _claims("The V4.2 report's effects: what is called better", "effect, prompts, sd of the differences")
    for (name, prompts, spread), found in counts.items():
        table.add_row(f"{name}, {prompts}, {spread:.2f}", *_claimed(found))
    _print(table)
    print(
        f"{max(1, count // FEWER):,} simulations each, one test each, before Holm's correction. The report states no "
        "spread of the differences: .18 is\nwhat its p of .0003 overall implies, .30 and .40 what its rewards' .34 to "
        ".40 make of correlated answers.\n"
    )
    return []


def _coverage(count: int, processes: int) -> list[str]:
    wanted = {(name, prompts): Coverage(scores, prompts) for name, scores in COVERED.items() for prompts in PROMPTS}
    counts = _simulated("coverage", wanted, max(1, count // FEWER), processes)
    together = {prompts: sum((counts[name, prompts] for name in COVERED), Counter[str]()) for prompts in PROMPTS}
    table = _intervals("Intervals that hold the true mean, one seed, in percent", "scenario")
    rows = {**{name: {prompts: counts[name, prompts] for prompts in PROMPTS} for name in COVERED}, "all": together}
    misses = []
    for name, by_prompts in rows.items():
        table.add_row(name, *_covered(by_prompts.values()))
        for prompts, found in by_prompts.items():
            errors = 0 if name == "all" else 2
            if _is_beyond(_share(found, "stated"), found["simulations"], errors):
                share = _percent(_share(found, "stated"))
                misses.append(f"{name}, {prompts} prompts: the interval holds the true mean in {share}, limits 93-97 %")
    _print(table)
    each = max(1, count // FEWER)
    print(
        f"{each:,} simulations each: a standard error at 95 % of {100 * _error(0.95, each):.1f} percentage points.\n"
        "Stated: what a report says, each end the further of BCa at a widened level and of Student's t. Lower: the "
        "one-sided\nbound. Plain: BCa at its nominal level. Widened: BCa at the widened level.\n"
    )
    return misses


def _seeds(count: int, processes: int) -> list[str]:
    wanted = {
        (spread, prompts): Coverage(Answers(0.486, 0.561, 0.65, spread), prompts, seeds=3)
        for spread in SEED_SPREADS
        for prompts in PROMPTS
    }
    counts = _simulated("seeds", wanted, max(1, count // FEWER), processes)
    table = _intervals("The same over new trainings, three seeds crossed with prompts, in percent", "luck")
    for spread in SEED_SPREADS:
        table.add_row(f"{spread:g}", *_covered(counts[spread, prompts] for prompts in PROMPTS))
    _print(table)
    print(
        f"{max(1, count // FEWER):,} simulations each, without a limit. Plain and widened resample prompts only, as if "
        "the seeds were all there are.\n"
    )
    return []


def _time() -> list[str]:
    table = _table("Time, median of three", "comparison")
    for column in ("share of the limit", "limit"):
        table.add_column(column, justify="right")
    misses = []
    for name, limit in LIMITS.items():
        took = seconds(name)
        table.add_row(name, f"{took / limit:.2f}", f"{limit:g} s")
        misses += [f"{name} took {took:.1f} s, limit {limit:g} s"] if took > limit else []
    _print(table)
    return misses


def _simulated(what: str, wanted: Mapping[Key, Simulation], count: int, processes: int) -> dict[Key, Counter[str]]:
    """Return the counts of each scenario; dividing the simulations among processes changes none."""
    chunks = [
        (key, min(CHUNK, count - done), (SEED, len(what), number, done))
        for number, key in enumerate(wanted)
        for done in range(0, count, CHUNK)
    ]
    counts: dict[Key, Counter[str]] = {key: Counter() for key in wanted}
    with ProcessPoolExecutor(processes) as pool:
        found = [pool.submit(wanted[key].simulate, size, RESAMPLES, stream) for key, size, stream in chunks]
        for (key, *_), each in track(
            list(zip(chunks, found, strict=True)), description=what, console=Console(stderr=True)
        ):
            counts[key] += each.result()
    return counts


def _claims(title: str, first: str) -> Table:
    table = _table(title, first)
    for column in ("better", "sign-flip p < .05", "Wilcoxon p < .05"):
        table.add_column(column, justify="right")
    return table


def _claimed(found: Counts) -> list[str]:
    return [_percent(_share(found, column)) for column in ("better", "sign-flip", "Wilcoxon")]


def _intervals(title: str, first: str) -> Table:
    table = _table(title, first)
    for prompts in PROMPTS:
        for column in INTERVALS:
            table.add_column(f"{prompts}\n{column}", justify="right")
    return table


def _covered(found: Iterable[Counts]) -> list[str]:
    return [f"{100 * _share(each, column):.1f}" for each in found for column in INTERVALS]


def _is_beyond(covered: float, count: int, errors: int) -> bool:
    low, high = COVERAGE
    return covered < low - errors * _error(low, count) or covered > high + errors * _error(high, count)


def _share(found: Counts, what: str) -> float:
    return found[what] / found["simulations"]


def _error(share: float, count: int) -> float:
    return math.sqrt(share * (1 - share) / count)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _table(title: str, first: str) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column(first)
    return table


def _print(table: Table) -> None:
    Console(width=100).print(table)


if __name__ == "__main__":
    sys.exit(main())
