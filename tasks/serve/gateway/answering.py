"""Answer to one question: a place in the queue, the engine, the strict reading, the log, and only then the client."""

import asyncio
import hashlib
import logging
import time
import uuid
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from schemas.config.serve import ServeConfig
from schemas.tables.prompts import PromptRow, content_id
from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce.registry import TASKS, score_rollout
from tasks.commerce.usable import CheckedAnswer
from tasks.policy.generate import as_messages
from tasks.serve.deployed_version import DeployedVersion
from tasks.serve.engines.client import EngineAnswer, EngineClient, EngineQuestion, EngineRefused, EngineUnavailable
from tasks.serve.gateway.admission import Admission
from tasks.serve.gateway.answer_log import DailyFile, LogUnwritable, Role, ServedAnswer
from tasks.serve.gateway.errors import RequestRefused
from tasks.serve.gateway.metrics import Metrics
from tasks.serve.gateway.own_time import elsewhere

SECONDS_BEFORE_ANOTHER_TRY: Final = 0.2
LOWEST_TEMPERATURE: Final = 1e-4
"""Temperature in the place of 0: as good as always the most likely token."""
OWN_DECODING: Final = "+own-decoding"
"""What follows a version's name in the log where the request set how the answer is drawn."""

Scrub = Callable[[str], str]
"""Replaces the personal data in a text."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ShopQuestion:
    """What a client asks."""

    row: PromptRow
    guided: bool
    """Whether the task's grammar guides the answer, where it has one."""
    temperature: float | None = None
    """Another than that of the evaluation; None for that one."""
    max_tokens: int | None = None
    """Fewer tokens than at the evaluation; None for as many."""
    seed: int | None = None
    """Another seed than the version's; None for that one."""
    key: str | None = None
    """Whose requests the same version answers; those of the same prompt where None."""

    @property
    def has_own_decoding(self) -> bool:
        """Whether the answer is drawn in another way than the evaluated ones."""
        return (self.temperature, self.max_tokens, self.seed) != (None, None, None)


@dataclass(frozen=True)
class Answered:
    """A question's answer, which is logged."""

    request_id: str
    version: str
    """NAME/VERSION of the model that answered."""
    answer: EngineAnswer
    checked: CheckedAnswer
    fault: str | None
    """Why a shop's program cannot use it; None where it can."""
    guided: bool
    milliseconds: float


