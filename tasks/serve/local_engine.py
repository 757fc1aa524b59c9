"""Laptop's own engine, in this process: one thread draws all answers, which join and leave between two tokens."""

import asyncio
import logging
import os
import queue
import threading
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jinja2 import TemplateError

from schemas.errors import InputError, TucanoError
from tasks.policy.child import THREADS
from tasks.policy.fork_server import THREADS_VARIABLE
from tasks.policy.generate import Completion, StopReason, generate, read_completion
from tasks.serve.engine_client import EngineAnswer, EngineQuestion, EngineRefused, EngineUnavailable
from tasks.serve.served_model import CHAMPION

if TYPE_CHECKING:
    from tasks.policy.continuous import ContinuousEngine, DrawnRow

PROMPT_TOKENS: Final = 512
"""Tokens of prompts computed between two steps, beyond which others wait: so long those that are drawn stand still."""
SECONDS_TO_END: Final = 5.0

_log = logging.getLogger(__name__)


@dataclass(eq=False)
class _LoadedModel:
    """Weights, or their sum with an adapter; without an engine, transformers' `generate` draws."""

    policy: Any
    vocabulary: int
    engine: "ContinuousEngine | None"


@dataclass(eq=False)
class _Waiting:
    """Question whose answer is drawn; it is given up once its answer is cancelled."""

    question: EngineQuestion
    answer: "Future[EngineAnswer]" = field(default_factory=Future)

    def settle(self, outcome: EngineAnswer | Exception) -> None:
        """Give the outcome to the caller, unless nobody waits any more."""
        if self.answer.done() or not self.answer.set_running_or_notify_cancel():
            return
        if isinstance(outcome, Exception):
            self.answer.set_exception(outcome)
        else:
            self.answer.set_result(outcome)


