"""Comparisons: false claims without a difference, power with one, coverage of intervals, and time.

Simulated scores in [0, 1] on a grid, most of it zero-heavy, through the deciding functions; 2,000 resamples each,
where a real comparison takes 10,000. Limits: of equally good models the gate promotes at most 5 %, and of a difference
that is many small gains and a few large losses at most 5 % are called better; 95 % intervals hold the true mean in 93
to 97 %, on all scenarios of a number of prompts together, and on each by itself give or take two standard errors; six
tasks, three seeds, four samples and 240 prompts a task are compared in under 5 seconds, and `tucano compare` of 65
pairs takes under 3, start included. Without a limit: the power at the V4.2 report's effects, next to that of
Wilcoxon's signed-rank test, and intervals over new trainings, for which three seeds are too few.
"""

import math
import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeVar

from benchmarks.harness import Report, map_in_processes, run_benchmark
from benchmarks.statistics.scenarios import COVERED, NULL_SPREADS, SEED_SPREADS, SKEWED, Answers, with_spread
from benchmarks.statistics.simulations import MARGIN, WIDE_MARGIN, Claim, Coverage, Null, Simulation, simulate
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
CLAIMS: Final = ("better", "sign-flip p < .05", "Wilcoxon p < .05")
COVERAGES: Final = tuple(f"{prompts}\n{name}" for prompts in PROMPTS for name in INTERVALS)
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

Counts = Mapping[str, int]
Key = TypeVar("Key")


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--only", choices=list(PARTS), action="append", help="run this part instead of all")
    parser.add_argument("--simulations", type=int, default=2_000, help="of each scenario with false claims")
    parser.add_argument("--processes", type=int, default=PROCESSES, help="at once")


def measure(report: Report, options: Namespace) -> None:
    """Run each part."""
    for name in options.only or PARTS:
        PARTS[name](report, options)


def _null(report: Report, options: Namespace) -> None:
    wanted = {
        (prompts, seeds, spread): Null(prompts, seeds, spread)
        for prompts in (65, 240)
        for seeds, spreads in NULL_SPREADS.items()
        for spread in spreads
    }
    count = options.simulations
    counts = _simulated("equally good models", wanted, count, options.processes)
    columns = ("promoted", "promoted, wide", "overall better", "a task better", "overall worse", "Wilcoxon")
    rows = []
    for (prompts, seeds, spread), found in counts.items():
        name = f"{prompts}, {seeds}, {spread:g}"
        rows.append((name, *(_percent(_share(found, column)) for column in columns)))
        for column in ("promoted", "promoted, wide"):
            promoted = _share(found, column)
            miss = f"of equally good models ({name}) the gate promotes {_percent(promoted)}, limit 5 %"
            report.limit(promoted <= MAX_FALSE, miss)
    title = "Equally good models on six tasks: what is claimed"
    report.table(title, ("prompts in all, seeds, luck of a seed", *columns), rows)
    report.line(
        f"{count:,} simulations each. The margin is {MARGIN:g}; wide: {WIDE_MARGIN:g}, so that the gate rests on its "
        "other conditions. Wilcoxon: its one-sided p overall is below .05. The luck of a training is the standard "
        "deviation of what its seed adds to all latent scores.\n"
    )


def _skewed(report: Report, options: Namespace) -> None:
    wanted = {prompts: Claim(SKEWED, prompts) for prompts in PROMPTS}
    counts = _simulated("skewed", wanted, options.simulations, options.processes)
    for prompts, found in counts.items():
        better = _share(found, "better")
        miss = f"a skewed loss on {prompts} prompts is called better in {_percent(better)}, limit 5 %"
        report.limit(better <= MAX_FALSE, miss)
    title = "80 % gain .05 and 20 % lose .25, a loss of .010: what is called better"
    report.table(title, ("prompts", *CLAIMS), [(str(prompts), *_claimed(found)) for prompts, found in counts.items()])
    report.line(f"{options.simulations:,} simulations each.\n")


