"""Ground truth that five trainings of the stand-in gain over their base, and over trainings by other rewards.

Trains with the profile `local` and seeds 1 to 5, as `tucano retrain` does; a finished state folder is used as it is.
With --other FOLDER, the state folder of the same run in another checkout is compared: its prompts and its base must be
the same, so that the rewards alone differ.

Shown for each task: the correctness of an answer (its strictest ground-truth metric) of base, of the constant (the
training split's most frequent reference answer) and of the trainings, with 95 % intervals over prompts and seeds, the
number of distinct answers, and every metric over all answers. It has no limit: it says what was learned, and what was
not.
"""

import subprocess
import sys
from argparse import ArgumentParser, Namespace
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Final, NamedTuple

import numpy as np

from benchmarks.harness import Report, run_benchmark
from schemas.documents import Rollout
from schemas.errors import InputError
from schemas.tables.prompts import TRAIN_FILE, read_prompts
from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce.registry import TASKS
from tasks.commerce.sql_qa.open_databases import open_databases
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.evaluate.answers.files import read_answers
from tasks.evaluate.ground_truth import metrics_of, truth_of
from tasks.evaluate.stats.resampling import mean_interval
from tasks.lineage.store.inventory import Inventory, read_inventory

STATE: Final = Path(".tucano") / "benchmark" / "truth_gained"
SEEDS: Final = (1, 2, 3, 4, 5)
RESAMPLES: Final = 10_000

Answers = Mapping[TaskName, Sequence[Rollout]]
"""By task, in the order of the test split."""


class Run(NamedTuple):
    """Answers of one run of the chain to the test split."""

    base: Answers
    tuned: Mapping[int, Answers]
    """By training seed."""
    constants: Mapping[TaskName, str]
    """The training split's most frequent reference answers."""
    databases: Databases


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--state", type=Path, default=STATE, help="state folder of the trainings")
    parser.add_argument("--other", type=Path, default=None, help="state folder of the trainings by other rewards")


def measure(report: Report, options: Namespace) -> None:
    """Train, and print what was gained."""
    if not options.state.exists():
        _retrain(options.state)
    run = _read(options.state)
    other = None if options.other is None else _read(options.other)
    if other is not None and [answer.completion for answer in _all(run.base)] != [
        answer.completion for answer in _all(other.base)
    ]:
        raise InputError(f"the base of {options.other} answers otherwise; compare trainings of one base")
    truths = {name: _truths(name, run) for name in TASK_NAMES}
    rows, beside = [], []
    for name in TASK_NAMES:
        found = truths[name]
        rows.append(
            (
                name,
                len(run.base[name]),
                fmean(found.constant),
                fmean(found.base),
                float(found.tuned.mean()),
                _difference(found.tuned - np.asarray(found.base)[:, None]),
                fmean(len({answer.completion for answer in tuned[name]}) for tuned in run.tuned.values()),
            )
        )
        if other is not None:
            earlier = _truths(name, other)
            beside.append(
                (
                    name,
                    float(earlier.tuned.mean()),
                    float(found.tuned.mean()),
                    _difference(found.tuned - earlier.tuned),
                    fmean(len({answer.completion for answer in tuned[name]}) for tuned in other.tuned.values()),
                )
            )
    columns = {"task": "", "n": "", "constant": ".3f", "base": ".3f", "tuned": ".3f", "gain": "", "distinct": ".1f"}
    report.table(f"correctness of an answer, {len(run.tuned)} training seeds", columns, rows)
    if beside:
        columns = {"task": "", "others'": ".3f", "these": ".3f", "more by these": "", "their distinct": ".1f"}
        report.table("correctness of an answer, by the rewards that trained", columns, beside)
    _print_metrics(report, run, other)


class _Truths(NamedTuple):
    base: Sequence[float]
    constant: Sequence[float]
    tuned: "np.ndarray[tuple[int, int], np.dtype[np.float64]]"
    """Shape (prompts, seeds)."""


def _truths(name: TaskName, run: Run) -> _Truths:
    def of(answers: Sequence[Rollout]) -> list[float]:
        return [truth_of(answer, run.databases) or 0.0 for answer in answers]

    constant = [answer.model_copy(update={"completion": run.constants[name]}) for answer in run.base[name]]
    tuned = np.array([of(answers[name]) for answers in run.tuned.values()]).T
    return _Truths(of(run.base[name]), of(constant), tuned)


def _difference(differences: "np.ndarray[tuple[int, int], np.dtype[np.float64]]") -> str:
    interval = mean_interval(differences, RESAMPLES, np.random.default_rng(0))
    mean = f"{differences.mean():+.3f}"
    return mean if interval is None else f"{mean} ({interval.low:+.3f} to {interval.high:+.3f})"


def _print_metrics(report: Report, run: Run, other: Run | None) -> None:
    models = {"base": [run.base], **({} if other is None else {"others'": list(other.tuned.values())})}
    models["these"] = list(run.tuned.values())
    means: dict[tuple[TaskName, str], dict[str, float]] = defaultdict(dict)
    for model, seeds in models.items():
        measured = [metrics_of(_all(answers), run.databases) for answers in seeds]
        for task in TASK_NAMES:
            for metric in dict.fromkeys(name for found in measured for name in found.get(task, {})):
                means[task, metric][model] = fmean(found[task].get(metric, 0.0) for found in measured)
    rows = [(*place, *(f"{found[model]:.3f}" for model in models)) for place, found in means.items()]
    report.table(
        "every metric over all answers, mean of the seeds", ("task", "metric", *models), rows, left=("metric",)
    )


def _all(answers: Answers) -> list[Rollout]:
    return [answer for name in TASK_NAMES for answer in answers[name]]


def _retrain(state: Path) -> None:
    seeds = f"train.seeds={list(SEEDS)}"
    line = [
        sys.executable,
        "-m",
        "flows",
        "retrain",
        "--profile",
        "local",
        "--set",
        seeds,
        "--set",
        f"state.root={state}",
    ]
    # A gate that holds the model is no failure here.
    code = subprocess.run(line, check=False).returncode
    if code not in (0, 3):
        raise InputError(f"`{' '.join(line)}` ended with {code}; run it again, it resumes")


def _read(state: Path) -> Run:
    """Read the newest run of a state folder.

    Raises:
        InputError: It has no answers of base and seeds.
    """
    inventory = read_inventory(state / "artifacts")
    stages = {record.stage: record for record in inventory.records.values()}
    tuned = {
        int(stage.removeprefix("answer-tuned-seed")): _by_task(inventory, record.sha256)
        for stage, record in sorted(stages.items())
        if stage.startswith("answer-tuned-seed")
    }
    if "answer-base" not in stages or not tuned:
        raise InputError(f"{state} has no answers of a base and of trainings; run the benchmark without --state first")
    dataset = inventory.folder(stages["answer-base"].inputs["dataset"])
    prompts = inventory.folder(stages["synthesize"].sha256)
    counts: dict[TaskName, Counter[str]] = defaultdict(Counter)
    for row in read_prompts(dataset / TRAIN_FILE):
        counts[row.task][TASKS[row.task].answer(row.reference)] += 1
    constants = {task: found.most_common(1)[0][0] for task, found in counts.items()}
    base = _by_task(inventory, stages["answer-base"].sha256)
    return Run(base, tuned, constants, open_databases(prompts / "store"))


def _by_task(inventory: Inventory, sha256: str) -> Answers:
    answers: dict[TaskName, list[Rollout]] = defaultdict(list)
    for answer in read_answers(inventory.folder(sha256)):
        answers[answer.task].append(answer)
    return answers


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
