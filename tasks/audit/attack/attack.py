"""Attack on one task: search within a budget, then baselines and forecast; kept in a folder, and resumed from it."""

import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, ValidationError

from schemas.documents import Rollout
from schemas.errors import InputError, Interrupted
from schemas.tasks import TaskName
from tasks.audit.attack.baselines import CheapAnswer, measure_baselines
from tasks.audit.attack.candidate import case_for
from tasks.audit.attack.finds import Find, ranked, read_finds, replace_file, write_finds
from tasks.audit.attack.forecast import PoolSample, TruthForecast, forecast
from tasks.audit.attack.judge import JudgedCandidates, JudgeTally, judge_candidates, replies_file
from tasks.audit.attack.search import ExploitSearch
from tasks.audit.attack.setting import Setting
from tasks.commerce.registry import reward_version

SECONDS_BETWEEN_SAVES: Final = 3.0
SECONDS_BETWEEN_REPORTS: Final = 0.5
FROM_A_MODEL: Final = 8
"""Completions of a prompt from which a file of rollouts is a model's samples; the shipped sheet has four."""
MOST_SAMPLES: Final = 64


@dataclass(frozen=True)
class Budget:
    """End of one task's search: whichever comes first."""

    seconds: float | None
    evaluations: int | None

    def share(self, evaluations: int, seconds: float) -> float:
        """Return how much of it is spent, 1 or more at the end."""
        spent = [0.0]
        if self.evaluations is not None:
            spent.append(evaluations / self.evaluations)
        if self.seconds is not None:
            spent.append(seconds / self.seconds)
        return max(spent)


class TaskAttack(BaseModel):
    """Result of the attack on one task."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    task: TaskName
    reward_version: str
    evaluations: int
    """Completions that the search scored."""
    seconds: float
    finds: list[Find]
    """The worst first."""
    baselines: list[CheapAnswer]
    forecast: TruthForecast | None
    forecast_from: str
    """Source of the samples: `rollouts` of a model, or the search's own `seeds`."""
    judge: JudgeTally | None = None
    """What the judge was asked; None where none is configured."""

    @property
    def new(self) -> list[Find]:
        """Return the finds that the critic's list of open corruptions does not name."""
        return [find for find in self.finds if not find.known]


Report = Callable[[float, int], None]
"""Called with the share of the budget that is spent, and the number of finds."""


def attack_file_names(task: TaskName) -> tuple[str, ...]:
    """Return the names of the files that an attack on a task keeps."""
    return f"finds-{task}.jsonl", f"state-{task}.json", f"result-{task}.json"


def finds_file(folder: Path, task: TaskName) -> Path:
    """Return the file of a task's finds."""
    return folder / f"finds-{task}.jsonl"


def attack_task(
    setting: Setting, budget: Budget, folder: Path, stop: Callable[[], bool], report: Report = lambda _, __: None
) -> TaskAttack:
    """Search until the budget is spent, resuming what the folder has of the same attack.

    Args:
        setting: AttackPrompts, material and reward.
        budget: When to end.
        folder: Where finds and state are kept.
        stop: Returns whether to give up; what was done is kept.
        report: Receives the progress.

    Raises:
        InputError: The folder holds another attack, or cannot be written.
        Interrupted: `stop` said so.
    """
    key = _key(setting)
    state_file, result_file = folder / f"state-{setting.task}.json", folder / f"result-{setting.task}.json"
    search, spent = setting.search(), 0.0
    state, by_judge = _read_state(state_file, key), list[Find]()
    if state is not None:
        search.restore(state["search"])
        spent = state["seconds"]
        done = _read_result(result_file)
        over = search.exhausted or budget.share(setting.target.evaluations, spent) >= 1
        if done is not None and over and done.evaluations == setting.target.evaluations and _is_judged(done, setting):
            return done
        by_judge = [find for find in done.finds if find.by_judge is not None] if done is not None else []
    seconds = _search(search, setting, budget, spent, folder, stop, report, key, by_judge)
    evaluations = setting.target.evaluations
    judged = _judge(setting, search, folder, stop)
    finds = _with_judged(search.finds, judged, by_judge)
    write_finds(finds_file(folder, setting.task), finds)
    baselines = measure_baselines(setting, search, setting.bank, stop)
    source, predicted = _forecast(setting, search)
    result = TaskAttack(
        task=setting.task,
        reward_version=reward_version(setting.task, setting.spec),
        evaluations=evaluations,
        seconds=seconds,
        finds=ranked(finds),
        baselines=baselines,
        forecast=predicted,
        forecast_from=source,
        judge=None if judged is None else judged.tally,
    )
    replace_file(result_file, result.model_dump_json(indent=1) + "\n")
    return result


def find_in(folder: Path, identity: str) -> Find:
    """Return a find of a folder by its identity, or by the beginning of it.

    Raises:
        InputError: There is none, or several begin so.
    """
    files = sorted(folder.glob("finds-*.jsonl"))
    found = [find for file in files for find in read_finds(file) if find.identity.startswith(identity)]
    if len(found) == 1:
        return found[0]
    what = f"{len(found)} finds of {folder} begin with" if found else f"no find of {folder} is named"
    raise InputError(f"{what} {identity!r}; give a name of the table that `tucano audit attack` prints, and its --out")


