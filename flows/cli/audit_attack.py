"""Command `tucano audit attack`: search for answers that the rewards pay for and should not."""

import random
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer

from flows.cli.options import Json, emit
from flows.cli.tables.attack import print_search
from flows.runtime.console import stage_progress
from flows.runtime.signals import interruptible
from schemas.did_you_mean import did_you_mean
from schemas.disk import replace_whole
from schemas.documents import Rollout
from schemas.errors import InputError
from schemas.json_lines import read_json_lines
from schemas.store.files import read_store
from schemas.tasks import TASK_NAMES, SpecName, TaskName
from tasks.audit.alterations.search import AttackedReward, FoundExploit, search
from tasks.audit.stage import shipped_files
from tasks.synthesize.simulated import simulate_store

ORDERS: Final = 4_000
"""Orders of the simulated store that prompts are about, where no store is given."""
MINUTES: Final = 10.0
KEPT: Final = "interrupted; what was found is kept in {out}, and the same command finds it again"


def attack(
    task: Annotated[
        list[str], typer.Option(help="A task to attack; may be given several times, and all are attacked if not given.")
    ] = [],  # noqa: B006 - Typer reads the default and never changes it
    minutes: Annotated[
        float | None, typer.Option(min=0.01, help="Time of all tasks together; 10 if not given.")
    ] = None,
    evaluations: Annotated[
        int | None, typer.Option(min=1, help="Completions to score of each task; equal numbers give equal finds.")
    ] = None,
    rollouts: Annotated[
        Path | None, typer.Option(help="JSON Lines of a model's rollouts to begin with; the shipped ones if not given.")
    ] = None,
    store: Annotated[
        Path | None, typer.Option(help="Folder of the store that prompts are about; a simulated one if not given.")
    ] = None,
    spec: Annotated[SpecName, typer.Option(help="The reward specification.")] = "grounded",
    seed: Annotated[int, typer.Option(min=0, help="Decides prompts, and what is left to chance.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder of the finds.")] = Path(".tucano/attack"),
    top: Annotated[int, typer.Option(min=0, help="Finds of each task that are printed with their text.")] = 3,
    as_json: Json = False,
) -> None:
    """Search for completions that the rewards pay for and should not, one task after the other."""
    tasks = _tasks(task)
    seconds = None if minutes is None and evaluations is not None else 60 * (minutes or MINUTES) / len(tasks)
    results = []
    with interruptible(KEPT.format(out=out)), stage_progress("attack") as progress:
        seeds = read_json_lines(rollouts or shipped_files().rollouts, Rollout, "rollouts")
        about = read_store(store) if store is not None else simulate_store(ORDERS, random.Random(f"{seed}:attacked"))
        witness = simulate_store(ORDERS // 2, random.Random(f"{seed}:witness"))
        targets = [AttackedReward(name, spec, about, witness, seed) for name in tasks]
        for done, target in enumerate(targets):
            progress(done, len(targets), target.task)
            file = out / f"finds-{target.task}.jsonl"
            is_over = partial(_is_over, evaluations, None if seconds is None else time.monotonic() + seconds)
            found = search(target, seeds, is_over, found=partial(_write_finds, file))
            _write_finds(file, found.finds)
            results.append(found)
        progress(len(targets), len(targets), "tasks attacked")
    print_search(results, top)
    emit({each.task: each.model_dump(mode="json") for each in results}, as_json=as_json)


def _is_over(evaluations: int | None, end: float | None, spent: int) -> bool:
    return (evaluations is not None and spent >= evaluations) or (end is not None and time.monotonic() >= end)


def _write_finds(file: Path, finds: Sequence[FoundExploit]) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        lines = "".join(f"{each.model_dump_json()}\n" for each in finds)
        replace_whole(file, lines.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise InputError(f"{file} cannot be written ({error.strerror}); give another --out") from None


def _tasks(given: list[str]) -> list[TaskName]:
    if unknown := [name for name in given if name not in TASK_NAMES]:
        meant = did_you_mean(unknown[0], TASK_NAMES)
        raise InputError(f"there is no task {unknown[0]!r}{meant}; use one of: {', '.join(TASK_NAMES)}")
    return [name for name in TASK_NAMES if name in given or not given]
