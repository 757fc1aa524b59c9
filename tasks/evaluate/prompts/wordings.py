"""Wordings of system prompts that a search may choose: the task's own, the shipped ones, and examples under them."""

import random
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from schemas.references import knows_anything
from schemas.tables.prompts import PromptRow, canonical_json
from schemas.tasks import TaskName
from tasks.commerce.registry import TASKS

DATA_FILES: Final = ("data/prompts",)
FOLDER: Final = Path(__file__).resolve().parents[3] / "data" / "prompts"
OWN: Final = "own"
"""Name of the task's own wording."""


class PromptCandidate(NamedTuple):
    """System prompt that a search compares."""

    name: str
    """Its wording: `own`, `shipped-1` or `proposed-1`."""
    shots: int
    """Examples that it shows."""
    system: str
    """The whole text."""


@cache
def _read(name: str) -> Mapping[str, list[str]]:
    return tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


def shipped(task: TaskName) -> Sequence[PromptCandidate]:
    """Return the task's own wording and the shipped ones, without examples."""
    own = PromptCandidate(OWN, 0, TASKS[task].system)
    texts = _read("systems")[task]
    return [own, *(PromptCandidate(f"shipped-{number}", 0, text) for number, text in enumerate(texts, 1))]


def answering_words() -> Sequence[str]:
    """Return what a proposed wording may say beside its task's words; an ending in * stands for any."""
    return _read("words")["words"]


def choose_shots(rows: Sequence[PromptRow], count: int, seed: int) -> Sequence[PromptRow]:
    """Return examples of one task by a seed, with different answers as long as there are any.

    They are drawn from the shorter half of the prompts, or from as many as are asked for: an example is read with every
    prompt that is answered.

    Args:
        rows: The task's training prompts.
        count: Most examples.
        seed: Decides them.
    """
    told = [row for row in rows if knows_anything(row.reference)]
    shorter = sorted(told, key=lambda row: (len(row.prompt), row.prompt_id))[: max(count, len(told) // 2)]
    random.Random(f"{seed}:shots").shuffle(shorter)
    first: dict[str, PromptRow] = {}
    for row in shorter:
        first.setdefault(canonical_json(row.reference), row)
    chosen = {row.prompt_id: row for row in (*first.values(), *shorter)}
    return list(chosen.values())[:count]


def with_shots(candidate: PromptCandidate, shots: Sequence[PromptRow]) -> PromptCandidate:
    """Return a wording that shows examples, each a prompt with the answer of its reference."""
    examples = (
        f"\n\nExemplo {number}:\n{row.prompt}\nResposta:\n{TASKS[row.task].answer(row.reference)}"
        for number, row in enumerate(shots, 1)
    )
    return candidate._replace(shots=len(shots), system=candidate.system + "".join(examples))
