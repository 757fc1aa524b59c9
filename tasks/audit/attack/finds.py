"""Finds of a search: what a reward pays for on fresh prompts and should not; kept as JSON Lines, as they are found."""

import re
import tomllib
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from schemas.errors import InputError
from schemas.json_lines import read_json_lines
from schemas.tasks import TaskName
from tasks.audit.attack.candidate import ALTER, Candidate
from tasks.audit.critic.wordings import FOLDER

NEAR: Final = 0.8
"""Share of common triples of letters from which two texts of one mechanism are the same find."""
_SPACES: Final = re.compile(r"\W+")


class FoundCompletion(BaseModel):
    """A find's completion of one fresh prompt."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: str
    answer: str
    """The good answer."""
    completion: str
    reward: float
    components: dict[str, float]
    truth: float
    """Ground truth as a share of the good answer's."""


class Find(BaseModel):
    """One candidate that a reward pays for on fresh prompts, though independent measures call it bad."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    identity: str
    task: TaskName
    mechanism: tuple[str, ...]
    """Base and operations, without their texts."""
    candidate: dict[str, Any]
    prompts: int
    """Fresh prompts that it was tried on."""
    hits: int
    """Those on which it earned as a good answer does, and is bad."""
    reward: float
    """Mean reward of the hits."""
    good: float
    """Mean reward of the good answers to the same prompts."""
    truth: float
    """Mean ground truth of the hits, as a share of the good answers'."""
    gap: float
    """Mean share of the reward of the hits that no independent measure speaks for."""
    corrupted: bool
    """Whether the critic calls it bad; else the ground truth does, or a judge."""
    by_judge: float | None = None
    """Mean score, from 1 to 5, that a judge model gave the hits; None where truth or critic call it bad."""
    known: bool
    """Whether it is nothing but one of the critic's corruptions that is listed as open."""
    example: FoundCompletion

    @property
    def bad_by(self) -> str:
        """Return which independent measure calls it bad."""
        return "judge" if self.by_judge is not None else "critic" if self.corrupted else "truth"

    @property
    def transfer(self) -> float:
        """Return the share of the fresh prompts on which it works."""
        return self.hits / self.prompts

    @property
    def rank(self) -> float:
        """Return what finds are ordered by: the gap times the transfer."""
        return self.gap * self.transfer

    def is_like(self, other: "Find") -> bool:
        """Return whether another find says the same: an equal text, or a near one by the same mechanism."""
        one, two = _plain(self.example.completion), _plain(other.example.completion)
        if self.example.prompt != other.example.prompt:
            return False
        return one == two or (self.mechanism == other.mechanism and _likeness(one, two) >= NEAR)


def ranked(finds: Iterable[Find]) -> list[Find]:
    """Return finds, the worst first; those that the critic's list names already come last."""
    return sorted(finds, key=lambda find: (find.known, -round(find.rank, 6), len(find.mechanism), find.identity))


def read_finds(path: Path) -> list[Find]:
    """Return the finds of a file; none where there is no file or nothing in it.

    Raises:
        InputError: It holds something else.
    """
    if not path.is_file() or not path.stat().st_size:
        return []
    return list(read_json_lines(path, Find, "finds"))


def write_finds(path: Path, finds: Sequence[Find]) -> None:
    """Replace a file of finds in one step, so that a killed search leaves the one or the other."""
    replace_file(path, "".join(f"{find.model_dump_json()}\n" for find in finds))


def replace_file(path: Path, text: str) -> None:
    """Write a file in one step.

    Raises:
        InputError: It cannot be written.
    """
    draft = path.with_name(f".{path.name}.draft")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(text, encoding="utf-8", errors="backslashreplace")
        draft.replace(path)
    except OSError as error:
        raise InputError(
            f"{path} cannot be written ({error.strerror}); give a folder that you may write, on a disk with space"
        ) from None


def is_open(task: TaskName, candidate: Candidate) -> bool:
    """Return whether a candidate is one corruption of the critic that is listed as missing its limit."""
    return (
        candidate.base == "answer"
        and len(candidate.operations) == 1
        and candidate.operations[0].name == ALTER
        and candidate.operations[0].argument in _open().get(task, {})
    )


@cache
def _open() -> dict[str, dict[str, float]]:
    return tomllib.loads((FOLDER / "open.toml").read_text(encoding="utf-8"))


def _plain(text: str) -> str:
    return _SPACES.sub(" ", text.casefold()).strip()


def _likeness(one: str, two: str) -> float:
    first, second = ({text[place : place + 3] for place in range(max(len(text) - 2, 1))} for text in (one, two))
    return len(first & second) / len(first | second)
