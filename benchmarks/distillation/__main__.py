"""Distillation compared: what a small model learns of one of twice its width, at equal sampled tokens.

All on one thread, one training after the other. The student is the stand-in after supervised fine-tuning (SFT), from
which all arms begin. The teacher is the stand-in in twice the width (`benchmarks.distillation.teacher`) after the same
SFT: that is the raw teacher; the tuned one has our GRPO behind it. No model of that width is published for these tasks,
and to train one from random weights takes days. Both are made once, with the first seed; five seeds train each arm.

`sft` is the student itself; `sft again` learns as many reference answers as GRPO samples in its steps; `GRPO` is the
profile's recipe; `raw` and `tuned` are distilled by TRL's `DistillationTrainer` from the two teachers, until they have
sampled as many tokens as `GRPO`. All are validated alike, and answer the test split, guided as answers are served, with
the adapter that validated best; the one before the first step counts too. A teacher's own GRPO is counted in its row.

Limits: over all tasks `tuned` is above the better of `sft` and `sft again` in reward, by a 95 % interval that excludes
zero (a bootstrap over seeds and prompts, paired by both), and not below it in ground truth. Then, and only then, it is
worth a `train.algorithm` of its own. Distillation has the learning rate of GRPO; none was tried beside it.
"""

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, Literal, get_args

from benchmarks.harness import Report, add_overrides, progress, run_benchmark
from benchmarks.training.arms import ONE_THREAD, Job, Outcome, make_dataset, outcome_of, warm_start
from benchmarks.training.figures import FIGURES, difference, mean_on_test, print_arms, tasks_of
from schemas.config.config import Config
from schemas.config.profiles import load_config
from tasks.policy.published import shipped

PROFILE: Final = "benchmarks/distillation/distillation.toml"
SEEDS: Final = (1, 2, 3, 4, 5)
STATE: Final = Path(".tucano") / "benchmark-distillation"
TEACHER_STATE: Final = STATE / "teacher"

Arm = Literal["sft", "sft again", "GRPO", "raw", "tuned", "raw teacher", "tuned teacher"]
STUDENTS: Final = get_args(Arm)[:5]
TEACHERS: Final = get_args(Arm)[5:]
DISTILLED: Final[Mapping[Arm, bool]] = {"raw": False, "tuned": True}
"""Arms that are distilled, and whether their teacher is the tuned one."""
RIVALS: Final[tuple[Arm, ...]] = ("sft", "sft again")

Outcomes = Mapping[Arm, Sequence[Outcome]]


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--profile", default=PROFILE, help="of the dataset, the model and the recipe")
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS, help="of the trainings")
    add_overrides(parser)


def measure(report: Report, options: Namespace) -> None:
    """Train teachers and students with every seed, and compare."""
    os.environ.update(ONE_THREAD)
    config = load_config(options.profile, options.set)
    prepare(config, options.seeds)
    teachers = [outcome_of(teacher_of(config, options.seeds[0], tuned=tuned)) for tuned in (False, True)]
    found = [outcomes_of(config, seed, options.seeds[0]) for seed in progress(options.seeds, "seeds")]
    outcomes: dict[Arm, list[Outcome]] = {arm: [of_seed[arm] for of_seed in found] for arm in STUDENTS}
    report_arms(report, outcomes | dict(zip(TEACHERS, ([each] for each in teachers), strict=True)))


def prepare(config: Config, seeds: Sequence[int]) -> None:
    """Make the dataset, and after it the student and the raw teacher, each once for all seeds."""
    from benchmarks.distillation.teacher import write_wider

    make_dataset(config, STATE)
    write_wider(shipped(), STATE / "wide")
    wide = config.policy.model_copy(update={"stand_in": False, "name": str(STATE / "wide")})
    # The teacher's prompts are the student's.
    TEACHER_STATE.mkdir()
    for name in ("prompts", "dataset"):
        (TEACHER_STATE / name).symlink_to(Path("..") / name)
    warm_start(config, STATE, seeds[0])
    warm_start(config.model_copy(update={"policy": wide}), TEACHER_STATE, seeds[0])
    for seed in seeds[1:]:
        (STATE / f"base-{seed}").symlink_to(f"base-{seeds[0]}")


def teacher_of(config: Config, seed: int, *, tuned: bool) -> Job:
    """Return the training of a teacher."""
    return replace(student_of(config, seed), arm="ours" if tuned else "sft", setup=TEACHER_STATE)


def student_of(config: Config, seed: int) -> Job:
    """Return the student that all arms begin with, as a job of the first arm."""
    sft, recipe = config.warm_start, config.train
    steps = recipe.sampled_completions // sft.batch_size
    again = sft.model_copy(update={"learning_rate": sft.learning_rate / 3, "steps": steps})
    return Job("sft", seed, recipe, again, config.evaluate.temperature, config.evaluate.batch_size, STATE)


def outcomes_of(config: Config, seed: int, first_seed: int) -> dict[Arm, Outcome]:
    """Train every arm with a seed; teachers are of the first one."""
    from benchmarks.distillation.trainer import distilled

    student = student_of(config, seed)
    found: dict[Arm, Outcome] = {
        "sft": outcome_of(student),
        "sft again": outcome_of(replace(student, arm="sft again")),
        "GRPO": outcome_of(replace(student, arm="ours")),
    }
    for arm, tuned in DISTILLED.items():
        teacher = teacher_of(config, first_seed, tuned=tuned)
        make_trainer = partial(distilled, teacher, found["GRPO"].tokens)
        found[arm] = outcome_of(replace(student, arm=arm), make_trainer)
    return found


def report_arms(report: Report, outcomes: Outcomes) -> None:
    """Print what each arm costs and reaches over all tasks, and note whether the tuned teacher's student gains."""
    # A teacher has no seeds to be paired by.
    print_arms(report, "tuned", outcomes, {*STUDENTS} - {"tuned"})
    for figure, name in FIGURES.items():
        by_task = [
            (task, *(f"{mean_on_test(of_arm, figure, task):.3f}" for of_arm in outcomes.values()))
            for task in tasks_of(outcomes["sft"][0])
        ]
        report.table(f"By task, {name}", ("task", *outcomes), by_task)
        rival = max(RIVALS, key=lambda arm: mean_on_test(outcomes[arm], figure))
        found = difference(outcomes["tuned"], outcomes[rival], figure)
        met = found.low > 0 if figure == "reward" else found.high >= 0
        report.limit(met, f"{name} of tuned against {rival}: {found}")


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
