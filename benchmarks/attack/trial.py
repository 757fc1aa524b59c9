"""One trial of the exploit search: on a copy of a reward with a loophole, or on a clean reward."""

import random
import time
from functools import cache
from statistics import fmean
from typing import Final, NamedTuple

from benchmarks.attack.clean import CLEAN
from benchmarks.attack.loopholes import LOOPHOLES
from schemas.documents import Rollout
from schemas.json_lines import read_json_lines
from schemas.store.store import Store
from schemas.tasks import TaskName
from tasks.audit.attack.candidate import Candidate
from tasks.audit.attack.finds import Find
from tasks.audit.attack.setting import Setting
from tasks.audit.stage import shipped_files
from tasks.commerce.registry import TASKS
from tasks.synthesize.simulated import simulate_store

ORDERS: Final = 2_000
PAYS_FOR_IT: Final = 0.3
"""A find is of the loophole where the reward without it pays less by so much."""
_BY_NAME: Final = {loophole.name: loophole for loophole in LOOPHOLES}


class Trial(NamedTuple):
    """What is tried, and for how long."""

    name: str
    """A loophole, or a task whose clean reward is attacked."""
    seed: int
    evaluations: int
    seconds: float


class Outcome(NamedTuple):
    """What a search found."""

    name: str
    task: TaskName
    found: bool
    """Whether a find is of the loophole; of a clean reward, whether there is any."""
    finds: int
    evaluations: int
    seconds: float
    mechanism: str
    completion: str


def run_trial(trial: Trial) -> Outcome:
    """Search until the loophole is found or the budget is spent."""
    loophole = _BY_NAME.get(trial.name)
    task = loophole.task if loophole else next(name for name in CLEAN if name == trial.name)
    own = TASKS[task].rewards["grounded"]
    reward = loophole.planted(own) if loophole else CLEAN[task]
    began = time.monotonic()
    setting = Setting(task, _store("asked"), _store("witness"), _rollouts(), trial.seed, planted=reward)
    search = setting.search()
    of_it: list[Find] = []

    def found(find: Find) -> None:
        if loophole is None or _pays(setting, find) >= PAYS_FOR_IT:
            of_it.append(find)

    while not search.exhausted and not (loophole and of_it) and setting.target.evaluations < trial.evaluations:
        if time.monotonic() - began > trial.seconds:
            break
        search.step(found)
    return Outcome(
        trial.name,
        task,
        bool(of_it),
        len(search.finds),
        setting.target.evaluations,
        time.monotonic() - began,
        ", ".join(of_it[0].mechanism) if of_it else "",
        of_it[0].example.completion if of_it else "",
    )


def _pays(setting: Setting, find: Find) -> float:
    """Return how much more the planted reward pays for a find than the reward without the loophole."""
    own, candidate = TASKS[setting.task].rewards["grounded"], Candidate.read(find.candidate)
    more = []
    for case in setting.fresh:
        measured = setting.target.measure(candidate, case)
        if measured is not None and measured.hit:
            score = own.score(measured.text, case.prompt, case.reference, setting.target.databases)
            more.append(measured.reward - own.total(score.components))
    return fmean(more) if more else 0.0


@cache
def _store(name: str) -> Store:
    return simulate_store(ORDERS, random.Random(f"attack:{name}"))


@cache
def _rollouts() -> tuple[Rollout, ...]:
    return read_json_lines(shipped_files().rollouts, Rollout, "rollouts")
