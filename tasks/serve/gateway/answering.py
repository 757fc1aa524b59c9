"""Answer to one question: a place in the queue, the engine, the strict reading, the log, and only then the client."""

import asyncio
import hashlib
import logging
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from schemas.config.serve import ServeConfig
from schemas.tables.prompts import PromptRow, content_id
from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce.registry import SERVED, grammar_of, score_rollout
from tasks.policy.generate import as_messages
from tasks.serve.deployment import DeployedVersion
from tasks.serve.engines.client import (
    AnswerEngine,
    EngineClient,
    EngineQuestion,
    EngineRefused,
    EngineUnavailable,
)
from tasks.serve.gateway.answer_log import DailyFile, LogUnwritable, Role, ServedAnswer
from tasks.serve.gateway.limits import Admission, RequestRefused
from tasks.serve.gateway.metrics import Metrics, elsewhere
from tasks.serve.gateway.requests import Answered, ShopQuestion
from tasks.serve.served_model import CUT_OFF, Decoding

SECONDS_BEFORE_ANOTHER_TRY: Final = 0.2
LOWEST_TEMPERATURE: Final = 1e-4
"""Temperature in the place of 0: as good as always the most likely token."""
OWN_DECODING: Final = "+own-decoding"
"""What follows a version's name in the log where the request was answered otherwise than at the evaluation."""

Scrub = Callable[[str], str]
"""Replaces the personal data in a text."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Routed:
    """Where a question goes."""

    client: AnswerEngine
    question: EngineQuestion
    role: Role
    version: str
    deployment: DeployedVersion
    """The version that checks the answer."""
    shadow_of: str | None = None
    """The champion's request that a shadow answers too."""


