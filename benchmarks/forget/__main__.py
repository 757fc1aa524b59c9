"""Forgetting by rewinding, compared with trainings that never saw the person: every bit, the steps, the minutes.

A tiny model is trained on the CPU; then each of 20 random people with rows that train is forgotten by itself. The rival
is a training from the start on the same data without them. Compared are the sha256 of every file of the policy (the
adapter, the choice by validation, all rollouts) and of the last checkpoint (the optimizer, the random generators, the
position among the prompts).

Limits: all are equal, bit for bit; and a membership test is at chance: the interval of the chance that a forgotten
row's loss is below a never-seen row's holds one half.
"""

import sys
import tempfile
from argparse import ArgumentParser, Namespace
from pathlib import Path
from random import Random
from statistics import fmean

from benchmarks.forget.membership import Interval, Losses, auc
from benchmarks.forget.trial import Setting, Trial, forget, never_seen, prepare, trained_policy
from benchmarks.harness import Report, progress, run_benchmark
from schemas.config.profiles import load_config
from tasks.policy.adapters import ADAPTER_FOLDER

PROFILE = Path(__file__).with_name("forget.toml")
PEOPLE = 20
SEED = 3
DRAWS = 2000


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--people", type=int, default=PEOPLE, help="people who are forgotten, each by itself")


def measure(report: Report, options: Namespace) -> None:
    """Train, forget, and compare."""
    config = load_config(str(PROFILE))
    with tempfile.TemporaryDirectory() as folder:
        setting = prepare(Path(folder), config)
        chosen = Random(SEED).sample(setting.people(), options.people)
        trials = [forget(setting, customer) for customer in progress(chosen, "people")]
        _equality(report, trials, config.train.max_steps)
        _membership(report, setting, trials)


def _equality(report: Report, trials: list[Trial], steps: int) -> None:
    equal = [trial for trial in trials if not trial.differences]
    again = [steps - trial.from_step for trial in trials]
    report.table(
        f"{len(trials)} people, each forgotten by itself; a training has {steps} steps",
        ("", "rewound", "never saw them"),
        [
            ("equal, bit for bit", f"{len(equal)} of {len(trials)}", ""),
            ("files compared of each", f"{min(trial.compared for trial in trials)}", ""),
            ("rows that trained, mean", f"{fmean(trial.rows for trial in trials):.1f}", ""),
            ("people whose rows were never drawn", f"{again.count(0)}", ""),
            ("steps trained again, mean share", f"{fmean(again) / steps:.0%}", "100%"),
            (
                "minutes, mean",
                f"{fmean(trial.seconds for trial in trials) / 60:.2f}",
                f"{fmean(trial.seconds_anew for trial in trials) / 60:.2f}",
            ),
        ],
    )
    names = sorted({name for trial in trials for name in trial.differences})
    missed = f"{len(trials) - len(equal)} of {len(trials)} differ, in {', '.join(names)}"
    report.limit(len(equal) == len(trials), missed)


def _membership(report: Report, setting: Setting, trials: list[Trial]) -> None:
    losses, others = Losses(setting.root / "base"), never_seen(setting)
    forgotten, remembered = [], []
    seen_others = losses.of(trained_policy(setting) / ADAPTER_FOLDER, others)
    for trial in trials:
        new_others = losses.of(trial.policy / ADAPTER_FOLDER, others)
        of_new = losses.of(trial.policy / ADAPTER_FOLDER, trial.theirs)
        of_old = losses.of(trained_policy(setting) / ADAPTER_FOLDER, trial.theirs)
        for row, new, old in zip(trial.theirs, of_new, of_old, strict=True):
            same = [place for place, other in enumerate(others) if other.task == row.task]
            forgotten.append((new, [new_others[place] for place in same]))
            remembered.append((old, [seen_others[place] for place in same]))
    after, before = (auc(pairs, DRAWS, SEED) for pairs in (forgotten, remembered))
    report.table(
        f"membership test: {len(forgotten)} rows of these people among {len(others)} rows that no training reads",
        ("model", "AUC", "95 % interval"),
        [
            ("that saw them", f"{before.value:.2f}", _shown(before)),
            ("that forgot them", f"{after.value:.2f}", _shown(after)),
        ],
    )
    missed = f"the membership test tells who was forgotten: AUC {after.value:.2f}, {_shown(after)}"
    report.limit(after.low <= 0.5 <= after.high, missed)


def _shown(interval: Interval) -> str:
    return f"{interval.low:.2f} to {interval.high:.2f}"


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
