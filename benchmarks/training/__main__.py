"""Training compared: TRL's GRPO as it comes, V4.2 and ours, and every switch by itself, on the laptop's model.

One model, one dataset; five seeds an arm, two a switch; each training on one thread, two at a time. The amount of
sampling is the same for all: steps, prompts and completions a step, longest completion. All are validated alike, and
all answer the test split with the adapter that validated best. Stock is TRL's trainer with its own defaults and the
total reward, once as it comes (learning rate 1e-6, which moves nothing here) and once with V4.2's learning rate, the
fair rival.

Limits, against both stocks: the mean curve of ours reaches stock's final validation reward in at most half the steps,
and ours ends higher on the test reward and on the mean ground truth, by 95 % intervals that exclude zero (a bootstrap
over seeds and prompts, paired by both). Without a limit: one row a switch, added to V4.2, whose weights are not
quantized here, nor are any other's.

Ground truth, by one answer: extraction's F1 over (field, value), the accuracy of sentiment and churn, and the share of
its constraints that a push keeps; no reward is any of them.

What is in `ours` was chosen on validation alone, with `--validation-only`, which has other seeds and answers no test
prompt. A benchmark that was stopped resumes where it was.
"""

import argparse
import hashlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import redirect_stderr, redirect_stdout
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean
from typing import Final

