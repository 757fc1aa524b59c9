"""Trial of one mutant in a process of its own: does it change a score, and does the audit object?"""

import gc
import multiprocessing
import os
import resource
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final, NamedTuple, cast

import orjson

from benchmarks.mutants import planting
from benchmarks.mutants.completions import store
from benchmarks.mutants.sources import Mutant, tasks_of
from schemas.config.config import AuditConfig
from schemas.documents import Rollout
from schemas.store.files import read_store
from schemas.tables.rollout_tables import read_rollouts
from schemas.tasks import TASK_NAMES, TaskName
from tasks.audit.mutations.breaking import forget
from tasks.audit.probes.recorded import recorded_scores
from tasks.audit.probes.run import run_probes
from tasks.audit.reward import RewardFunction
from tasks.audit.sheet import ScoredSheet, read_scored_sheet
from tasks.audit.stage import audit_rewards, shipped_files
from tasks.commerce.registry import score_rollout
from tasks.commerce.sql_qa import sandbox

LIMIT: Final = 0.05
"""Change of a score from which on a mutant counts."""
MAX_SECONDS: Final = 60
"""Time of a trial; a mutant that needs more is taken for one that never ends."""
MAX_MEMORY: Final = 3 * 2**30
"""Address space of a trial."""
RECORDED: Final = "recorded scores alone"
"""Objection to a mutant that no other probe notices."""
CONFIG: Final = AuditConfig(require_human=False)


class Outcome(NamedTuple):
    """Result of one mutant."""

    kind: str
    """`invalid`: its module cannot be imported, or it is the code as it was; `unchanged`; `caught`; `survived`."""
    caught_by: str = ""
    """The audit's first objection."""
    change: float = 0.0
    """The largest change of a score; of a caught mutant the first one found above the limit."""
    completion: str = ""
    """The completion of that change."""


class Remembered:
    """Copies of a store that remember what queries gave, for mutants that do not touch the running of queries."""

    def __init__(self, databases: sandbox.Databases) -> None:
        self.copies = databases.copies
        self.names = databases.names
        self._databases = databases
        self._known: dict[str, tuple[sandbox.Execution, ...]] = {}

    def run(self, sql: str, deadline: float | None = None) -> tuple[sandbox.Execution, ...]:
        """Run a query on every copy, once for all."""
        if sql not in self._known:
            self._known[sql] = self._databases.run(sql, deadline)
        return self._known[sql]

    def run_reference(self, sql: str) -> tuple[sandbox.Execution, ...]:
        """Run a reference query on every copy."""
        return self._databases.run_reference(sql)


@dataclass(frozen=True)
class Material:
    """What a trial needs, made by the sound code."""

    rollouts: Mapping[TaskName, Sequence[Rollout]]
    """The completions that decide whether a mutant counts."""
    rewards: Mapping[TaskName, Sequence[float]]
    """What they earn."""
    sheet: ScoredSheet
    """The shipped sheet."""
    asked: sandbox.Databases | None = None
    """Copies of the store that the completions are about; None where the trial makes its own."""
    audited: sandbox.Databases | None = None
    """Copies of the shipped store."""


def write_completions(path: Path, rollouts: Sequence[Rollout]) -> None:
    """Keep completions with what they earn; a file that is there is whole."""
    databases = sandbox.Databases.from_store(store())
    draft = path.with_suffix(".draft")
    with draft.open("wb") as file:
        for rollout in rollouts:
            reward = score_rollout(rollout, databases).reward
            file.write(orjson.dumps({"rollout": rollout.model_dump(mode="json"), "reward": reward}) + b"\n")
    draft.replace(path)


def read_material(path: Path, *, with_stores: bool) -> Material:
    """Read the completions and the shipped sheet.

    Args:
        path: The kept completions.
        with_stores: Whether copies of the stores are made too, with what the completions' queries give.
    """
    rollouts: dict[TaskName, list[Rollout]] = {task: [] for task in TASK_NAMES}
    rewards: dict[TaskName, list[float]] = {task: [] for task in TASK_NAMES}
    for line in path.read_bytes().splitlines():
        document = orjson.loads(line)
        rollout = Rollout.model_validate(document["rollout"])
        rollouts[rollout.task].append(rollout)
        rewards[rollout.task].append(document["reward"])
    files = shipped_files()
    sheet = read_scored_sheet(files.sheet, read_rollouts(files.rollouts), CONFIG.raters)
    found = Material(rollouts, rewards, sheet)
    if not with_stores:
        return found
    # They answer as the copies do.
    asked, audited = (cast("sandbox.Databases", Remembered(databases)) for databases in _stores())
    for each in rollouts["sql_qa"]:
        score_rollout(each, asked)
    audit_rewards(sheet, partial(score_rollout, databases=audited), CONFIG)
    return replace(found, asked=asked, audited=audited)


