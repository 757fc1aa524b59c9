"""Prompts and rewards of a package: one function a component, in the forms of TRL and verl.

A package has this module, all that it imports and its data below its own name. A completion is scored alone, so that a
push keeps all of its variety; TRL gives a whole batch, whose other pushes decide it, as in our own training.
"""

import json
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Json

from schemas.json_lines import read_json_lines
from schemas.source import REPOSITORY
from schemas.tasks import TaskName
from tasks.benchmark.folder import CARD_FILE, read_databases
from tasks.commerce.registry import component_rewards, reward_of
from tasks.commerce.reward import StepReward

SPLITS: Final = ("train", "validation")
DATA_FOLDER: Final = "environment"
BatchReward = Callable[..., list[float | None]]


class EnvironmentRow(BaseModel):
    """One prompt: a line of `train.jsonl` or `validation.jsonl`, which has what trainers ask for beside it."""

    model_config = ConfigDict(frozen=True)

    prompt_id: str
    task: TaskName
    prompt: list[dict[str, str]]  # The system's and the user's turn, without control tokens.
    text: str  # As the reward reads it.
    reference: Json[dict[str, Any]] | None


class Environment:
    """The prompts of a package with their rewards; any thread may score."""

    def __init__(self, folder: Path) -> None:
        """Read a folder of data; the store is read when the first query is scored."""
        self.spec: Final = json.loads((folder / CARD_FILE).read_text(encoding="utf-8"))["spec"]
        self.splits: Final = {
            split: read_json_lines(folder / f"{split}.jsonl", EnvironmentRow, "environment") for split in SPLITS
        }
        self.rows: Final = {row.prompt_id: row for rows in self.splits.values() for row in rows}
        tasks = {row.task for row in self.rows.values()}
        self.weights: Final = {
            (task, name): weight for task, name, weight in component_rewards(self.spec) if task in tasks
        }
        # The function of each component asks for all components.
        self._score = lru_cache(4096)(self._components)
        self._folder, self._local = folder, threading.local()

    def component(self, task: TaskName, name: str, prompt_id: str, completion: str) -> float | None:
        """Return one component of a completion, in [0, 1]; None where the prompt is of another task."""
        return self._score(prompt_id, completion)[name] if self.rows[prompt_id].task == task else None

    def _components(self, prompt_id: str, completion: str) -> Mapping[str, float]:
        row, databases = self.rows[prompt_id], None
        if row.task == "sql_qa":
            # A copy in SQLite belongs to its thread.
            databases = getattr(self._local, "databases", None) or read_databases(self._folder)
            self._local.databases = databases
        return reward_of(row.task, self.spec).score(completion, row.text, row.reference, databases).components


@cache
def environment() -> Environment:
    """Return the environment of the package that this module is in, read once."""
    return Environment(REPOSITORY / DATA_FOLDER)


def trl_rewards() -> list[tuple[BatchReward, float]]:
    """Return TRL's `reward_funcs` with their `reward_weights`; a function gives None to prompts of other tasks."""
    return [(_batch_reward(task, name), weight) for (task, name), weight in environment().weights.items()]


def _batch_reward(task: TaskName, name: str) -> BatchReward:
    known = environment()
    whole = reward_of(task, known.spec)

    def reward(completions: Sequence[Any], prompt_id: Sequence[str], **_: Any) -> list[float | None]:
        texts = [str(each[-1]["content"]) for each in completions]
        values = [known.component(task, name, *each) for each in zip(prompt_id, texts, strict=True)]
        if isinstance(whole, StepReward) and name == whole.component:
            own = [place for place, value in enumerate(values) if value is not None]
            shares = whole.among([texts[place] for place in own])
            for place, share in zip(own, shares, strict=True):
                values[place] = share * (values[place] or 0.0)
        return values

    reward.__name__ = f"{task}_{name}"
    return reward


def compute_score(*, solution_str: str, ground_truth: str, **_: Any) -> dict[str, float]:
    """Return verl's score of a completion and each component, 0 of other tasks; `ground_truth` is the prompt's id."""
    known = environment()
    found = {key: known.component(*key, ground_truth, solution_str) or 0.0 for key in known.weights}
    score = math.fsum(known.weights[key] * value for key, value in found.items())
    return {"score": score, **{f"{task}_{name}": value for (task, name), value in found.items()}}