from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.training.arms import (
    ARMS,
    OURS,
    STOCK,
    STOCK_AT_OUR_RATE,
    SWITCHES,
    V4_2,
    Job,
    Outcome,
    Point,
    recipe_of,
    run,
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

STATE: Final = Path(".tucano") / "benchmark-training"
PROFILE: Final = "benchmarks/training/training.toml"
SEEDS: Final = (1, 2, 3, 4, 5)
SWITCH_SEEDS: Final = SEEDS[:2]
PILOT_SEEDS: Final = (101, 102)
WORKERS: Final = 2
SETUP: Final = ("tasks.synthesize.stage", "tasks.curate.stage", "tasks.train.sft.warm_start")
TRAINING: Final = ("benchmarks.training.arms",)
ONE_THREAD: Final = {
    "OMP_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "POLARS_MAX_THREADS": "1",
    # The laptop's training is measured, even where there is a GPU.
    "CUDA_VISIBLE_DEVICES": "",
}
RIVALS: Final = (STOCK, STOCK_AT_OUR_RATE)

Outcomes = Mapping[str, Sequence[Outcome]]


def main() -> int:
    """Run the benchmark; the exit code says whether every limit was met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--validation-only", action="store_true", help="a pilot: other seeds, and no test prompt")
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS), metavar="ARM", help="of a pilot")
    parser.add_argument("--set", action="append", default=[], metavar="A.B=C", help="override the profile")
    arguments = parser.parse_args()
    if not arguments.validation_only and arguments.arms != list(ARMS):
        parser.error("only a pilot has some of the arms; add --validation-only")
    os.environ.update(ONE_THREAD)
    config = load_config(PROFILE, arguments.set)
    setup = _set_up(config)
    seeds = PILOT_SEEDS if arguments.validation_only else SEEDS
    jobs = {
        (arm, seed): Job(
            arm=arm,
            seed=seed,
            recipe=recipe_of(arm, config.train),
            temperature=config.evaluate.temperature,
            batch_size=config.evaluate.batch_size,
            setup=setup,
            answers_test=not arguments.validation_only,
        )
        for seed in seeds
        for arm in arguments.arms
        if arm not in SWITCHES or seed in (*SWITCH_SEEDS, *PILOT_SEEDS)
    }
    found = _run_all(jobs)
    outcomes = {arm: [found[arm, seed] for seed in seeds if (arm, seed) in found] for arm in arguments.arms}
    if arguments.validation_only:
        _print_validation(outcomes)
        return 0
    _print_arms(outcomes, config.train.max_steps)
    _print_switches(outcomes)
    misses = _missed(outcomes, config.train.max_steps)
    for miss in misses:
        print(f"MISSED: {miss}")
    return 1 if misses else 0


def _set_up(config: Config) -> Path:
    """Return the folder with the prompts, the dataset and the base; make it where it is missing."""
    sections = config.model_dump_json(include={"seed", "synthesize", "curate", "policy", "warm_start"})
    code = source_digest(*SETUP)
    folder = STATE / f"setup-{_digest(sections, code)}"
    if folder.exists():
        return folder
    draft = folder.with_suffix(f".draft-{os.getpid()}")
    for name in ("prompts", "dataset", "base"):
        (draft / name).mkdir(parents=True)
    console = Console(stderr=True)
    console.print("prompts and dataset")
    synthesize.run(config.synthesize, config.seed, draft / "prompts", silent, STATE)
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


def _run_all(jobs: Mapping[tuple[str, int], Job]) -> dict[tuple[str, int], Outcome]:
    """Return the outcome of each job, a few at a time; existing outcomes are not run again."""
    code = source_digest(*TRAINING)
    outcomes: dict[tuple[str, int], Outcome] = {}
    # Importing torch and TRL takes a tenth of a training: each worker does it once.
    with ProcessPoolExecutor(WORKERS, mp_context=get_context("spawn")) as pool:
        running = {pool.submit(_run, job, code): name for name, job in jobs.items()}
        try:
            done = track(as_completed(running), "trainings", total=len(running), console=Console(stderr=True))
            for future in done:
                outcomes[running[future]] = future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return outcomes


def _run(job: Job, code: str) -> Outcome:
    folder = STATE / "trainings"
    folder.mkdir(exist_ok=True)
    name = _digest(job.model_dump_json(), code)
    result, log = folder / f"{name}.json", folder / f"{name}.log"
    if not result.exists():
        with log.open("w", encoding="utf-8") as output, redirect_stdout(output), redirect_stderr(output):
            outcome = run(job)
        draft = result.with_suffix(".draft")
        draft.write_text(outcome.model_dump_json(), encoding="utf-8")
        draft.replace(result)
    return Outcome.model_validate_json(result.read_text(encoding="utf-8"))


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _print_arms(outcomes: Outcomes, steps: int) -> None:
    table = _table(f"Validation after {steps} steps, test reward and ground truth; 95 % intervals", "arm")
    for name in ("valid.", "test", "ours is better by", "truth", "ours is better by", "s"):
        table.add_column(name, justify="right")
    for arm in (*RIVALS, V4_2, OURS):
        _add_row(table, outcomes, arm, lambda arm: (outcomes[OURS], outcomes[arm]), None if arm == OURS else arm)
    Console(width=100).print(table)
    reached = _table("Steps until the validation reward is that of a stock after its last step", "arm")
    for rival in RIVALS:
        reached.add_column(f"{rival} ({final_validation(outcomes[rival]):.3f})\nmean curve", justify="right")
        reached.add_column("each seed", justify="right")
    for arm in (*RIVALS, V4_2, OURS):
        cells = []
        for rival in RIVALS:
            target = final_validation(outcomes[rival])
            curves = [{each.step: each.reward for each in outcome.curve} for outcome in outcomes[arm]]
            cells.append(_shown_step(first_step(mean_curve(outcomes[arm]), target)))
            cells.append(" ".join(_shown_step(first_step(curve, target)) for curve in curves))
        reached.add_row(arm, *cells)
    Console(width=100).print(reached)


def _print_switches(outcomes: Outcomes) -> None:
    table = _table("Each switch added to V4.2, and how much better than V4.2 it is; 95 % intervals", "switch")
    for name in ("valid.", "test", "better by", "truth", "better by", "s"):
        table.add_column(name, justify="right")
    for arm in SWITCHES:
        _add_row(table, outcomes, arm, _beside_the_report(outcomes), arm)
    Console(width=100).print(table)
    for what, wanted in (("helped", _is_above), ("did harm", _is_below)):
        found = [arm for arm in SWITCHES if wanted(difference(*_beside_the_report(outcomes)(arm), "reward"))]
        print(f"Switches that {what} on the test reward, by an interval without zero: {', '.join(found) or 'none'}.")


def _beside_the_report(outcomes: Outcomes) -> Callable[[str], tuple[Sequence[Outcome], Sequence[Outcome]]]:
    """Return the function that gives a switch's outcomes, and V4.2's with the same seeds."""
    return lambda arm: (outcomes[arm], outcomes[V4_2][: len(outcomes[arm])])


def _add_row(
    table: Table,
    outcomes: Outcomes,
    arm: str,
    compared: Callable[[str], tuple[Sequence[Outcome], Sequence[Outcome]]],
    against: str | None,
) -> None:
    cells = [f"{final_validation(outcomes[arm]):.3f}"]
    for figure in FIGURES:
        cells.append(f"{test_mean(outcomes[arm], figure):.3f}")
        cells.append("" if against is None else _shown(difference(*compared(against), figure)))
    table.add_row(arm, *cells, f"{fmean(outcome.seconds for outcome in outcomes[arm]):.0f}")


def _print_validation(outcomes: Outcomes) -> None:
    table = _table(f"Validation, seeds {' '.join(map(str, PILOT_SEEDS))}", "arm")
    names = ("before", "mean", "2nd half", "last", "truth before", "truth 2nd half", "s")
    for name in names:
        table.add_column(name, justify="right")
    for arm, of_arm in outcomes.items():
        points = [point for outcome in of_arm for point in outcome.curve if point.step]
        middle = max(point.step for point in points) / 2
        table.add_row(
            arm,
            f"{of_arm[0].curve[0].reward:.3f}",
            f"{fmean(point.reward for point in points):.3f}",
            f"{fmean(point.reward for point in points if point.step > middle):.3f}",
            f"{final_validation(of_arm):.3f}",
            f"{_truth(of_arm[0].curve[0]):.3f}",
            f"{fmean(_truth(point) for point in points if point.step > middle):.3f}",
            f"{fmean(outcome.seconds for outcome in of_arm):.0f}",
        )
    Console(width=100).print(table)


def _truth(point: Point) -> float:
    return fmean(point.truths.values())


def _missed(outcomes: Outcomes, steps: int) -> list[str]:
    misses = []
    for rival in RIVALS:
        target = final_validation(outcomes[rival])
        reached = first_step(mean_curve(outcomes[OURS]), target)
        if reached is None or reached > steps / 2:
            found_at = _shown_step(reached)
            misses.append(f"ours reaches {target:.3f}, where {rival} ends, at step {found_at}, limit {steps / 2:g}")
        for figure, name in FIGURES.items():
            found = difference(outcomes[OURS], outcomes[rival], figure)
            if not _is_above(found):
                misses.append(f"{name} of ours against {rival}: {_shown(found)} does not exclude zero from below")
    return misses


def _is_above(found: Difference) -> bool:
    return found.low > 0


def _is_below(found: Difference) -> bool:
    return found.high < 0


def _shown(found: Difference) -> str:
    return f"{_signed(found.mean)} ({_signed(found.low)} {_signed(found.high)})"


def _signed(number: float) -> str:
    return f"{number:+.3f}".replace("0.", ".", 1)


def _shown_step(step: int | None) -> str:
    return "-" if step is None else str(step)


def _table(title: str, first: str) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column(first, no_wrap=True)
    return table


if __name__ == "__main__":
    sys.exit(main())
