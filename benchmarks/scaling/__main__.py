"""Reward by minutes at four times the local profile's steps and prompts: stock, as version 0.3 trained, and ours.

Both are the pipeline's training on one base and dataset, five seeds each, two trainings at once with a processor each,
stock and ours in turns; they differ in what samples and how the update is computed alone (`train.stock_generation`,
`train.stock_update`). Minutes are from the start of a training's process on: loading, preflight, steps, checkpoints and
validations are in them. No training stops early.

Limit: by the curves' means over the seeds, ours reaches stock's validation reward after its last step in at most a
third of the minutes that stock takes for it.

A training that has ended is kept; a benchmark that was stopped resumes with the next one. It takes hours.
"""

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Final

from benchmarks.harness import Report, add_overrides, run_benchmark, run_in_processes
from benchmarks.preemption.runs import make_request
from benchmarks.scaling.trainings import ARMS, OURS, STOCK, Outcome, Point, outcome_of
from schemas.config.profiles import load_config

STATE: Final = Path(".tucano") / "benchmark-scaling"
PROFILE: Final = "local"
SEEDS: Final = (1, 2, 3, 4, 5)
FACTOR: Final = 4.0
AT_ONCE: Final = 2
MARKS: Final = 12
"""Rows of the table of minutes."""
MAX_SHARE: Final = 1 / 3

Outcomes = Mapping[str, Mapping[int, Outcome]]


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS, help="of the trainings")
    parser.add_argument("--factor", type=float, default=FACTOR, help="of the profile's steps and prompts")
    add_overrides(parser)


def measure(report: Report, options: Namespace) -> None:
    """Train with every seed, stock and ours in turns, and compare."""
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    settings = [*_scaled(options.factor), *options.set]
    # Whatever the factor: no training stops before its last step.
    settings.append(f"train.patience={load_config(PROFILE, settings).train.max_steps}")
    request = make_request(PROFILE, settings, (STATE / "inputs").resolve(), "", "")
    jobs = {}
    for seed in options.seeds:
        for arm, changes in ARMS.items():
            recipe = load_config(PROFILE, [*settings, *changes]).train
            jobs[arm, seed] = arm, request.model_copy(update={"config": recipe, "seed": seed}), STATE
    found = run_in_processes(outcome_of, jobs, AT_ONCE, "trainings")
    report_outcomes(report, {arm: {seed: found[arm, seed] for seed in options.seeds} for arm in ARMS})


def _scaled(factor: float) -> list[str]:
    """Return the overrides that multiply the profile's steps, prompts and orders."""
    config = load_config(PROFILE, [])
    asked = config.synthesize.counts
    counts = ", ".join(f"{task}={round(factor * count)}" for task, count in asked.items())
    return [
        f"train.max_steps={round(factor * config.train.max_steps)}",
        f"synthesize.counts={{{counts}}}",
        f"synthesize.orders={round(factor * (config.synthesize.orders or sum(asked.values())))}",
    ]


def report_outcomes(report: Report, outcomes: Outcomes) -> None:
    """Print reward by minutes, and when ours is where stock ends; note the limit if it is missed."""
    whole = max(outcome.curve[-1].seconds for of_arm in outcomes.values() for outcome in of_arm.values())
    before = fmean(outcome.before for of_arm in outcomes.values() for outcome in of_arm.values())
    rows = []
    for mark in range(1, MARKS + 1):
        seconds = whole * mark / MARKS
        cells = [_cell([reward_by(each, seconds) for each in of_arm.values()]) for of_arm in outcomes.values()]
        rows.append((f"{seconds / 60:.1f}", *cells))
    title = f"Validation reward by minutes, mean of {len(outcomes[STOCK])} seeds (lowest, highest); {before:.3f} before"
    report.table(title, ("minutes", *outcomes), rows)
    lines = {seed: reached(outcomes[STOCK][seed].curve, outcomes[OURS][seed].curve) for seed in outcomes[STOCK]}
    mean = reached(*(mean_curve([each.curve for each in outcomes[arm].values()]) for arm in (STOCK, OURS)))
    report.table(
        "Minutes to stock's validation reward after its last step",
        ("seed", "its reward", "stock", "ours", "ours / stock"),
        [
            *((str(seed), *_shown(*line)) for seed, line in lines.items()),
            None,
            ("mean curve", *_shown(*mean)),
        ],
    )
    reward, stock, ours = mean
    met = ours is not None and ours <= MAX_SHARE * stock
    taken = "never" if ours is None else f"after {ours / 60:.1f} minutes"
    report.limit(met, f"ours reaches {reward:.3f} {taken}, stock after {stock / 60:.1f}; limit a third of that")


def reward_by(outcome: Outcome, seconds: float) -> float:
    """Return the last validation reward until then."""
    return next((point.reward for point in reversed(outcome.curve) if point.seconds <= seconds), outcome.before)


def mean_curve(curves: Sequence[Sequence[Point]]) -> list[Point]:
    """Return the curve of the means over the seeds, step by step."""
    return [
        Point(
            step=same[0].step,
            seconds=fmean(point.seconds for point in same),
            reward=fmean(point.reward for point in same),
        )
        for same in zip(*curves, strict=True)
    ]


def reached(stock: Sequence[Point], ours: Sequence[Point]) -> tuple[float, float, float | None]:
    """Return stock's last reward, the seconds in which stock first had it, and those of ours; None if never."""
    reward = stock[-1].reward
    by_stock = next(point.seconds for point in stock if point.reward >= reward)
    return reward, by_stock, next((point.seconds for point in ours if point.reward >= reward), None)


def _cell(rewards: Sequence[float]) -> str:
    return f"{fmean(rewards):.3f} ({min(rewards):.3f}, {max(rewards):.3f})"


def _shown(reward: float, stock: float, ours: float | None) -> tuple[str, ...]:
    minutes, share = ("-", "-") if ours is None else (f"{ours / 60:.1f}", f"{ours / stock:.2f}")
    return f"{reward:.3f}", f"{stock / 60:.1f}", minutes, share


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