class AnswerService:
    """The part of the gateway that all ways of asking share."""

    def __init__(
        self,
        deployment: DeployedVersion,
        config: ServeConfig,
        *,
        challenger: DeployedVersion | None = None,
        log: DailyFile,
        scrub: Scrub,
        metrics: Metrics,
        larger: EngineClient | None,
    ) -> None:
        """Begin to answer.

        Args:
            deployment: The version that answers.
            config: The limits, and the tasks that are refused.
            challenger: The version that is tried beside it, as `config.challenger` says.
            log: Takes each answer.
            scrub: Applied to every text before it is logged.
            metrics: Counts.
            larger: Answers the refused tasks; None where they stay refused.
        """
        self.deployment = deployment
        """The version that answers; another one takes over between two requests."""
        self.challenger = challenger
        """The version that is tried beside it; None for none."""
        self._shadows: set[asyncio.Task[None]] = set()
        self._config, self._log, self._scrub, self._metrics = config, log, scrub, metrics
        self._larger = larger
        self._admission = Admission(
            places=config.concurrency, queue=config.queue, deadline_seconds=config.deadline_seconds
        )
        self._form_due = 0.0
        self._says_unlogged = False
        self._away: set[AnswerEngine] = set()
        """Engines that did not answer last; one line says so, however many tries there are."""

    @property
    def tasks(self) -> list[TaskName]:
        """Tasks that are answered: those that the version learned, and refused ones that a larger model takes."""
        return [task for task in TASK_NAMES if self._refusal(task) is None]

    @property
    def requests_inside(self) -> int:
        """Requests that are answered or wait."""
        return self._admission.inside

    async def answer(self, question: ShopQuestion) -> Answered:
        """Answer a question.

        Raises:
            RequestRefused: It is not answered, or its answer cannot be logged.
        """
        began, arrived = time.monotonic(), datetime.now(UTC)
        async with self._admission.place():
            while True:
                asked = self._route(question)
                try:
                    return await self._answer_by(asked, question, began, arrived)
                except EngineRefused as error:
                    raise RequestRefused(422, "engine_refused", str(error)) from None
                except EngineUnavailable as error:
                    # The same question has the same answer, and the deadline ends all tries.
                    if asked.client not in self._away:
                        _log.warning(
                            "the engine of %s does not answer (%s); requests are sent again", asked.version, error
                        )
                    self._away.add(asked.client)
                    await asyncio.sleep(SECONDS_BEFORE_ANOTHER_TRY)

    async def _answer_by(self, asked: _Routed, question: ShopQuestion, began: float, arrived: datetime) -> Answered:
        """Let a version answer; its answer is checked and logged."""
        row = question.row
        with asked.deployment.answering():
            with elsewhere():
                await asked.deployment.wait_until_ready()
                answer = await asked.client.complete(asked.question)
            if asked.client in self._away:
                self._away.remove(asked.client)
                _log.warning("the engine of %s answers again", asked.version)
            ends = [place for stop in question.stop if (place := answer.text.find(stop)) >= 0]
            if ends:
                # As in OpenAI's API; the tokens are those that were drawn.
                answer = replace(answer, text=answer.text[: min(ends)], finish_reason="stop")
            is_whole = answer.finish_reason != "length"
            served = await asked.deployment.serve(row, answer.text if is_whole else "")
        answered = Answered(
            request_id=question.request_id,
            version=asked.version,
            answer=answer,
            served=served if is_whole else served._replace(reason=CUT_OFF),
            guided=bool(asked.question.grammar),
            milliseconds=(time.monotonic() - began) * 1000,
        )
        form = self._form_of_some(row, answer.text if served.text is None else served.text)
        self._log_line(question, asked, answered, arrived, form)
        self._count(row.task, asked, answered, form)
        if asked.role == "champion":
            self._shadow(question, answered.request_id)
        return answered

    def _route(self, question: ShopQuestion) -> _Routed:
        """Return who answers: a version, or the larger model where the task is refused."""
        task = question.row.task
        if refusal := self._refusal(task):
            raise refusal
        if task not in self._config.refuse or self._larger is None or self._config.larger is None:
            tried = self.challenger
            if tried is not None and self._is_challengers(question) and tried.model.refusal(task) is None:
                return _asked(question, tried, "challenger")
            return _asked(question, self.deployment, "champion")
        asked, name = _asked(question, self.deployment, "larger"), self._config.larger.model
        # Another engine may know neither the seed nor the grammar's notation.
        unknown = "seed" if question.seed is not None else "response_format" if question.needs_form else None
        if unknown is not None:
            raise RequestRefused(
                422,
                "not_by_larger",
                f"{unknown} cannot be honoured for {task}, which a larger model answers here; leave it out",
                param=unknown,
            )
        other = replace(asked.question, model=name, seed=None, grammar="")
        return replace(asked, client=self._larger, question=other, version=name)

    def _refusal(self, task: TaskName) -> RequestRefused | None:
        """Return why a task is not answered; None where it is."""
        if task not in self._config.refuse:
            sentence = self.deployment.model.refusal(task)
            return None if sentence is None else RequestRefused(422, "task_not_learned", sentence)
        if self._larger is not None:
            return None
        sentence = f"{task} is not answered here: serve.refuse names it; ask another model, or set serve.larger"
        return RequestRefused(422, "task_refused", sentence)

    def _is_challengers(self, question: ShopQuestion) -> bool:
        config = self._config.challenger
        if config is None or config.shadow:
            return False
        key = f"{config.version}:{question.key or question.row.prompt_id}"
        digest = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return int.from_bytes(digest, "big") < config.share * 2**64

    def _shadow(self, question: ShopQuestion, request_id: str) -> None:
        """Let the challenger answer too, for the log alone, unless it is behind already."""
        config = self._config.challenger
        if config is None or not config.shadow or self.challenger is None:
            return
        if len(self._shadows) >= self._config.concurrency:
            self._metrics.shadows_left_out.inc()
            return
        task = asyncio.create_task(self._answer_unseen(question, request_id, self.challenger))
        self._shadows.add(task)
        task.add_done_callback(self._shadows.discard)

    async def _answer_unseen(self, question: ShopQuestion, request_id: str, challenger: DeployedVersion) -> None:
        question = replace(question, identity=uuid.uuid4().hex)
        asked = replace(_asked(question, challenger, "shadow"), shadow_of=request_id)
        try:
            async with asyncio.timeout(self._config.deadline_seconds):
                await self._answer_by(asked, question, time.monotonic(), datetime.now(UTC))
        except (EngineRefused, EngineUnavailable, RequestRefused, TimeoutError):
            self._metrics.shadows_left_out.inc()

    def _form_of_some(self, row: PromptRow, text: str) -> float | None:
        """Return the reward of a sampled answer's form, which needs no reference; None for the others."""
        self._form_due += self._config.form_share
        if self._form_due < 1:
            return None
        self._form_due -= 1
        return score_rollout(row.answered(text), None, "v4.2").reward

    def _log_line(
        self, question: ShopQuestion, asked: _Routed, answered: Answered, arrived: datetime, form: float | None
    ) -> None:
        row, served, prompt = question.row, answered.served, self._scrub(question.row.prompt)
        # A prompt within a conversation is another one than the prompt alone.
        before = "\n".join([row.system, *(self._scrub(turn["content"]) for turn in question.earlier)])
        line = ServedAnswer(
            request_id=answered.request_id,
            # Of the scrubbed text: a digest of a short text with a telephone number could be searched for.
            prompt_id=content_id(row.task, before, prompt, {}),
            task=row.task,
            prompt=prompt,
            completion=self._scrub(answered.answer.text),
            time=arrived,
            model_version=answered.version,
            latency_ms=round(answered.milliseconds, 1),
            reward=form,
            role=asked.role,
            shadow_of=asked.shadow_of,
            valid=served.text is not None,
            checked=served.checked,
            reason=served.reason,
            shown=None if served.text is None else self._scrub(served.text),
            guided=answered.guided,
            tokens=answered.answer.tokens,
        )
        try:
            self._log.append(line, arrived)
        except LogUnwritable as error:
            self._metrics.unlogged.inc()
            if self._config.require_log:
                raise RequestRefused(
                    503, "log_unwritable", f"the answer cannot be logged: {error}; no answer is given", retry_after=30
                ) from None
            if not self._says_unlogged:
                _log.error("answers are sent that cannot be logged: %s", error)
            self._says_unlogged = True
            return
        self._says_unlogged = False

    def _count(self, task: TaskName, asked: _Routed, answered: Answered, form: float | None) -> None:
        labels, metrics = (task, asked.version, asked.role), self._metrics
        metrics.answers.labels(*labels).inc()
        metrics.valid.labels(*labels).inc(answered.served.text is not None)
        metrics.checked.labels(*labels).inc(answered.served.checked)
        metrics.tokens.labels(*labels).inc(answered.answer.tokens)
        metrics.seconds.labels(*labels).observe(answered.milliseconds / 1000)
        if form is not None:
            metrics.form.labels(*labels).observe(form)


