"""Commands `tucano audit attack` and `accept`: search for exploits of the rewards, and make one a probe."""

import random
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer

from flows.cli.options import Json, Overrides, Profile, configured, emit
from flows.cli.tables.attack import print_attack, print_search
from flows.runtime.console import show, stage_progress
from flows.runtime.signals import interruptible
from schemas.did_you_mean import did_you_mean
from schemas.disk import replace_whole
from schemas.documents import Rollout
from schemas.errors import InputError
from schemas.json_lines import read_json_lines
from schemas.progress import Progress
from schemas.store.files import read_store
from schemas.tasks import TASK_NAMES, SpecName, TaskName
from tasks.audit.alterations.search import AttackedReward, FoundExploit, SearchResult, search
from tasks.audit.attack import exploits
from tasks.audit.attack.attack import Budget, attack_file_names, find_in
from tasks.audit.attack.judge import check_judge
from tasks.audit.attack.processes import attack_tasks
from tasks.audit.attack.setting import AskedJudge, Setting
from tasks.audit.stage import shipped_files
from tasks.personal_data.scrub import scrub
from tasks.synthesize.simulated import simulate_store

ORDERS: Final = 4_000
"""Orders of the simulated store that prompts are about, where no store is given."""
MINUTES: Final = 10.0
AGAIN: Final = "interrupted; what was found is kept in {out}, and the same command finds it again"
KEPT: Final = "interrupted; finds are kept in {out}, and the same command goes on"

Folder = Annotated[Path, typer.Option(help="Folder of the attack: its finds and its state.")]


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
    processes: Annotated[int, typer.Option(min=1, max=64, help="Tasks that are attacked at once.")] = 2,
    rollouts: Annotated[
        Path | None, typer.Option(help="JSON Lines of a model's rollouts to begin with; the shipped ones if not given.")
    ] = None,
    store: Annotated[
        Path | None, typer.Option(help="Folder of the store that prompts are about; a simulated one if not given.")
    ] = None,
    spec: Annotated[SpecName, typer.Option(help="The reward specification.")] = "grounded",
    seed: Annotated[int, typer.Option(min=0, help="Decides prompts, and what is left to chance.")] = 0,
    out: Folder = Path(".tucano/attack"),
    top: Annotated[int, typer.Option(min=0, help="Finds of each task that are printed with their text.")] = 3,
    fresh: Annotated[bool, typer.Option("--fresh", help="Begin again, and remove what the folder has.")] = False,
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    as_json: Json = False,
) -> None:
    """Search for completions that the rewards pay for and should not. Run again, it resumes.

    Of the profile only `audit.judge` is read: a model that is asked once the search has ended, beyond its minutes.
    """
    tasks, judge = _tasks(task), _judge(profile, overrides)
    kept = AGAIN if spec == "cited" else KEPT
    with interruptible(kept.format(out=out)), stage_progress("attack") as progress:
        seeds = read_json_lines(rollouts or shipped_files().rollouts, Rollout, "rollouts")
        about = read_store(store) if store is not None else simulate_store(ORDERS, random.Random(f"{seed}:attacked"))
        witness = simulate_store(ORDERS // 2, random.Random(f"{seed}:witness"))
        if spec == "cited":
            targets = [AttackedReward(name, spec, about, witness, seed) for name in tasks]
            results = _search_all(targets, seeds, _budget(minutes, evaluations, len(tasks), 1), out, progress)
            print_search(results, top)
            emit({each.task: each.model_dump(mode="json") for each in results}, as_json=as_json)
            return
        if fresh:
            _remove(out, tasks)
        settings = [Setting(name, about, witness, seeds, seed, spec, judge=judge) for name in tasks]
        budget = _budget(minutes, evaluations, len(tasks), processes)
        found = attack_tasks(settings, budget, out, processes, progress)
    print_attack(found, top)
    if any(each.new for each in found):
        show(f"make a find a probe of the audit: tucano audit accept FIND --out {out}")
    emit({each.task: each.model_dump(mode="json") for each in found}, as_json=as_json)


def _search_all(
    targets: Sequence[AttackedReward],
    rollouts: Sequence[Rollout],
    budget: Budget,
    out: Path,
    progress: Progress,
) -> list[SearchResult]:
    """Search one task after the other; finds are written as they are found."""
    results = []
    for done, target in enumerate(targets):
        progress(done, len(targets), target.task)
        file = out / f"finds-{target.task}.jsonl"
        began = time.monotonic()

        def is_over(spent: int, began: float = began) -> bool:
            return budget.share(spent, time.monotonic() - began) >= 1

        found = search(target, rollouts, is_over, found=partial(_write_finds, file))
        _write_finds(file, found.finds)
        results.append(found)
    progress(len(targets), len(targets), "tasks attacked")
    return results


def _write_finds(file: Path, finds: Sequence[FoundExploit]) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        lines = "".join(f"{each.model_dump_json()}\n" for each in finds)
        replace_whole(file, lines.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise InputError(f"{file} cannot be written ({error.strerror}); give another --out") from None


def accept(
    find: Annotated[str, typer.Argument(help="Name of the find, as the attack printed it, or its beginning.")],
    out: Folder = Path(".tucano/attack"),
    into: Annotated[
        Path, typer.Option(help="Folder of accepted finds; the audit reads the default.")
    ] = exploits.FOLDER,
) -> None:
    """Make a find a probe: from then on the audit refuses rewards that pay for it."""
    known = find_in(out, find)
    new = exploits.accept(known, into)
    file = exploits.exploits_file(into, known.task)
    show(
        f"{known.identity} ({', '.join(known.mechanism)}) {'is now' if new else 'was already'} a probe of {known.task}"
    )
    show(f"exploits: {file}")


def _tasks(given: list[str]) -> list[TaskName]:
    if unknown := [name for name in given if name not in TASK_NAMES]:
        meant = did_you_mean(unknown[0], TASK_NAMES)
        raise InputError(f"there is no task {unknown[0]!r}{meant}; use one of: {', '.join(TASK_NAMES)}")
    return [name for name in TASK_NAMES if name in given or not given]


def _judge(profile: str, overrides: list[str]) -> AskedJudge | None:
    config = configured(profile, overrides, None, makes_prompts=False).audit.judge
    if config is None:
        return None
    check_judge(config)
    return AskedJudge(config, scrubbed)


def scrubbed(text: str) -> str:
    """Return a text without personal data, for a judge."""
    return scrub(text)[0]


def _budget(minutes: float | None, evaluations: int | None, tasks: int, processes: int) -> Budget:
    """Divide the time among the tasks, so many of which run at once."""
    if minutes is None and evaluations is not None:
        return Budget(None, evaluations)
    seconds = 60 * (MINUTES if minutes is None else minutes)
    return Budget(seconds * min(processes, tasks) / tasks, evaluations)


def _remove(folder: Path, tasks: list[TaskName]) -> None:
    for name in tasks:
        for file in attack_file_names(name):
            try:
                (folder / file).unlink(missing_ok=True)
            except OSError as error:
                raise InputError(f"{folder / file} cannot be removed ({error.strerror}); give another --out") from None
