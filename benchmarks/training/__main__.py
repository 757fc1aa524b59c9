"""Training compared: TRL's GRPO as it comes, V4.2's recipe and ours, on the laptop's model.

One model, one dataset; five seeds an arm; each training on one thread, two at a time. The amount of
sampling is the same for all: steps, prompts and completions a step, longest completion. All are validated alike, and
all answer the test split with the adapter that validated best. Stock is TRL's trainer with its own defaults, the total
reward and V4.2's learning rate: its own of 1e-6 moves nothing here.

Limits, against stock: the mean curve of ours reaches stock's final validation reward in at most half the steps,
and ours ends higher on the test reward and on the mean ground truth, by 95 % intervals that exclude zero (a bootstrap
over seeds and prompts, paired by both). No arm's weights are quantized here. Without a limit: V4.2.

Ground truth, by one answer: extraction's F1 over (field, value), the accuracy of sentiment and churn, and the share of
its constraints that a push keeps; no reward is any of them.

What is in `ours` was chosen on validation alone, by other seeds, which answered no test prompt. A benchmark that was
stopped resumes where it was.
"""

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Final

from rich.console import Console

from benchmarks.harness import Report, add_overrides, map_in_processes, run_benchmark
from benchmarks.training.arms import (
    ARMS,
    OURS,
    STATE,
    STOCK,
    Job,
    Outcome,
    digest,
    outcome_of,
    recipe_of,
)
from benchmarks.training.figures import (
    FIGURES,
    Difference,
    difference,
    final_validation,
    first_step,
    mean_curve,
    test_mean,
)
from schemas.config.config import Config
from schemas.config.profiles import load_config
from schemas.progress import silent
from schemas.source import source_digest
from tasks.curate import stage as curate
from tasks.curate.processes import in_processes
from tasks.policy.child import run_child
from tasks.synthesize import stage as synthesize
from tasks.train.sft.warm_start import WarmStartRequest

PROFILE: Final = "benchmarks/training/training.toml"
SEEDS: Final = (1, 2, 3, 4, 5)
SETUP: Final = ("tasks.synthesize.stage", "tasks.curate.stage", "tasks.train.sft.warm_start")
TRAINING: Final = ("benchmarks.training.arms",)
ONE_THREAD: Final = {
    "OMP_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "POLARS_MAX_THREADS": "1",
    # The laptop's training is measured, even where there is a GPU.
    "CUDA_VISIBLE_DEVICES": "",
}

Outcomes = Mapping[str, Sequence[Outcome]]


def arguments(parser: ArgumentParser) -> None:
    """Add the option."""
    add_overrides(parser)


def measure(report: Report, options: Namespace) -> None:
    """Train every arm with every seed, and compare."""
    os.environ.update(ONE_THREAD)
    config = load_config(PROFILE, options.set)
    setup = _set_up(config)
    wanted = [(arm, seed) for seed in SEEDS for arm in ARMS]
    code = source_digest(*TRAINING)
    jobs = [
        (
            Job(
                arm=arm,
                seed=seed,
                recipe=recipe_of(arm, config.train),
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
    _report_arms(report, outcomes, config.train.max_steps)
    _check(report, outcomes, config.train.max_steps)


def _set_up(config: Config) -> Path:
    """Return the folder with the prompts, the dataset and the base; make it where it is missing."""
    sections = config.model_dump_json(include={"seed", "synthesize", "curate", "policy", "warm_start"})
    code = source_digest(*SETUP)
    folder = STATE / f"setup-{digest(sections, code)}"
    if folder.exists():
        return folder
    draft = folder.with_suffix(f".draft-{os.getpid()}")
    for name in ("prompts", "dataset", "base"):
        (draft / name).mkdir(parents=True)
    console = Console(stderr=True)
    console.print("prompts and dataset")
    synthesize.run(config.synthesize, config.seed, draft / "prompts", silent)
    curate.run(config.curate, config.policy, draft / "prompts", draft / "dataset", silent, in_processes(1))
    request = WarmStartRequest(
        policy=config.policy,
        warm_start=config.warm_start,
        seed=config.seed,
        dataset=draft / "dataset",
        output=draft / "base",
    )
    with console.status("warm start") as status:
        run_child(
            "tasks.train.sft.warm_start",
            request,
            draft / "work",
            interpreter=None,
            progress=lambda done, total, text: status.update(f"warm start: step {done} of {total}, {text}"),
        )
    draft.replace(folder)
    return folder


def _report_arms(report: Report, outcomes: Outcomes, steps: int) -> None:
    report.table(
        f"Validation after {steps} steps, test reward and ground truth; 95 % intervals",
        ("arm", "valid.", "test", "ours is better by", "truth", "ours is better by", "s"),
        [_row(outcomes, arm, None if arm == OURS else (outcomes[OURS], outcomes[arm])) for arm in ARMS],
    )
    target = final_validation(outcomes[STOCK])
    rows = [(arm, _shown_step(first_step(mean_curve(outcomes[arm]), target))) for arm in ARMS]
    title = "Step at which the mean validation reward is that of stock after its last step"
    report.table(title, ("arm", f"{target:.3f} at step"), rows)


def _row(outcomes: Outcomes, arm: str, compared: tuple[Sequence[Outcome], Sequence[Outcome]] | None) -> list[str]:
    cells = [arm, f"{final_validation(outcomes[arm]):.3f}"]
    for figure in FIGURES:
        cells.append(f"{test_mean(outcomes[arm], figure):.3f}")
        cells.append("" if compared is None else _shown(difference(*compared, figure)))
    return [*cells, f"{fmean(outcome.seconds for outcome in outcomes[arm]):.0f}"]


def _check(report: Report, outcomes: Outcomes, steps: int) -> None:
    target = final_validation(outcomes[STOCK])
    reached = first_step(mean_curve(outcomes[OURS]), target)
    report.limit(
        reached is not None and reached <= steps / 2,
        f"ours reaches {target:.3f}, where stock ends, at step {_shown_step(reached)}, limit {steps / 2:g}",
    )
    for figure, name in FIGURES.items():
        found = difference(outcomes[OURS], outcomes[STOCK], figure)
        report.limit(
            _is_above(found), f"{name} of ours against stock: {_shown(found)} does not exclude zero from below"
        )


def _is_above(found: Difference) -> bool:
    return found.low > 0


def _shown(found: Difference) -> str:
    return f"{_signed(found.mean)} ({_signed(found.low)} {_signed(found.high)})"


def _signed(number: float) -> str:
    return f"{number:+.3f}".replace("0.", ".", 1)


def _shown_step(step: int | None) -> str:
    return "-" if step is None else str(step)


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
