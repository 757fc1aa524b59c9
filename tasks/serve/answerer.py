"""Model of a registered version in this process, with the decoding that it was evaluated with."""

import time
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from schemas.errors import InputError
from schemas.progress import Progress
from schemas.references import knows_anything
from schemas.tables.prompts import PromptRow
from schemas.tasks import TaskName
from tasks.commerce.registry import TASKS, score_rollout
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.serve.deployment import DeployedVersion
from tasks.serve.engine_client import EngineAnswer, EngineRefused
from tasks.serve.local_engine import LocalEngine
from tasks.serve.served_model import CUT_OFF, ServedModel


class TaskAnswer(BaseModel):
    """Answer to one prompt, read and checked."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    prompt_id: str
    task: TaskName
    prompt: str
    completion: str
    """The answer, which is hostile text."""
    text: str | None
    checked: bool
    reason: str | None
    parsed: dict[str, Any] | str | None
    """As `Served` has these four."""
    tokens: int
    seconds: float
    """Time of the batch that it was drawn in."""
    reward: float | None
    components: dict[str, float] | None
    """The reward in [0, 1] and its parts; None without a reference."""


class Answerer:
    """A loaded model."""

    def __init__(self, served: ServedModel, task: TaskName) -> None:
        """Prepare to answer a task; the weights are loaded with the first prompt."""
        if (why := served.refusal(task)) is not None:
            raise InputError(why)
        self._served, self._bag = served, served.bags.get(task)
        self._databases = Databases.open(served.store) if task == "sql_qa" and served.store else None
        self._engine = LocalEngine(served.weights, served.adapters, rows=served.batch_size)
        self._version = DeployedVersion(served, self._engine)

    def answer(self, rows: Sequence[PromptRow], progress: Progress) -> list[TaskAnswer]:
        """Answer prompts of the task, in their order."""
        if self._bag is not None:
            return [self._checked(row, EngineAnswer(self._bag.answer(row.prompt), 0, 0, "stop"), 0.0) for row in rows]
        questions = [self._version.question(row) for row in rows]
        for number, question in enumerate(questions, start=1):
            if isinstance(refused := self._engine.prompt_length(question), EngineRefused):
                raise InputError(str(refused).replace("the prompt", f"prompt {number} of {len(rows)}", 1))
        answers: list[TaskAnswer] = []
        size = self._served.batch_size
        for start in range(0, len(rows), size):
            started = time.monotonic()
            drawn = self._engine.draw(questions[start : start + size])
            seconds = time.monotonic() - started
            for row, answer in zip(rows[start : start + size], drawn, strict=True):
                if isinstance(answer, Exception):
                    raise InputError(str(answer)) if isinstance(answer, EngineRefused) else answer
                answers.append(self._checked(row, answer, seconds))
            progress(len(answers), len(rows), "answers")
        return answers

    def _checked(self, row: PromptRow, answer: EngineAnswer, seconds: float) -> TaskAnswer:
        is_whole = answer.finish_reason != "length"
        served = TASKS[row.task].serve(answer.text if is_whole else "", row.prompt, self._databases)
        known = knows_anything(row.reference) and (row.task != "sql_qa" or self._databases is not None)
        scored = score_rollout(row.answered(answer.text), self._databases, self._served.spec) if known else None
        return TaskAnswer(
            prompt_id=row.prompt_id,
            task=row.task,
            prompt=row.prompt,
            completion=answer.text,
            **(served if is_whole else served._replace(reason=CUT_OFF))._asdict(),
            tokens=answer.tokens,
            seconds=seconds,
            reward=scored.reward if scored else None,
            components=scored.components if scored else None,
        )
