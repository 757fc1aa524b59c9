"""Answer to one question: a place in the queue, the engine, the strict reading, the log, and only then the client."""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from schemas.config.serve import ServeConfig
from schemas.tables.prompts import content_id
from schemas.tasks import TASK_NAMES, TaskName
from tasks.bag_of_words.sentences import BAG_OF_WORDS
from tasks.policy.generate import COLD
from tasks.serve.deployment import DeployedVersion
from tasks.serve.engine_client import EngineQuestion, EngineRefused, EngineUnavailable
from tasks.serve.gateway.answer_log import DailyFile, LogUnwritable, ServedAnswer
from tasks.serve.gateway.limits import RequestRefused
from tasks.serve.gateway.requests import Answered, ShopQuestion
from tasks.serve.served_model import CHAMPION, CUT_OFF, Answerer

SECONDS_BEFORE_ANOTHER_TRY: Final = 0.2
SECONDS: Final = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
"""Upper bounds of the buckets of a request's time."""
OWN_DECODING: Final = "+own-decoding"
"""What follows a version's name in the log where the request was answered otherwise than at the evaluation."""

Scrub = Callable[[str], str]
"""Replaces the personal data in a text."""

_log = logging.getLogger(__name__)


class Metrics:
    """What the gateway counts from its start on, in Prometheus' format."""

    def __init__(self) -> None:
        """Begin at zero."""
        self._registry = registry = CollectorRegistry()

        def counter(name: str, meaning: str, *labels: str) -> Counter:
            return Counter(f"tucano_{name}", meaning, labels, registry=registry)

        of_answer = "task", "version"
        self.answers = counter("answers", "Answers that were made.", *of_answer)
        self.valid = counter("valid_answers", "Answers that were sent, at least in part.", *of_answer)
        self.checked = counter("checked_answers", "Answers that were checked and hold as a whole.", *of_answer)
        self.tokens = counter("tokens", "Tokens of the answers.", *of_answer)
        meaning = "Time of a request, its waiting included."
        self.seconds = Histogram("tucano_answer_seconds", meaning, of_answer, buckets=SECONDS, registry=registry)
        self.refused = counter("refused_requests", "Requests that were not answered.", "code")
        self.unlogged = counter("unlogged_answers", "Answers that could not be logged.")
        self.switches = counter("switches", "New versions by what became of them.", "outcome")
        self.requests_inside = Gauge("tucano_requests_inside", "Requests answered or waiting.", registry=registry)

    def text(self) -> bytes:
        """Return all of them in Prometheus' text format."""
        return generate_latest(self._registry)


