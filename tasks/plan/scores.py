"""Scores of cheap ways on the validation split: the document that a plan is made of.

A rung is one way to answer, by its name: `base`, `base-guided`, `base-wording` and `sft` are models, and the names of
`schemas.config.evaluate.BASELINES` take none.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict

from schemas.config.evaluate import BASELINES
from schemas.tasks import TaskName

FILE: Final = "cheap_scores.json"
Model = Literal["base", "sft"]
WORDING: Final = "base-wording"
"""The base with the one shipped wording of a task's instruction that earned most on training prompts."""


class Served(BaseModel):
    """One answer as it would be served."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rung: str
    task: TaskName
    prompt_id: str
    score: float
    """Reward, in [0, 1]."""
    truth: float | None
    """Ground truth, in [0, 1]; None where unknown."""


class Group(BaseModel):
    """Scores of several answers to one prompt, drawn as a training draws them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: Model
    task: TaskName
    prompt_id: str
    scores: tuple[float, ...]


class CheapScores(BaseModel):
    """Scores of some rungs."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    served: tuple[Served, ...] = ()
    groups: tuple[Group, ...] = ()
    tokens: int = 0
    """Tokens that were sampled for them."""

    def of(self, rung: str, task: TaskName | None = None) -> dict[str, float]:
        """Return a rung's scores by `prompt_id`, of one task or of all."""
        found = (each for each in self.served if each.rung == rung and task in (None, each.task))
        return {each.prompt_id: each.score for each in found}

    def groups_of(self, model: str, task: TaskName | None = None) -> dict[str, tuple[float, ...]]:
        """Return a model's groups by `prompt_id`, of one task or of all."""
        found = (each for each in self.groups if each.model == model and task in (None, each.task))
        return {each.prompt_id: each.scores for each in found}

    @property
    def models(self) -> list[str]:
        """The rungs that take a language model, in order of appearance."""
        return [rung for rung in dict.fromkeys(each.rung for each in self.served) if rung not in BASELINES]

    def write(self, folder: Path) -> None:
        """Write the document."""
        (folder / FILE).write_text(self.model_dump_json(indent=1) + "\n", encoding="utf-8")


def read_scores(folders: Iterable[Path]) -> CheapScores:
    """Read the documents of several models as one."""
    return joined([CheapScores.model_validate_json((folder / FILE).read_bytes()) for folder in folders])


def joined(documents: Sequence[CheapScores]) -> CheapScores:
    """Return several documents as one."""
    return CheapScores(
        served=tuple(each for document in documents for each in document.served),
        groups=tuple(each for document in documents for each in document.groups),
        tokens=sum(document.tokens for document in documents),
    )