class LocalEngine:
    """Engine of the weights, by the name `champion`, and of adapters by their own names."""

    takes_seed = True

    def __init__(self, weights: Path, adapters: Mapping[str, Path], *, rows: int, max_tokens: int) -> None:
        """Describe an engine of a model folder and its adapters, which draws at most `rows` answers at once."""
        self._weights, self._folders = weights, {CHAMPION: None, **adapters}
        self._rows, self._max_tokens = rows, max_tokens
        self._inbox: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._waiting: deque[_Waiting] = deque()
        self._drawn: dict[DrawnRow, tuple[_Waiting, ContinuousEngine]] = {}
        self._models: dict[str, _LoadedModel] = {}
        self._tokenizer: Any = None
        self._longest = 0
        self._loaded: Future[None] = Future()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="drawing", daemon=True)

    async def start(self, seconds_to_load: float) -> None:
        """Load the models, and return once they can be asked.

        Raises:
            InputError: One cannot be read, or leaves no memory for answers.
            TucanoError: They are not loaded in time.
        """
        self._thread.start()
        try:
            await asyncio.wait_for(asyncio.wrap_future(self._loaded), seconds_to_load)
        except TimeoutError:
            raise TucanoError(
                f"{self._weights} is not loaded within {seconds_to_load:g} seconds; raise serve.seconds_to_load if it "
                "needs longer"
            ) from None

    async def is_healthy(self) -> bool:
        """Return whether its thread draws."""
        return self._thread.is_alive()

    async def complete(self, question: EngineQuestion) -> EngineAnswer:
        """Ask a question, as `EngineClient.complete`; one that is cancelled gives its place away."""
        asked = _Waiting(question)
        self._inbox.put(asked)
        return await asyncio.wrap_future(asked.answer)

    async def close(self) -> None:
        """End the thread; what it still draws is given up."""
        self._closed = True
        self._inbox.put(None)
        if self._thread.is_alive():
            await asyncio.to_thread(self._thread.join, SECONDS_TO_END)

    def _run(self) -> None:
        self._loaded.set_running_or_notify_cancel()
        try:
            self._load()
        except Exception as error:  # noqa: BLE001 - the caller of `start` has it
            self._loaded.set_exception(error)
            return
        self._loaded.set_result(None)
        while not self._closed:
            try:
                self._listen()
                self._forget_cancelled()
                self._admit()
                self._step()
            except Exception:  # noqa: BLE001 - all callers have it, and the engine goes on
                _log.exception("the engine failed, and begins again")
                self._begin_again()
        self._models.clear()
        self._drawn.clear()

    def _load(self) -> None:
        import torch
        import transformers

        from tasks.policy.batch import longest_sequence
        from tasks.policy.load import load_policy, load_tokenizer
        from tasks.policy.unpacked import engine_draws

        torch.set_num_threads(int(os.environ.get(THREADS_VARIABLE, THREADS)))
        transformers.utils.logging.disable_progress_bar()
        # Its advice is on a kernel that we do not use.
        logging.getLogger("bitsandbytes").setLevel(logging.ERROR)
        self._tokenizer = load_tokenizer(self._weights)
        for name, folder in self._folders.items():
            policy: Any = load_policy(self._weights, folder, four_bit=False)
            self._longest = longest_sequence(policy, self._rows * len(self._folders))
            if self._longest <= self._max_tokens:
                raise InputError(
                    f"this machine has memory for {self._longest} tokens in each of {self._rows} answers of "
                    f"{len(self._folders)} models at once, and one answer may take {self._max_tokens}; lower "
                    "serve.concurrency"
                )
            engine = self._engine_of(policy) if engine_draws(policy) else None
            self._models[name] = _LoadedModel(policy, policy.get_output_embeddings().weight.shape[0], engine)

    def _engine_of(self, policy: Any) -> "ContinuousEngine":
        from tasks.policy.continuous import ContinuousEngine

        return ContinuousEngine(policy, rows=self._rows, longest=self._longest, ends={self._tokenizer.eos_token_id})

    def _begin_again(self) -> None:
        """Give up all answers, and what was computed for them."""
        for asked in [*(asked for asked, _ in self._drawn.values()), *self._waiting]:
            asked.settle(EngineUnavailable("the engine failed"))
        self._drawn.clear()
        self._waiting.clear()
        for model in self._models.values():
            if model.engine is not None:
                model.engine = self._engine_of(model.policy)

    def _listen(self) -> None:
        """Take what was asked meanwhile; wait for it where there is nothing to do."""
        while not self._closed and not (self._inbox.empty() and (self._drawn or self._waiting)):
            asked = self._inbox.get()
            if asked is not None:
                self._waiting.append(asked)

    def _forget_cancelled(self) -> None:
        for row, (asked, engine) in list(self._drawn.items()):
            if asked.answer.cancelled():
                del self._drawn[row]
                engine.leave(row)

    def _admit(self) -> None:
        computed = 0
        while self._waiting and len(self._drawn) < self._rows and computed < PROMPT_TOKENS:
            asked = self._waiting.popleft()
            if asked.answer.cancelled():
                continue
            try:
                computed += self._begin(asked)
            except (EngineRefused, InputError) as error:
                asked.settle(EngineRefused(str(error)))
            except Exception:
                asked.settle(EngineUnavailable("the engine failed"))
                raise

    def _begin(self, asked: _Waiting) -> int:
        """Begin an answer, and return the tokens that were computed."""
        from tasks.policy.continuous import DrawnRow
        from tasks.policy.guidance import GuidedLogits, Sampled, grammars_of, keys_of

        question = asked.question
        model = self._models.get(question.model)
        if model is None:
            raise EngineRefused(f"the model that was asked is unknown; known are {', '.join(self._models)}")
        prompt = self._prompt(question)
        if model.engine is None:
            asked.settle(_answer(prompt, self._drawn_whole(question, model.policy)))
            return PROMPT_TOKENS
        guide = None
        if question.grammar:
            guide = GuidedLogits(grammars_of(self._tokenizer, model.vocabulary), [question.grammar])
        keys = keys_of([prompt], question.seed or 0)
        row = DrawnRow(prompt, Sampled(keys, temperature=question.temperature, guide=guide), question.max_tokens)
        self._drawn[row] = (asked, model.engine)
        model.engine.join(row)
        self._settle_ended(row)
        return len(prompt)

    def _prompt(self, question: EngineQuestion) -> tuple[int, ...]:
        messages = list(question.messages)
        try:
            text = self._tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        except TemplateError as error:
            reason = (str(error).splitlines() or [""])[0]
            raise EngineRefused(f"the model's chat template takes no such conversation: {reason}") from None
        prompt = tuple(self._tokenizer.encode(text, add_special_tokens=False, verbose=False))
        room = self._longest - question.max_tokens
        if len(prompt) > room:
            raise EngineRefused(
                f"the prompt has {len(prompt)} tokens, and the model reads {room} before an answer of "
                f"{question.max_tokens}; shorten it"
            )
        return prompt

    def _drawn_whole(self, question: EngineQuestion, policy: Any) -> Completion:
        """Draw an answer by transformers' `generate`, for a model that the engine does not know."""
        (completion,) = generate(
            policy,
            self._tokenizer,
            [[dict(message) for message in question.messages]],
            temperature=question.temperature,
            max_tokens=question.max_tokens,
            batch_size=1,
            seed=question.seed or 0,
            grammars=[question.grammar],
        )
        return completion

    def _step(self) -> None:
        for model in self._models.values():
            for row in model.engine.step() if model.engine else ():
                self._settle_ended(row)

    def _settle_ended(self, row: "DrawnRow") -> None:
        if row.ended:
            asked, _ = self._drawn.pop(row)
            fault, completion = row.fault, read_completion(row.drawn, self._tokenizer)
            asked.settle(_answer(row.prompt, completion) if fault is None else EngineRefused(fault))


def _answer(prompt: tuple[int, ...], completion: Completion) -> EngineAnswer:
    is_whole = completion.stop_reason is StopReason.END_OF_TURN
    return EngineAnswer(completion.text, completion.tokens, len(prompt), "stop" if is_whole else "length")