class AnswerService:
    """The part of the gateway that all ways of asking share."""

    def __init__(
        self, deployment: DeployedVersion, config: ServeConfig, *, log: DailyFile, scrub: Scrub, metrics: Metrics
    ) -> None:
        """Begin to answer within the limits of `config`; every text is scrubbed before it is logged."""
        self.deployment = deployment
        """The version that answers; another one takes over between two requests."""
        self._config, self._log, self._scrub, self._metrics = config, log, scrub, metrics
        self._places = asyncio.Semaphore(config.concurrency)
        self.requests_inside = 0
        """Requests that are answered or wait."""
        self._says_unlogged = self._is_away = False
        """Whether the log could not be written last, and the engine not be asked: one line says so of many tries."""

    @property
    def tasks(self) -> list[TaskName]:
        """Tasks that are answered."""
        return [task for task in TASK_NAMES if self._refusal(self.deployment, task) is None]

    async def answer(self, question: ShopQuestion, by: Answerer = CHAMPION) -> Answered:
        """Wait for a place in the queue, and answer a question; `RequestRefused` says why there is no answer."""
        if self.requests_inside >= self._config.concurrency + self._config.queue:
            sentence = f"{self.requests_inside} requests are under way; try again later"
            raise RequestRefused(429, "queue_full", sentence, retry_after=1)
        self.requests_inside += 1
        try:
            async with asyncio.timeout(self._config.deadline_seconds):
                return await self._answer(question, by, time.monotonic(), datetime.now(UTC))
        except TimeoutError:
            sentence = f"no answer within {self._config.deadline_seconds:g} seconds; try again later"
            raise RequestRefused(504, "deadline", sentence, retry_after=1) from None
        finally:
            self.requests_inside -= 1

    async def _answer(self, question: ShopQuestion, by: Answerer, began: float, arrived: datetime) -> Answered:
        async with self._places:
            while True:
                deployment = self._deployment(by, question.row.task)
                if refusal := self._refusal(deployment, question.row.task):
                    raise refusal
                try:
                    with deployment.answering():
                        answered = await self._answer_by(deployment, question, began)
                except EngineRefused as error:
                    raise RequestRefused(422, "engine_refused", str(error)) from None
                except EngineUnavailable as error:
                    # The same question has the same answer, and the deadline ends all tries.
                    self._report_away(deployment, error)
                    await asyncio.sleep(SECONDS_BEFORE_ANOTHER_TRY)
                else:
                    self._log_line(question, answered, arrived)
                    self._count(question.row.task, answered)
                    return answered

    async def _answer_by(self, deployment: DeployedVersion, question: ShopQuestion, began: float) -> Answered:
        """Let a version answer, and check its answer."""
        asked, version = _engine_question(question, deployment)
        answer = await deployment.complete(question.row, asked)
        self._report_away(deployment, None)
        if ends := [place for stop in question.stop if (place := answer.text.find(stop)) >= 0]:
            # As in OpenAI's API; the tokens are those that were drawn.
            answer = replace(answer, text=answer.text[: min(ends)], finish_reason="stop")
        is_whole = answer.finish_reason != "length"
        served = await deployment.serve(question.row, answer.text if is_whole else "")
        return Answered(
            request_id=question.request_id,
            version=version,
            answer=answer,
            served=served if is_whole else served._replace(reason=CUT_OFF),
            guided=bool(asked.grammar),
            milliseconds=(time.monotonic() - began) * 1000,
        )

    def _report_away(self, deployment: DeployedVersion, error: EngineUnavailable | None) -> None:
        name, was_away, self._is_away = deployment.model.version_name, self._is_away, error is not None
        if error is not None and not was_away:
            _log.warning("the engine of %s does not answer (%s); requests are sent again", name, error)
        elif error is None and was_away:
            _log.warning("the engine of %s answers again", name)

    def _deployment(self, by: Answerer, task: TaskName) -> DeployedVersion:
        """Return what answers a task by a name; the version that serves may be another by the next request."""
        found = self.deployment if by == CHAMPION else self.deployment.beside.get(by)
        if found is None or (by == BAG_OF_WORDS and task not in found.model.bags):
            raise RequestRefused(422, "not_beside", f"no {by} answers {task} here; ask the champion", param="by")
        return found

    def _refusal(self, deployment: DeployedVersion, task: TaskName) -> RequestRefused | None:
        """Return why a task is not answered; None where it is."""
        if task in self._config.refuse:
            sentence = f"{task} is not answered here: serve.refuse names it; ask another model"
            return RequestRefused(422, "task_refused", sentence)
        not_learned = deployment.model.refusal(task)
        return None if not_learned is None else RequestRefused(422, "task_not_learned", not_learned)

    def _log_line(self, question: ShopQuestion, answered: Answered, arrived: datetime) -> None:
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
                sentence = f"the answer cannot be logged: {error}; no answer is given"
                raise RequestRefused(503, "log_unwritable", sentence, retry_after=30) from None
            if not self._says_unlogged:
                _log.error("answers are sent that cannot be logged: %s", error)
            self._says_unlogged = True
        else:
            self._says_unlogged = False

    def _count(self, task: TaskName, answered: Answered) -> None:
        labels, metrics = (task, answered.version), self._metrics
        metrics.answers.labels(*labels).inc()
        metrics.valid.labels(*labels).inc(answered.served.text is not None)
        metrics.checked.labels(*labels).inc(answered.served.checked)
        metrics.tokens.labels(*labels).inc(answered.answer.tokens)
        metrics.seconds.labels(*labels).observe(answered.milliseconds / 1000)


def _engine_question(question: ShopQuestion, deployment: DeployedVersion) -> tuple[EngineQuestion, str]:
    """Return the question in the decoding of the version's evaluation, where it has none, and the version's name.

    Monitoring compares with the evaluation only what was drawn as there, so any other answer has another name.
    """
    model, own = deployment.model, deployment.question(question.row)
    if question.seed is not None and own.seed is None:
        raise RequestRefused(422, "no_seed", "seed: this engine takes none; leave it out", param="seed")
    asked = replace(
        own,
        messages=[own.messages[0], *question.earlier, *own.messages[1:]],
        temperature=own.temperature if question.temperature is None else question.temperature,
        max_tokens=min(question.max_tokens or own.max_tokens, own.max_tokens),
        seed=own.seed if question.seed is None else question.seed,
    )
    is_as_there = asked == own and not question.stop
    if not question.guided:
        asked = replace(asked, grammar="")
    asked = replace(asked, temperature=max(asked.temperature, COLD))
    suffix = f"+{BAG_OF_WORDS}" if question.row.task in model.bags else "" if is_as_there else OWN_DECODING
    return asked, f"{model.version_name}{suffix}"
