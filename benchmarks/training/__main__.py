"""Training compared: what to do after supervised fine-tuning (SFT), at equal sampled tokens.

One dataset and three seeds, each with its own SFT to the plateau, from which all arms of the seed begin; each training
on one thread, two at a time. `sft` is that model itself. `sft again` learns the references once more. `rft` samples as
many groups as a step of GRPO has, and learns the best answer of each that differs within (RAFT, 2304.06767). `stock` is
TRL's `GRPOTrainer` with its own defaults, the total reward and our learning rate, on as many groups. `ours` is the
profile's recipe, which draws some groups again. All are validated alike, and answer the test split, guided as answers
are served, with the adapter that validated best; the one before the first step counts too.

Limits: ours is above the better of `sft` and `rft`, by 95 % intervals that exclude zero (a bootstrap over seeds and
prompts, paired by both), on at least two tasks in reward and in ground truth, and below it on none; and above stock in
both figures over all tasks. Ground truth is no reward: a right answer by the strictest measure of its task.

Rates and steps were chosen on validation alone, which answered no test prompt. A benchmark that was stopped resumes
where it was. `--profile benchmarks/training/real.toml` compares on the pretrained model of `make real-model`.
"""

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Final

from benchmarks.harness import Report, add_overrides, map_in_processes, run_benchmark
from benchmarks.training.arms import ARMS, STATE, Arm, Job, Outcome, digest, outcome_of, warm_start
from benchmarks.training.figures import FIGURES, Difference, difference, mean_curve, mean_on_test, tasks_of
from schemas.config.config import Config
from schemas.config.profiles import load_config
from schemas.progress import silent
from schemas.source import source_digest
from tasks.curate import stage as curate
from tasks.curate.processes import in_processes
from tasks.synthesize import stage as synthesize

PROFILE: Final = "benchmarks/training/training.toml"
SEEDS: Final = (1, 2, 3)
SETUP: Final = ("tasks.synthesize.stage", "tasks.curate.stage", "tasks.train.sft.warm_start")
TRAINING: Final = ("benchmarks.training.arms",)
ONE_THREAD: Final = {
    "OMP_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "POLARS_MAX_THREADS": "1",
    # The laptop's training is measured, even where there is a GPU.
    "CUDA_VISIBLE_DEVICES": "",
}
MIN_BETTER: Final = 2
RIVALS: Final[tuple[Arm, ...]] = ("sft", "rft")

Outcomes = Mapping[Arm, Sequence[Outcome]]


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--profile", default=PROFILE, help="of the dataset, the model and the recipe")
    add_overrides(parser)


def measure(report: Report, options: Namespace) -> None:
    """Train every arm with every seed, and compare."""
    os.environ.update(ONE_THREAD)
    config = load_config(options.profile, options.set)
    setup, code = _set_up(config), source_digest(*TRAINING)
    sft = config.warm_start
    # A further fine-tuning: half of the warm start's steps, at a third of its rate.
    again = sft.model_copy(update={"learning_rate": sft.learning_rate / 3, "steps": sft.steps // 2})
    wanted = [(arm, seed) for seed in SEEDS for arm in ARMS]
    jobs = [
        (
            Job(
                arm=arm,
                seed=seed,
                recipe=config.train,
                again=again,
                temperature=config.evaluate.temperature,
                batch_size=config.evaluate.batch_size,
                setup=setup,
            ),
            code,
        )
        for arm, seed in wanted
    ]
    # Importing torch and TRL takes a tenth of a training: each worker does it once.
    found = dict(zip(wanted, map_in_processes(outcome_of, jobs, "trainings"), strict=True))
    outcomes = {arm: [found[arm, seed] for seed in SEEDS] for arm in ARMS}
    _report_arms(report, outcomes)
    _report_tasks(report, outcomes)


def _set_up(config: Config) -> Path:
    """Return the folder with the prompts, the dataset and the models after SFT; make it where it is missing."""
    sections = config.model_dump_json(include={"seed", "synthesize", "curate", "policy", "warm_start"})
    code = source_digest(*SETUP)
    folder = STATE / f"setup-{digest(sections, code)}"
    if folder.exists():
        return folder
    draft = folder.with_suffix(f".draft-{os.getpid()}")
    for name in ("prompts", "dataset"):
        (draft / name).mkdir(parents=True)
    synthesize.run(config.synthesize, config.seed, draft / "prompts", silent)
    curate.run(config.curate, config.policy, draft / "prompts", draft / "dataset", silent, in_processes(1))
    list(map_in_processes(partial(warm_start, config, draft), SEEDS, "warm starts"))
    draft.replace(folder)
    return folder


def _report_arms(report: Report, outcomes: Outcomes) -> None:
    """Print what each arm costs and reaches over all tasks, and its curve."""
    rows = []
    for arm in ARMS:
        of_arm = outcomes[arm]
        cells = [arm, f"{fmean(each.tokens for each in of_arm):,.0f}", f"{fmean(each.seconds for each in of_arm):.0f}"]
        for figure in FIGURES:
            cells.append(f"{mean_on_test(of_arm, figure):.3f}")
            cells.append("" if arm == "ours" else _shown(difference(outcomes["ours"], of_arm, figure)))
        rows.append(cells)
    report.table(
        "Sampled tokens, seconds, test reward and ground truth; 95 % intervals",
        ("arm", "tokens", "s", "test", "ours is better by", "truth", "ours is better by"),
        rows,
    )
    for arm in ARMS[1:]:
        curve = "  ".join(f"{step}: {reward:.3f}" for step, reward in mean_curve(outcomes[arm]).items())
        chosen = ", ".join(str(each.chosen_step) for each in outcomes[arm])
        report.line(f"Validation of {arm} by step: {curve}; chosen {chosen}.")
    report.line()
    for figure, name in FIGURES.items():
        found = difference(outcomes["ours"], outcomes["stock"], figure)
        report.limit(found.low > 0, f"{name} of ours against stock: {_shown(found)} does not exclude zero from below")


def _report_tasks(report: Report, outcomes: Outcomes) -> None:
    """Print each task's figures, and note whether reinforcement gains on enough of them."""
    for figure, name in FIGURES.items():
        rows, better, worse = [], [], []
        for task in tasks_of(outcomes["ours"][0]):
            means = {arm: mean_on_test(outcomes[arm], figure, task) for arm in ARMS}
            rival = max(RIVALS, key=means.__getitem__)
            found = difference(outcomes["ours"], outcomes[rival], figure, task)
            rows.append((task, *(f"{mean:.3f}" for mean in means.values()), f"{_shown(found)} than {rival}"))
            better += [task] if found.low > 0 else []
            worse += [task] if found.high < 0 else []
        report.table(f"By task, {name}", ("task", *ARMS, "ours is better by"), rows)
        told = f"{name}: ours is better than sft and rft on {', '.join(better) or 'no task'}, wanted {MIN_BETTER}"
        report.limit(len(better) >= MIN_BETTER, told)
        report.limit(not worse, f"{name}: ours is worse than sft or rft on {', '.join(worse)}")


def _shown(found: Difference) -> str:
    return f"{_signed(found.mean)} ({_signed(found.low)} {_signed(found.high)})"


def _signed(number: float) -> str:
    return f"{number:+.3f}".replace("0.", ".", 1)


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