@dataclass(frozen=True)
class _Routed:
    """Where a question goes."""

    client: EngineClient
    question: EngineQuestion
    role: Role
    version: str
    deployment: DeployedVersion
    """The version that reads the answer."""
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

    @property
    def tasks(self) -> list[TaskName]:
        """Tasks that are answered: those that the version learned, and refused ones that a larger model takes."""
        refused, learned = self._config.refuse, self.deployment.model.answers
        return [task for task in TASK_NAMES if (self._larger is not None if task in refused else learned(task))]

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
                    with asked.deployment.answering():
                        with elsewhere():
                            await asked.deployment.wait_until_ready()
                            answer, scrubbed = await self._complete(question, asked)
                        return await self._finish(question, asked, answer, scrubbed, began, arrived)
                except EngineRefused as error:
                    raise _refusal(error) from None
                except EngineUnavailable as error:
                    await _before_another_try(asked, error)

    async def stream(self, question: ShopQuestion) -> AsyncIterator[str | Answered]:
        """Answer a question piece by piece; the last one is the whole answer, which is logged by then.

        Raises:
            RequestRefused: It is not answered, or its answer cannot be logged; pieces may have been given before.
        """
        began, arrived = time.monotonic(), datetime.now(UTC)
        given = is_logged = False
        try:
            async with self._admission.place():
                while True:
                    asked = self._route(question)
                    try:
                        with asked.deployment.answering():
                            await asked.deployment.wait_until_ready()
                            async for piece in asked.client.stream(asked.question):
                                if isinstance(piece, EngineAnswer):
                                    scrubbed = self._scrub(question.row.prompt)
                                    answered = await self._finish(question, asked, piece, scrubbed, began, arrived)
                                    is_logged = True
                                    yield answered
                                    return
                                given = True
                                yield piece
                    except EngineRefused as error:
                        raise _refusal(error) from None
                    except EngineUnavailable as error:
                        if given:
                            raise RequestRefused(
                                503, "engine_ended", "the engine ended; ask again", retry_after=1
                            ) from None
                        await _before_another_try(asked, error)
        finally:
            if given and not is_logged:
                self._metrics.cut_off.inc()

    def _route(self, question: ShopQuestion) -> _Routed:
        """Return who answers: a version, or the larger model where the task is refused."""
        task = question.row.task
        if task not in self._config.refuse:
            if self._is_challengers(question) and self.challenger is not None:
                return _asked(question, self.challenger, "challenger")
            return _asked(question, self.deployment, "champion")
        if self._larger is None or self._config.larger is None:
            raise RequestRefused(
                422,
                "task_refused",
                f"{task} is not answered here: serve.refuse names it; ask another model, or set serve.larger",
            )
        asked, name = _asked(question, self.deployment, "larger"), self._config.larger.model
        # Another engine may know neither the seed nor the grammar's notation.
        other = replace(asked.question, model=name, seed=None, grammar="")
        return replace(asked, client=self._larger, question=other, version=name)

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
        asked = replace(_asked(question, challenger, "shadow"), shadow_of=request_id)
        began, arrived = time.monotonic(), datetime.now(UTC)
        try:
            async with asyncio.timeout(self._config.deadline_seconds):
                with challenger.answering():
                    await challenger.wait_until_ready()
                    answer, scrubbed = await self._complete(question, asked)
                    await self._finish(question, asked, answer, scrubbed, began, arrived)
        except (EngineRefused, EngineUnavailable, RequestRefused, TimeoutError):
            self._metrics.shadows_left_out.inc()

    async def _complete(self, question: ShopQuestion, asked: _Routed) -> tuple[EngineAnswer, str]:
        """Ask the engine, and return its answer, and the prompt without personal data, which is scrubbed meanwhile."""
        answering = asyncio.ensure_future(asked.client.complete(asked.question))
        try:
            # The request is sent before.
            await asyncio.sleep(0)
            scrubbed = self._scrub(question.row.prompt)
            return await answering, scrubbed
        finally:
            answering.cancel()

    async def _finish(
        self,
        question: ShopQuestion,
        asked: _Routed,
        answer: EngineAnswer,
        scrubbed: str,
        began: float,
        arrived: datetime,
    ) -> Answered:
        """Read the answer, and log it."""
        task = question.row.task
        checked = await asked.deployment.check(task, answer.text)
        cut_off = answer.finish_reason == "length"
        answered = Answered(
            request_id=f"{task}-{uuid.uuid4().hex}",
            version=asked.version,
            answer=answer,
            checked=checked,
            fault=f"it was cut off after {answer.tokens} tokens" if cut_off else checked.fault,
            guided=bool(asked.question.grammar),
            milliseconds=(time.monotonic() - began) * 1000,
        )
        form = self._form_of_some(question.row, answer.text)
        self._log_line(question.row, scrubbed, asked, answered, arrived, form)
        self._count(task, asked, answered, form)
        if asked.role == "champion":
            self._shadow(question, answered.request_id)
        return answered

    def _form_of_some(self, row: PromptRow, completion: str) -> float | None:
        """Return the reward of a sampled answer's form, which needs no reference; None for the others."""
        self._form_due += self._config.form_share
        if self._form_due < 1:
            return None
        self._form_due -= 1
        return score_rollout(row.answered(completion), None, "v4.2").reward

    def _log_line(
        self, row: PromptRow, prompt: str, asked: _Routed, answered: Answered, arrived: datetime, form: float | None
    ) -> None:
        line = ServedAnswer(
            request_id=answered.request_id,
            # Of the scrubbed text: a digest of a short text with a telephone number could be searched for.
            prompt_id=content_id(row.task, row.system, prompt, {}),
            task=row.task,
            prompt=prompt,
            completion=self._scrub(answered.answer.text),
            time=arrived,
            model_version=asked.version,
            latency_ms=round(answered.milliseconds, 1),
            reward=form,
            role=asked.role,
            shadow_of=asked.shadow_of,
            valid=answered.fault is None,
            fault=answered.fault,
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
        else:
            self._says_unlogged = False

    def _count(self, task: TaskName, asked: _Routed, answered: Answered, form: float | None) -> None:
        labels, metrics = (task, asked.version, asked.role), self._metrics
        metrics.answers.labels(*labels).inc()
        if answered.fault is None:
            metrics.valid.labels(*labels).inc()
        metrics.tokens.labels(*labels).inc(answered.answer.tokens)
        metrics.seconds.labels(*labels).observe(answered.milliseconds / 1000)
        if form is not None:
            metrics.form.labels(*labels).observe(form)


def _asked(question: ShopQuestion, deployment: DeployedVersion, role: Role) -> _Routed:
    """Return a version's question to its engine, in the decoding of its evaluation where the request has none."""
    row, decoding = question.row, deployment.model.decoding
    temperature = decoding.temperature if question.temperature is None else question.temperature
    asked = EngineQuestion(
        model=deployment.model.name_of(row.task),
        messages=as_messages(row.system, row.prompt),
        temperature=max(temperature, LOWEST_TEMPERATURE),
        max_tokens=min(question.max_tokens or decoding.max_tokens, decoding.max_tokens),
        seed=_seed(question, deployment),
        grammar=TASKS[row.task].grammar if question.guided else "",
    )
    # Monitoring compares with the evaluation what was drawn as there.
    version = f"{deployment.model.version_name}{OWN_DECODING if question.has_own_decoding else ''}"
    return _Routed(deployment.client, asked, role, version, deployment)


def _seed(question: ShopQuestion, deployment: DeployedVersion) -> int | None:
    if deployment.client.takes_seed:
        return deployment.model.seed if question.seed is None else question.seed
    if question.seed is not None:
        raise RequestRefused(422, "no_seed", "this engine takes no seed; leave it out")
    return None


def _refusal(error: EngineRefused) -> RequestRefused:
    return RequestRefused(422, "engine_refused", str(error))


async def _before_another_try(asked: _Routed, error: EngineUnavailable) -> None:
    """Wait before the same question is asked again: its answer is the same, and the deadline ends all tries."""
    _log.warning("the engine of %s does not answer (%s); the request is sent again", asked.version, error)
    await asyncio.sleep(SECONDS_BEFORE_ANOTHER_TRY)