def _search(
    search: ExploitSearch,
    setting: Setting,
    budget: Budget,
    spent: float,
    folder: Path,
    stop: Callable[[], bool],
    report: Report,
    key: str,
    by_judge: Sequence[Find],
) -> float:
    """Search until the budget is spent, and return the seconds of all runs.

    What a judge found after a smaller budget stays in the file of finds until it is asked again.
    """
    target = setting.target
    began = time.monotonic() - spent
    saved = reported = time.monotonic()
    file = finds_file(folder, setting.task)

    def save() -> float:
        seconds = time.monotonic() - began
        write_finds(file, [*search.finds, *by_judge])
        document = {"key": key, "seconds": seconds, "search": search.state()}
        replace_file(folder / f"state-{setting.task}.json", json.dumps(document))
        return seconds

    while not search.exhausted and budget.share(target.evaluations, time.monotonic() - began) < 1:
        if stop():
            save()
            raise Interrupted("interrupted")
        search.step(lambda _: write_finds(file, [*search.finds, *by_judge]))
        now = time.monotonic()
        if now - saved > SECONDS_BETWEEN_SAVES:
            save()
            saved = now
        if now - reported > SECONDS_BETWEEN_REPORTS:
            report(budget.share(target.evaluations, now - began), len(search.finds))
            reported = now
    report(1.0, len(search.finds))
    return save()


def _judge(setting: Setting, search: ExploitSearch, folder: Path, stop: Callable[[], bool]) -> JudgedCandidates | None:
    if setting.judge is None:
        return None
    file = replies_file(folder, setting.task)
    config, scrub = setting.judge.config, setting.judge.scrub
    return judge_candidates(config, scrub, setting.target, setting.prompts, search, file, stop)


def _with_judged(found: Sequence[Find], judged: JudgedCandidates | None, before: Sequence[Find]) -> list[Find]:
    """Return all finds; those of a judge that was asked before stay where it was not asked all again."""
    finds = [*found, *(judged.finds if judged is not None else ())]
    if judged is None or judged.tally.failure is not None:
        names = {find.identity for find in finds}
        finds += [find for find in before if find.identity not in names]
    return finds


def _is_judged(done: TaskAttack, setting: Setting) -> bool:
    """Return whether there is no judge to ask, or a kept result has all that it would say."""
    return setting.judge is None or (done.judge is not None and done.judge.is_of(setting.judge.config))


def _key(setting: Setting) -> str:
    """Return the digest of all that decides a search but its budget."""
    parts = [
        setting.task,
        setting.spec,
        reward_version(setting.task, setting.spec),
        str(setting.seed),
        *(case.prompt for case in setting.cases),
        *setting.bank.rollouts,
        *setting.bank.fragments,
    ]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()


def _read_state(path: Path, key: str) -> dict[str, Any] | None:
    if not path.is_file():
        return None
    try:
        state: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        known = state["key"]
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{path} is no state of an attack; remove it, or give another --out") from None
    if known != key:
        raise InputError(
            f"{path.parent} holds an attack on another reward, store, seed or rollouts; give another --out, or --fresh "
            "to begin again"
        )
    return state


def _read_result(path: Path) -> TaskAttack | None:
    """Return a kept result; None where there is none that can be read."""
    if not path.is_file():
        return None
    try:
        return TaskAttack.model_validate_json(path.read_text(encoding="utf-8"))
    except ValidationError:
        return None


def _forecast(setting: Setting, search: ExploitSearch) -> tuple[str, TruthForecast | None]:
    """Forecast from a model's rollouts where there are several of each prompt, else from what the search began with."""
    by_prompt: defaultdict[str, list[Rollout]] = defaultdict(list)
    for rollout in setting.rollouts:
        if rollout.task == setting.task and rollout.reference is not None:
            by_prompt[rollout.prompt_id].append(rollout)
    several = [rollouts for rollouts in by_prompt.values() if len(rollouts) >= FROM_A_MODEL]
    if several:
        return "rollouts", forecast([_samples(setting, rollouts) for rollouts in several])
    return "seeds", forecast(_pools(setting, search))


def _samples(setting: Setting, rollouts: Sequence[Rollout]) -> list[PoolSample]:
    first = rollouts[0]
    case = case_for(setting.task, first.prompt, first.reference or {})
    good = setting.target.good(case)[1] or 1.0
    texts = [rollout.completion for rollout in rollouts]
    return [PoolSample(setting.target.score(case, text)[0], setting.target.truth(case, text) / good) for text in texts]


def _pools(setting: Setting, search: ExploitSearch) -> list[list[PoolSample]]:
    candidates = [*setting.bank.seeds(), *search.best_texts]
    texts = [candidate for candidate in candidates if not candidate.knows_the_answer]
    pools = []
    for case in setting.fresh:
        measured = [setting.target.measure(candidate, case) for candidate in texts]
        pools.append([PoolSample(each.reward, each.truth) for each in measured if each is not None][:MOST_SAMPLES])
    return pools