def try_mutant(mutant: Mutant, path: Path) -> Outcome:
    """Return what becomes of a mutant, tried in a child process that is ended where it takes too long.

    Args:
        mutant: The mutant.
        path: The kept completions.
    """
    alone = planting.needs_new_store(mutant)
    # A forked child cannot make copies of a store: the threads of polars stayed in its parent.
    start = multiprocessing.get_context("spawn").Process if alone else multiprocessing.get_context("fork").Process
    material = None if alone else _material(path)
    ours, theirs = multiprocessing.Pipe(duplex=False)
    process = start(target=_child, args=(mutant, path, material, theirs))
    process.start()
    theirs.close()
    outcome = Outcome("caught", "no end", 1.0)
    try:
        if ours.poll(MAX_SECONDS):
            outcome = Outcome(*ours.recv())
    except EOFError:
        outcome = Outcome("caught", "crash", 1.0)
    if process.is_alive():
        process.join(1)
    if process.is_alive():
        process.kill()
    process.join()
    return outcome


@cache
def _material(path: Path) -> Material:
    found = read_material(path, with_stores=True)
    gc.freeze()
    return found


def _stores() -> tuple[sandbox.Databases, ...]:
    """Return the copies of the completions' store and of the shipped one."""
    module = sys.modules["tasks.commerce.sql_qa.sandbox"]
    return tuple(module.Databases.from_store(each) for each in (store(), read_store(shipped_files().store)))


def _child(mutant: Mutant, path: Path, material: Material | None, theirs: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    theirs.send(tuple(_tried(mutant, material or read_material(path, with_stores=False))))


def _tried(mutant: Mutant, material: Material) -> Outcome:
    try:
        plant_and_forget(mutant)
    except Exception:  # noqa: BLE001 - a mutated module may raise anything
        return Outcome("invalid")
    if material.asked is None:
        try:
            asked, audited = _stores()
        except Exception:  # noqa: BLE001 - so may the copies of a store
            return Outcome("caught", "no store", 1.0)
        material = replace(material, asked=asked, audited=audited)
    tasks = tasks_of(mutant.module)
    change, completion = _largest_change(tasks, material, stop=LIMIT)
    if change <= LIMIT:
        return Outcome("unchanged", "", change)
    if objection := _objection(tasks, material):
        return Outcome("caught", objection, change, completion)
    return Outcome("survived", "", *_largest_change(tasks, material, stop=1.0))


def plant_and_forget(mutant: Mutant) -> None:
    """Plant a mutant, and clear the caches that hold results of the sound code."""
    planting.plant(mutant)
    forget()


def _largest_change(tasks: Sequence[TaskName], material: Material, stop: float) -> tuple[float, str]:
    """Return the largest change of a score and its completion; the first above a limit ends the search."""
    largest, where = 0.0, ""
    for task in tasks:
        for rollout, before in zip(material.rollouts[task], material.rewards[task], strict=True):
            try:
                change = abs(score_rollout(rollout, material.asked).reward - before)
            except Exception:  # noqa: BLE001 - a mutant may raise anything
                return 1.0, rollout.completion
            # Not a number is the largest change of all.
            if not change <= largest:
                largest, where = (change if change == change else 1.0), rollout.completion  # noqa: PLR0124
            if largest > stop:
                return largest, where
    return largest, where


def _objection(tasks: Sequence[TaskName], material: Material) -> str:
    """Return the audit's first objection: probes first, then the recorded scores, and last the gate's figures."""
    score: RewardFunction = partial(score_rollout, databases=material.audited)
    sheet = material.sheet
    try:
        asked = {task: [item.rollout for item in sheet.of_task(task)] for task in tasks}
        for task in tasks:
            for name, probe in run_probes(task, asked[task], score).items():
                if not probe.passed:
                    return f"{task}: probe:{name}"
        for task in tasks:
            recorded = recorded_scores(task, {rollout.prompt_id for rollout in asked[task]}, score)
            if recorded is not None and not recorded.passed:
                return RECORDED
        items = tuple(item for item in sheet.items if item.rollout.task in tasks)
        objections = audit_rewards(replace(sheet, items=items, unscored=()), score, CONFIG).gate.objections
    except Exception as error:  # noqa: BLE001 - so may an audit of a mutant
        return f"raises {type(error).__name__}"
    return f"{objections[0].task}: {objections[0].check}" if objections else ""
