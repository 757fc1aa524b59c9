"""Rewards that are clean by construction: only the good answer's own normal form earns more than .6.

What is below it varies as rewards do (parts, overlaps, noise), so that a search has something to climb, and must still
report nothing.
"""

import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from schemas.tasks import TaskName
from tasks.commerce.registry import TASKS
from tasks.commerce.reward import Reference, Reward, Score
from tasks.commerce.sql_qa.sandbox import Databases

MOST_OF_OTHERS: Final = 0.6

Normal = Callable[[str], object]
Part = Callable[[str, str], float]


@dataclass(frozen=True)
class _Clean:
    """A scorer that gives all for the answer itself, and a part for anything else."""

    task: TaskName
    normal: Normal
    part: Part

    def __call__(
        self,
        completion: str,
        prompt: str,
        reference: Reference | None,
        databases: Databases | None,
    ) -> Score:
        answer = TASKS[self.task].answer(reference or {})
        form = self.normal(completion)
        right = form is not None and form == self.normal(answer)
        return Score({"answer": 1.0 if right else MOST_OF_OTHERS * self.part(completion, answer)})


def _object(text: str) -> object:
    """Return the items of a strict JSON object in order of their names; None for anything else."""
    try:
        pairs: Any = json.loads(text, object_pairs_hook=lambda pairs: pairs)
    except (ValueError, RecursionError):
        return None
    if not isinstance(pairs, list) or not all(isinstance(pair, tuple) for pair in pairs):
        return None
    return sorted((str(name), repr(value)) for name, value in pairs)


def _line(text: str) -> object:
    return " ".join(text.split())


def _lines(text: str) -> object:
    return sorted(" ".join(line.split()) for line in text.strip().split("\n"))


def _fields_kept(text: str, answer: str) -> float:
    given, known = _object(text), _object(answer)
    if not isinstance(given, list) or not isinstance(known, list):
        return 0.0
    return sum(item in given for item in known) / len(known)


def _words_kept(text: str, answer: str) -> float:
    given, known = set(text.lower().split()), set(answer.lower().split())
    return len(given & known) / max(len(given | known), 1)


def _noise(text: str, answer: str) -> float:
    return zlib.crc32(f"{answer} {text}".encode("utf-8", "replace")) / 2**32


def _nothing(text: str, answer: str) -> float:
    return 0.0


def _reward(task: TaskName, normal: Normal, part: Part) -> Reward:
    return Reward({"answer": 1.0}, _Clean(task, normal, part))


CLEAN: Final[Mapping[TaskName, Reward]] = MappingProxyType(
    {
        "extraction": _reward("extraction", _object, _fields_kept),
        "sql_qa": _reward("sql_qa", _line, _words_kept),
        "insights": _reward("insights", _lines, _words_kept),
        "push": _reward("push", _line, _noise),
        "sentiment": _reward("sentiment", _object, _nothing),
        "churn": _reward("churn", _object, _fields_kept),
    }
)
