"""Scoreboard: what every model that was run scores on its test prompts, from the published weights to GRPO.

A run's answers are kept with the weights and the settings that they are of, and scored here by this code's rewards, in
seconds; so this is run again whenever a reward changes. Answers of other weights or of another profile than the shipped
ones are refused: run `make retrain` with `--set train.max_steps=10`, or `make real-model`, and then this with `--keep`.

    python -m benchmarks.scoreboard --state .tucano --profile my.toml

shows a run of your own beside them. Runs of one profile answer the same prompts; profiles with other tasks or counts do
not. The ladder's models are means of three training seeds, guided as answers are served; it keeps figures, not answers.
"""

import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from benchmarks.harness import Report, add_overrides, read_result, run_benchmark
from benchmarks.scoreboard.runs import Run, keep, kept_rows, read_runs, rescored, rows_of_state
from schemas.config.config import Config
from schemas.config.profiles import known_profiles, load_config
from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce.registry import joint_version

RUNGS: Final = {
    "base": "published",
    "base-guided": "published, guided",
    "sft": "sft",
    "tuned": "GRPO",
    "bag-of-words": "bag of words",
}
"""Shown names of a run's rungs, by their names in the run."""
LADDERS: Final = {"local": "training", "real": "training_real"}
"""Kept results of the ladder, by the profile that it extends."""
ARMS: Final = {"sft": "sft", "rft": "rft", "ours": "GRPO"}
SHOWN_OF_A_DIGEST: Final = 12

Cells = Mapping[TaskName, tuple[float, float]]
"""Reward and ground truth, in [0, 1], by task."""


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--state", type=Path, help="state folder of a run to show beside the kept ones")
    parser.add_argument("--profile", default="local", help="of that run: a name, or a path")
    add_overrides(parser)
    parser.add_argument("--keep", action="store_true", help="keep that run, which has just ended on this code")


def measure(report: Report, options: Namespace) -> None:
    """Score the answers of all runs, and print them in one table."""
    rows: list[Sequence[str] | None] = []
    if options.state:
        answered = rows_of_state(options.state)
        if options.keep:
            keep(options.profile, options.set, answered)
        else:
            rows += _rows_of_run(options.profile, load_config(options.profile, options.set), answered)
    runs = read_runs()
    for profile in dict.fromkeys((*runs, *LADDERS)):
        rows += [None] if rows else []
        if run := runs.get(profile):
            rows += _rows_of_run(profile, load_config(profile, run.overrides), kept_rows(profile, run))
        rows += _rows_of_ladder(profile)
    report.table(
        "Reward and right answers (ground truth) of each, in hundredths",
        ("profile", "answers by", "all", *TASK_NAMES),
        rows,
        left=("answers by",),
    )
    report.line("\n".join(identities(runs)))
    report.line(f"No one has run more of: {', '.join(name for name in known_profiles() if name not in runs)}.")


def identities(runs: Mapping[str, Run]) -> list[str]:
    """Return a line on each run, with digests that must be those of what is shipped."""
    rewards = joint_version()[:SHOWN_OF_A_DIGEST]
    return [
        f"{' '.join((profile, *run.overrides))}: weights {run.weights[:SHOWN_OF_A_DIGEST]}, "
        f"settings {run.settings[:SHOWN_OF_A_DIGEST]}, rewards {rewards}"
        for profile, run in runs.items()
    ]


def _rows_of_run(profile: str, config: Config, answered: Mapping[str, Any]) -> Iterator[list[str]]:
    found = rescored(config, answered)
    tasks = found["base"].keys()
    # Without steps of GRPO the policy is the one after fine-tuning.
    rungs = RUNGS if config.train.max_steps else {**RUNGS, "tuned": "sft", "sft": ""}
    for rung, name in rungs.items():
        if name and (cells := found.get(rung)):
            yield [profile if rung == "base" else "", name, *_cells(cells, whole=cells.keys() == tasks)]


def _rows_of_ladder(profile: str) -> Iterator[list[str]]:
    """Yield the arms of a kept ladder, by its printed tables."""
    if (result := read_result(LADDERS.get(profile, ""))) is None:
        return
    rewards, truths = (table_of(result.printed, f"By task, {name}") for name in ("test reward", "ground truth"))
    tasks = [task for task in TASK_NAMES if task in rewards]
    for arm, name in ARMS.items():
        cells = {task: (float(rewards[task][arm]), float(truths[task][arm])) for task in tasks}
        yield [profile if arm == "sft" else "", f"ladder: {name}", *_cells(cells, whole=True)]


def _cells(cells: Cells, *, whole: bool) -> list[str]:
    def shown(pair: tuple[float, float]) -> str:
        return " ".join(f"{100 * value:.0f}" for value in pair)

    rewards, truths = zip(*cells.values(), strict=True)
    overall = shown((fmean(rewards), fmean(truths))) if whole else "–"
    return [overall, *(shown(cells[task]) if task in cells else "–" for task in TASK_NAMES)]


def table_of(printed: Sequence[str], title: str) -> dict[str, dict[str, str]]:
    """Return the cells of a printed table by the first column and the name of the column."""
    lines = [re.split(r" {2,}", line.strip()) for line in printed[printed.index(title) + 1 :]]
    names = next(cells for cells in lines if len(cells) > 1)
    found = {}
    for cells in lines[lines.index(names) + 2 :]:
        if len(cells) != len(names):
            break
        found[cells[0]] = dict(zip(names, cells, strict=True))
    return found


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
