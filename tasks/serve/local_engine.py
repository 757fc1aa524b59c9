"""Laptop's own engine, in this process: one thread draws the questions that wait together, as `generate` does."""

import asyncio
import json
import logging
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from jinja2 import TemplateError

from schemas.errors import InputError
from tasks.policy.child import THREADS
from tasks.policy.fork_server import THREADS_VARIABLE
from tasks.policy.generate import Completion, Message, StopReason, generate, tokens_of
from tasks.serve.engine_client import EngineAnswer, EngineQuestion, EngineRefused, EngineUnavailable
from tasks.serve.served_model import CHAMPION

_log: Final = logging.getLogger(__name__)


@dataclass(eq=False)
class _Waiting:
    """Question that waits to be drawn; it is given up once its answer is cancelled."""

    question: EngineQuestion
    answer: "asyncio.Future[EngineAnswer]"

    @property
    def kind(self) -> tuple[object, ...]:
        """What all questions have in common that are drawn together."""
        asked = self.question
        return asked.model, asked.temperature, asked.max_tokens, asked.seed


class LocalEngine:
    """Engine of the weights, by the name `champion`, and of adapters by their own names."""

    takes_seed = True

    def __init__(self, weights: Path, adapters: Mapping[str, Path], *, rows: int) -> None:
        """Describe an engine of a model folder and its adapters, which draws at most `rows` answers at once."""
        self._weights, self._folders, self._rows = weights, {CHAMPION: None, **adapters}, rows
        self._models: dict[str, Any] = {}
        self._tokenizer: Any = None
        self._waiting: list[_Waiting] = []
        self._drawing: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="drawing")

    async def start(self) -> None:
        """Load the models, and return once they can be asked; InputError where one cannot be read."""
        for name in self._folders:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._load_model, name)

    async def is_healthy(self) -> bool:
        """Return whether its models are loaded."""
        return bool(self._models)

    async def complete(self, question: EngineQuestion) -> EngineAnswer:
        """Ask a question, as `EngineClient.complete`; one that is cancelled before its turn is not drawn."""
        asked = _Waiting(question, asyncio.get_running_loop().create_future())
        self._waiting.append(asked)
        if self._drawing is None or self._drawing.done():
            self._drawing = asyncio.create_task(self._draw_all())
        return await asked.answer

    async def close(self) -> None:
        """End the thread after what it draws; nobody may wait for an answer any more."""
        await asyncio.to_thread(self._thread.shutdown)
        self._models.clear()

    def _load_model(self, name: str) -> None:
        import torch
        import transformers

        from tasks.policy.load import load_policy, load_tokenizer
        from tasks.policy.unpacked import engine_draws, unpacked

        torch.set_num_threads(int(os.environ.get(THREADS_VARIABLE, THREADS)))
        transformers.utils.logging.disable_progress_bar()
        # Its advice is on a kernel that we do not use.
        logging.getLogger("bitsandbytes").setLevel(logging.ERROR)
        self._tokenizer = load_tokenizer(self._weights)
        policy: Any = load_policy(self._weights, self._folders[name], four_bit=False)
        # Its adapter is added once, and not for each draw.
        self._models[name] = unpacked(policy) if engine_draws(policy) else policy

    async def _draw_all(self) -> None:
        """Draw what waits, the oldest first, with what is drawn alike."""
        while waiting := [asked for asked in self._waiting if not asked.answer.done()]:
            batch = [asked for asked in waiting if asked.kind == waiting[0].kind][: self._rows]
            self._waiting = [asked for asked in waiting if asked not in batch]
            questions = [asked.question for asked in batch]
            outcomes = await asyncio.get_running_loop().run_in_executor(self._thread, self.draw, questions)
            for asked, outcome in zip(batch, outcomes, strict=True):
                if asked.answer.done():
                    continue
                if isinstance(outcome, Exception):
                    asked.answer.set_exception(outcome)
                else:
                    asked.answer.set_result(outcome)

    def draw(self, questions: Sequence[EngineQuestion]) -> list[EngineAnswer | Exception]:
        """Return the answers to questions that differ in their words and grammars alone, or why there is none."""
        try:
            lengths = [self.prompt_length(question) for question in questions]
            readable = [each for each, length in zip(questions, lengths, strict=True) if isinstance(length, int)]
            drawn = iter(self._completions(readable))
            return [_answer(length, next(drawn)) if isinstance(length, int) else length for length in lengths]
        except InputError as error:
            if len(questions) == 1:
                return [EngineRefused(str(error))]
            # The grammar of one was given up: the others are drawn without it.
            return [outcome for question in questions for outcome in self.draw([question])]
        except Exception:  # noqa: BLE001 - all callers have it, and the engine goes on
            _log.exception("the engine failed, and goes on")
            return [EngineUnavailable("the engine failed")] * len(questions)

    def prompt_length(self, question: EngineQuestion) -> int | EngineRefused:
        """Return a prompt's tokens, or why the model cannot read it."""
        if question.model not in self._models:
            self._load_model(question.model)
        try:
            tokens = len(tokens_of(self._tokenizer, _messages(question)))
        except TemplateError as error:
            reason = (str(error).splitlines() or [""])[0]
            return EngineRefused(f"the model's chat template takes no such conversation: {reason}")
        room = self._models[question.model].config.max_position_embeddings - question.max_tokens
        if tokens <= room:
            return tokens
        return EngineRefused(
            f"the prompt has {tokens} tokens, and the model reads {room} before an answer of {question.max_tokens}; "
            "shorten it"
        )

    def _completions(self, questions: Sequence[EngineQuestion]) -> list[Completion]:
        """Draw an answer to each question; the same question has the same answer."""
        if not questions:
            return []
        keys = [json.dumps([_messages(question), question.grammar]) for question in questions]
        distinct = dict(zip(keys, questions, strict=True))
        first = questions[0]
        drawn = generate(
            self._models[first.model],
            self._tokenizer,
            list(map(_messages, distinct.values())),
            temperature=first.temperature,
            max_tokens=first.max_tokens,
            batch_size=self._rows,
            seed=first.seed or 0,
            grammars=[question.grammar for question in distinct.values()],
        )
        completions = dict(zip(distinct, drawn, strict=True))
        return [completions[key] for key in keys]


def _messages(question: EngineQuestion) -> list[Message]:
    return [dict(message) for message in question.messages]


def _answer(prompt_tokens: int, completion: Completion) -> EngineAnswer:
    is_whole = completion.stop_reason is StopReason.END_OF_TURN
    return EngineAnswer(completion.text, completion.tokens, prompt_tokens, "stop" if is_whole else "length")
