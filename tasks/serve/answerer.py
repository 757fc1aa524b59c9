"""Model of a registered version in this process, with the decoding that it was evaluated with."""

import logging
import time
from collections.abc import Sequence
from typing import Any

import transformers
from pydantic import BaseModel, ConfigDict

from schemas.errors import InputError
from schemas.progress import Progress
from schemas.references import knows_anything
from schemas.tables.prompts import PromptRow
from schemas.tasks import TaskName
from tasks.commerce.registry import SERVED, TASKS, grammar_of, score_rollout
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.policy.generate import Completion, StopReason, as_messages, generate, tokens_of
from tasks.policy.load import adapter_for, load_policy, load_tokenizer
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
        """Load the weights for a task."""
        if (why := served.refusal(task)) is not None:
            raise InputError(why)
        self._served = served
        self._databases = Databases.open(served.store) if task == "sql_qa" and served.store else None
        if task in served.bags:
            return
        # On a terminal people ask: the libraries' bars and their advice on a kernel that we do not use are for nobody.
        logging.getLogger("bitsandbytes").setLevel(logging.ERROR)
        transformers.utils.logging.disable_progress_bar()
        self._tokenizer = load_tokenizer(served.weights)
        adapter = adapter_for(served.policy, task) if served.policy is not None else None
        self._model: Any = load_policy(served.weights, adapter, four_bit=False)

    def answer(self, rows: Sequence[PromptRow], progress: Progress) -> list[TaskAnswer]:
        """Answer prompts of the task, in their order."""
        if rows and (bag := self._served.bags.get(rows[0].task)) is not None:
            said = [Completion(bag.answer(row.prompt), 0, StopReason.END_OF_TURN) for row in rows]
            return [self._checked(row, completion, 0.0) for row, completion in zip(rows, said, strict=True)]
        conversations = [as_messages(row.system, row.prompt) for row in rows]
        self._refuse_too_long(conversations)
        answers: list[TaskAnswer] = []
        size = self._served.batch_size
        for start in range(0, len(rows), size):
            started = time.monotonic()
            completions = generate(
                self._model,
                self._tokenizer,
                conversations[start : start + size],
                temperature=self._served.decoding.temperature,
                max_tokens=self._served.decoding.max_tokens,
                batch_size=size,
                seed=self._served.seed,
                grammars=[grammar_of(row.task, row.prompt, SERVED) for row in rows[start : start + size]],
            )
            seconds = time.monotonic() - started
            pairs = zip(rows[start : start + size], completions, strict=True)
            answers += [self._checked(row, completion, seconds) for row, completion in pairs]
            progress(len(answers), len(rows), "answers")
        return answers

    def _refuse_too_long(self, conversations: Sequence[list[dict[str, str]]]) -> None:
        room = self._model.config.max_position_embeddings - self._served.decoding.max_tokens
        for number, messages in enumerate(conversations, start=1):
            if (found := len(tokens_of(self._tokenizer, messages))) > room:
                raise InputError(
                    f"prompt {number} of {len(conversations)} has {found} tokens, and the model reads {room} before an "
                    f"answer of {self._served.decoding.max_tokens}; shorten it"
                )

    def _checked(self, row: PromptRow, completion: Completion, seconds: float) -> TaskAnswer:
        spec = self._served.spec
        is_whole = completion.stop_reason is not StopReason.TOKEN_LIMIT
        served = TASKS[row.task].serve(completion.text if is_whole else "", row.prompt, self._databases)
        known = knows_anything(row.reference) and (row.task != "sql_qa" or self._databases is not None)
        scored = score_rollout(completion.as_rollout(row), self._databases, spec) if known else None
        return TaskAnswer(
            prompt_id=row.prompt_id,
            task=row.task,
            prompt=row.prompt,
            completion=completion.text,
            **(served if is_whole else served._replace(reason=CUT_OFF))._asdict(),
            tokens=completion.tokens,
            seconds=seconds,
            reward=scored.reward if scored else None,
            components=scored.components if scored else None,
        )
