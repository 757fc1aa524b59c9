"""Rows of the browser: prompts, rollouts of the trainings and answers to the test, each text once.

Texts are scrubbed of personal data, made visible and cut, in this order, so that no cut hides a number from the scrub.
Where the rollouts weigh too much for a page, whole groups are kept at even distances, and answers all.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NamedTuple

import polars as pl

from schemas.documents import ScoredRollout
from schemas.shown_text import as_shown
from schemas.tables.prompts import PromptRow
from schemas.tasks import TASK_NAMES, TaskName

MAX_SHOWN: Final = 4_000  # Characters of a text on the page; the page says how many more there were.
MAX_WEIGHT: Final = 60_000_000
"""Characters of all rollouts' texts, each text once, and `ROW_WEIGHT` for each rollout: a page of some 20 MB."""
ROW_WEIGHT: Final = 100
SHARES: Final = 10_000  # What 1 is on the page, where rewards and components are whole numbers.

CUT_OFF, CORRECTED, UNIFORM = 1, 2, 4
"""Flags of a rollout: ended by the token limit; the reference's answer in its place; equal rewards in its group."""

Scrub = Callable[[pl.Series], Sequence[tuple[str, Any]]]
"""Replaces the personal data in each text of a column."""


@dataclass(frozen=True)
class RaisedAlarm:
    """Alarm of a training, which began at a step."""

    step: int
    name: str
    text: str


@dataclass(frozen=True)
class LoggedTraining:
    """Training as the browser shows it."""

    seed: int
    logs: tuple[Path, ...]
    """Its rollouts: files of `schemas.tables.rollout_tables`, in the order of their steps."""
    validation: Mapping[int, Mapping[str, float]]
    """Validation reward, in [0, 1], by step and task."""
    alarms: tuple[RaisedAlarm, ...] = ()


class ShownAnswers(NamedTuple):
    """Answers of one model to the test."""

    rollouts: Sequence[ScoredRollout]
    truths: Sequence[float | None]
    """Ground truth of each answer, in [0, 1]; None where unknown."""