def _power(report: Report, options: Namespace) -> None:
    wanted = {
        (name, prompts, spread): Claim(with_spread(base, tuned, spread), prompts)
        for name, (base, tuned, sizes) in EFFECTS.items()
        for spread in SPREADS
        for prompts in sizes
    }
    each = _fewer(options)
    counts = _simulated("power", wanted, each, options.processes)
    report.table(
        "The V4.2 report's effects: what is called better",
        ("effect, prompts, sd of the differences", *CLAIMS),
        [(f"{name}, {prompts}, {spread:.2f}", *_claimed(found)) for (name, prompts, spread), found in counts.items()],
    )
    report.line(
        f"{each:,} simulations each, one test each, before Holm's correction. The report states no spread of the "
        "differences: .18 is what its p of .0003 overall implies, .30 and .40 what its rewards' .34 to .40 make of "
        "correlated answers.\n"
    )


def _coverage(report: Report, options: Namespace) -> None:
    wanted = {(name, prompts): Coverage(scores, prompts) for name, scores in COVERED.items() for prompts in PROMPTS}
    each = _fewer(options)
    counts = _simulated("coverage", wanted, each, options.processes)
    together = {prompts: sum((counts[name, prompts] for name in COVERED), Counter[str]()) for prompts in PROMPTS}
    scenarios = {**{name: {prompts: counts[name, prompts] for prompts in PROMPTS} for name in COVERED}, "all": together}
    for name, by_prompts in scenarios.items():
        for prompts, found in by_prompts.items():
            share = _share(found, "stated")
            report.limit(
                not _is_beyond(share, found["simulations"], 0 if name == "all" else 2),
                f"{name}, {prompts} prompts: the interval holds the true mean in {_percent(share)}, limits 93-97 %",
            )
    rows = [(name, *_covered(by_prompts.values())) for name, by_prompts in scenarios.items()]
    report.table("Intervals that hold the true mean, one seed, in percent", ("scenario", *COVERAGES), rows)
    report.line(
        f"{each:,} simulations each: a standard error at 95 % of {100 * _error(0.95, each):.1f} percentage points. "
        "Stated: what a report says, each end the further of BCa at a widened level and of Student's t. Lower: the "
        "one-sided bound. Plain: BCa at its nominal level. Widened: BCa at the widened level.\n"
    )


def _seeds(report: Report, options: Namespace) -> None:
    wanted = {
        (spread, prompts): Coverage(Answers(0.486, 0.561, 0.65, spread), prompts, seeds=3)
        for spread in SEED_SPREADS
        for prompts in PROMPTS
    }
    each = _fewer(options)
    counts = _simulated("seeds", wanted, each, options.processes)
    rows = [(f"{spread:g}", *_covered(counts[spread, prompts] for prompts in PROMPTS)) for spread in SEED_SPREADS]
    title = "The same over new trainings, three seeds crossed with prompts, in percent"
    report.table(title, ("luck", *COVERAGES), rows)
    report.line(
        f"{each:,} simulations each, without a limit. Plain and widened resample prompts only, as if the seeds were "
        "all there are.\n"
    )


def _time(report: Report, _: Namespace) -> None:
    rows = []
    for name, limit in LIMITS.items():
        took = seconds(name)
        rows.append((name, f"{took / limit:.2f}", f"{limit:g} s"))
        report.limit(took <= limit, f"{name} took {took:.1f} s, limit {limit:g} s")
    report.table("Time, median of three", ("comparison", "share of the limit", "limit"), rows)


PARTS: Final[Mapping[str, Callable[[Report, Namespace], None]]] = {
    "null": _null,
    "skewed": _skewed,
    "power": _power,
    "coverage": _coverage,
    "seeds": _seeds,
    "time": _time,
}


def _fewer(options: Namespace) -> int:
    return max(1, int(options.simulations) // FEWER)


def _simulated(what: str, wanted: Mapping[Key, Simulation], count: int, processes: int) -> dict[Key, Counter[str]]:
    """Return the counts of each scenario."""
    sizes = [
        (key, (simulation, min(CHUNK, count - done), RESAMPLES, (SEED, len(what), number, done)))
        for number, (key, simulation) in enumerate(wanted.items())
        for done in range(0, count, CHUNK)
    ]
    counts: dict[Key, Counter[str]] = {key: Counter() for key in wanted}
    found = map_in_processes(simulate, [chunk for _, chunk in sizes], processes, what)
    for (key, _), each in zip(sizes, found, strict=True):
        counts[key] += each
    return counts


def _claimed(found: Counts) -> list[str]:
    return [_percent(_share(found, column)) for column in ("better", "sign-flip", "Wilcoxon")]


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


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