def _asked(question: ShopQuestion, deployment: DeployedVersion, role: Role) -> _Routed:
    """Return a version's question to its engine, in the decoding of its evaluation where the request has none."""
    model, decoding = deployment.model, deployment.model.decoding
    row = question.row
    temperature = decoding.temperature if question.temperature is None else question.temperature
    max_tokens = min(question.max_tokens or decoding.max_tokens, decoding.max_tokens)
    system, prompt = as_messages(row.system, row.prompt)
    asked = EngineQuestion(
        model=model.name_of(row.task),
        messages=[system, *question.earlier, prompt],
        temperature=max(temperature, LOWEST_TEMPERATURE),
        max_tokens=max_tokens,
        seed=_seed(question, deployment),
        grammar=grammar_of(row.task, row.prompt, SERVED) if question.guided else "",
    )
    # Monitoring compares with the evaluation what was drawn as there.
    is_evaluated = Decoding(temperature, max_tokens) == decoding and question.seed in {None, model.seed}
    is_as_there = is_evaluated and not question.earlier and not question.stop
    version = model.version_name if is_as_there else f"{model.version_name}{OWN_DECODING}"
    return _Routed(deployment.client, asked, role, version, deployment)


def _seed(question: ShopQuestion, deployment: DeployedVersion) -> int | None:
    if deployment.client.takes_seed:
        return deployment.model.seed if question.seed is None else question.seed
    if question.seed is not None:
        raise RequestRefused(422, "no_seed", "seed: this engine takes none; leave it out", param="seed")
    return None