class _Texts:
    """Distinct texts, numbered in the order of their first use."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def place(self, text: str) -> int:
        return self._places.setdefault(text, len(self._places))

    def shown(self, scrub: Scrub) -> dict[str, Any]:
        # Half surrogates, which no column holds, as `as_shown` writes them.
        whole = [text.encode("utf-8", "backslashreplace").decode() for text in self._places]
        scrubbed = [text for text, _ in scrub(pl.Series("text", whole, pl.String))]
        cut = {str(place): len(text) - MAX_SHOWN for place, text in enumerate(scrubbed) if len(text) > MAX_SHOWN}
        return {"text": [as_shown(text[:MAX_SHOWN]) for text in scrubbed], "cut": cut}


class _PromptColumns:
    """Prompts that rows refer to, numbered in the order of their first use."""

    def __init__(self, texts: _Texts) -> None:
        self._texts = texts
        self._places: dict[str, int] = {}
        self.columns: dict[str, list[Any]] = {"id": [], "task": [], "text": [], "reference": []}

    def place(self, prompt_id: str, task: TaskName, prompt: str | None, reference: Mapping[str, Any] | None) -> int:
        place = self._places.setdefault(prompt_id, len(self._places))
        if place == len(self.columns["id"]):
            told = None if not reference else json.dumps(reference, ensure_ascii=False, sort_keys=True, indent=1)
            self.columns["id"].append(prompt_id)
            self.columns["task"].append(TASK_NAMES.index(task))
            self.columns["text"].append(None if prompt is None else self._texts.place(prompt))
            self.columns["reference"].append(None if told is None else self._texts.place(told))
        return place


def as_document(
    trainings: Sequence[LoggedTraining],
    prompts: Iterable[PromptRow],
    models: Mapping[str, ShownAnswers],
    scrub: Scrub,
    most_weight: int = MAX_WEIGHT,
) -> dict[str, Any]:
    """Return what the page shows, in columns; equal inputs give equal documents."""
    texts = _Texts()
    known = _PromptColumns(texts)
    rows = {row.prompt_id: row for row in prompts}
    logged = [rollout for training in trainings for rollout in _read(training)]
    kept, every = _kept(logged, most_weight)
    names = _component_names(kept, models)
    rollouts: dict[str, list[Any]] = {name: [] for name in _ROLLOUT_COLUMNS}
    for group in kept:
        uniform = len(group) > 1 and len({each["reward"] for each in group}) == 1
        for each in group:
            row = rows.get(each["prompt_id"])
            place = known.place(
                each["prompt_id"], each["task"], row.prompt if row else None, row.reference if row else None
            )
            flags = CUT_OFF * (each["stop_reason"] == "token_limit") + CORRECTED * each["corrected"] + UNIFORM * uniform
            advantage = None if each["advantage"] is None else round(each["advantage"] * 1_000)
            values = (each["seed"], each["step"], place, texts.place(each["completion"]), _share(each["reward"]))
            _append(
                rollouts, *values, advantage, each["tokens"], flags, _parts(each["components"], names[each["task"]])
            )
    answers: dict[str, list[Any]] = {name: [] for name in _ANSWER_COLUMNS}
    for model, given in enumerate(models.values()):
        for answer, truth in zip(given.rollouts, given.truths, strict=True):
            place = known.place(answer.prompt_id, answer.task, answer.prompt, answer.reference)
            drawn = answer.model_extra or {}
            flags = CUT_OFF * (drawn.get("stop_reason") == "token_limit")
            values = (model, drawn.get("sample", 0), place, texts.place(answer.completion), _share(answer.reward))
            parts = _parts(answer.components, names[answer.task])
            _append(answers, *values, None if truth is None else _share(truth), drawn.get("tokens"), flags, parts)
    return {
        "tasks": list(TASK_NAMES),
        "components": names,
        "models": list(models),
        "seeds": [training.seed for training in trainings],
        "logged": sum(map(len, logged)),
        "every": every,
        "prompts": known.columns,
        "rollouts": rollouts,
        "answers": answers,
        "validation": [
            [training.seed, step, task, _share(reward)]
            for training in trainings
            for step, by_task in sorted(training.validation.items())
            for task, reward in sorted(by_task.items())
        ],
        "alarms": [
            [training.seed, alarm.step, alarm.name, as_shown(alarm.text)]
            for training in trainings
            for alarm in training.alarms
        ],
        # Last, when all are known.
        "texts": texts.shown(scrub),
    }


_ROLLOUT_COLUMNS: Final = (
    "seed", "step", "prompt", "text", "reward", "advantage", "tokens", "flags", "parts",
)  # fmt: skip
_ANSWER_COLUMNS: Final = (
    "model", "sample", "prompt", "text", "reward", "truth", "tokens", "flags", "parts",
)  # fmt: skip
"""Columns of the page; `parts` has a list of components for each row, in the order of the names of its task."""

Group = Sequence[Mapping[str, Any]]


def _append(columns: Mapping[str, list[Any]], *values: Any) -> None:
    for column, value in zip(columns.values(), values, strict=True):
        column.append(value)


def _read(training: LoggedTraining) -> Iterator[Group]:
    """Yield the groups of a training, in their order: adjacent rollouts of one step and prompt."""
    for log in training.logs:
        table = pl.read_parquet(log, glob=False)
        by_group = groupby(table.iter_rows(named=True), key=lambda each: (each["step"], each["prompt_id"]))
        yield from ([{**each, "components": json.loads(each["components"])} for each in group] for _, group in by_group)


def _kept(groups: Sequence[Group], most_weight: int) -> tuple[Sequence[Group], int]:
    """Return the groups that the page can carry, and their distance: 1 where all are kept."""
    every = 1
    while _weight(groups[::every]) > most_weight and every < len(groups):
        every = min(len(groups), max(every + 1, every * _weight(groups[::every]) // most_weight))
    return groups[::every], every


def _weight(groups: Sequence[Group]) -> int:
    distinct = {each["completion"] for group in groups for each in group}
    return sum(min(len(text), MAX_SHOWN) for text in distinct) + ROW_WEIGHT * sum(map(len, groups))


def _component_names(groups: Sequence[Group], models: Mapping[str, ShownAnswers]) -> dict[TaskName, list[str]]:
    found: dict[TaskName, set[str]] = {task: set() for task in TASK_NAMES}
    for group in groups:
        for each in group:
            found[each["task"]].update(each["components"])
    for given in models.values():
        for answer in given.rollouts:
            found[answer.task].update(answer.components)
    return {task: sorted(names) for task, names in found.items()}


def _share(value: float) -> int:
    return round(value * SHARES)


def _parts(components: Mapping[str, float], names: Sequence[str]) -> list[int | None]:
    return [_share(components[name]) if name in components else None for name in names]
