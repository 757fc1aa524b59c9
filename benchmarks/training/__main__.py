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

Rates and steps were chosen on validation alone, which answered no test prompt.
`--profile benchmarks/training/real.toml` compares on the pretrained model of `make real-model`.
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
from benchmarks.training.arms import ARMS, Arm, Job, Outcome, make_dataset, outcome_of, warm_start
from benchmarks.training.figures import FIGURES, difference, mean_on_test, print_arms, tasks_of
from schemas.config.profiles import load_config

PROFILE: Final = "benchmarks/training/training.toml"
SEEDS: Final = (1, 2, 3)
STATE: Final = Path(".tucano") / "benchmark-training"
MIN_BETTER: Final = 2
RIVALS: Final[tuple[Arm, ...]] = ("sft", "rft")

Outcomes = Mapping[Arm, Sequence[Outcome]]


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--profile", default=PROFILE, help="of the dataset, the model and the recipe")
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS, help="of the trainings")
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=ARMS, help="sft, rft and ours at least")
    add_overrides(parser)


def measure(report: Report, options: Namespace) -> None:
    """Train every arm with every seed, and compare."""
    # The laptop's training is measured, even where there is a GPU.
    one_thread = {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "POLARS_MAX_THREADS": "1"}
    os.environ.update(one_thread, CUDA_VISIBLE_DEVICES="")
    config = load_config(options.profile, options.set)
    make_dataset(config, STATE)
    list(map_in_processes(partial(warm_start, config, STATE), options.seeds, "warm starts"))
    sft = config.warm_start
    # A further fine-tuning: half of the warm start's steps, at a third of its rate.
    again = sft.model_copy(update={"learning_rate": sft.learning_rate / 3, "steps": sft.steps // 2})
    wanted = [(arm, seed) for seed in options.seeds for arm in options.arms]
    temperature, batch_size = config.evaluate.temperature, config.evaluate.batch_size
    jobs = [Job(arm, seed, config.train, again, temperature, batch_size, STATE) for arm, seed in wanted]
    # Importing torch and TRL takes a tenth of a training: each worker does it once.
    found = dict(zip(wanted, map_in_processes(outcome_of, jobs, "trainings"), strict=True))
    outcomes = {arm: [found[arm, seed] for seed in options.seeds] for arm in options.arms}
    _report_arms(report, outcomes)
    _report_tasks(report, outcomes)


def _report_arms(report: Report, outcomes: Outcomes) -> None:
    """Print what each arm costs and reaches over all tasks, and its validation."""
    print_arms(report, "ours", outcomes, outcomes.keys() - {"ours"})
    for arm, of_arm in outcomes.items():
        curve = "  ".join(f"{step}: {fmean(each.curve[step] for each in of_arm):.3f}" for step in of_arm[0].curve)
        chosen = ", ".join(str(max(each.curve, key=each.curve.__getitem__)) for each in of_arm if curve)
        report.line(f"Validation of {arm} by step: {curve}; chosen {chosen}." if curve else "")
    for figure, name in FIGURES.items() if "stock" in outcomes else ():
        found = difference(outcomes["ours"], outcomes["stock"], figure)
        report.limit(found.low > 0, f"{name} of ours against stock: {found} does not exclude zero from below")


def _report_tasks(report: Report, outcomes: Outcomes) -> None:
    """Print each task's figures, and note whether reinforcement gains on enough of them."""
    for figure, name in FIGURES.items():
        rows, better, worse = [], [], []
        for task in tasks_of(outcomes["ours"][0]):
            means = {arm: mean_on_test(of_arm, figure, task) for arm, of_arm in outcomes.items()}
            rival = max(RIVALS, key=means.__getitem__)
            found = difference(outcomes["ours"], outcomes[rival], figure, task)
            rows.append((task, *(f"{mean:.3f}" for mean in means.values()), f"{found} than {rival}"))
            better += [task] if found.low > 0 else []
            worse += [task] if found.high < 0 else []
        report.table(f"By task, {name}", ("task", *outcomes, "ours is better by"), rows)
        told = f"{name}: ours is better than sft and rft on {', '.join(better) or 'no task'}, wanted {MIN_BETTER}"
        report.limit(len(better) >= MIN_BETTER, told)
        report.limit(not worse, f"{name}: ours is worse than sft or rft on {', '.join(worse)}")


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
