"""Asks a language model at an endpoint of OpenAI's form (vLLM, Ollama, and others).

The endpoint is not trusted: how much it may send and how long it may take is limited, its answer is read by a schema,
it is followed nowhere else, and nothing that it says is repeated in a message. The key is read from the environment,
sent in one header, and is in no message, log or representation.

Requests run in an event loop and not in threads: a task can be stopped wherever it waits, so that neither an endpoint
that never ends its answer nor Ctrl-C has to be waited for.
"""

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Annotated, Any, Final, Self

import httpx
from pydantic import BaseModel, Field, ValidationError
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_attempt, wait_exponential_jitter

from schemas.endpoint_section import EndpointSection
from schemas.errors import InputError

MAX_BYTES: Final = 200_000
"""No answer is longer, with all that comes around it."""
FIRST_WAIT_SECONDS: Final = 0.5
MAX_WAIT_SECONDS: Final = 60.0
"""The longest wait before the next attempt, also where the endpoint asks for a longer one."""
BUSY: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
REMEDIES: Final = {
    401: "set the environment variable that {section}.key_variable names to a key that it accepts",
    403: "use a key that may use the model",
    404: "check {section}.url, which usually ends in /v1, and the model's name",
}


class EndpointError(InputError):
    """The endpoint cannot be used: it is down, refuses, or does not speak OpenAI's form."""


@dataclass(frozen=True)
class Question:
    """What is asked."""

    key: str
    """What its answer is kept by."""
    system: str
    """The system prompt."""
    text: str
    """The user's message."""
    seed: int
    """For servers that sample by one."""


@dataclass(frozen=True)
class Reply:
    """What the model answered, with what its endpoint said of it."""

    text: str
    """Empty where the endpoint ended the answer without any text, such as after a filter."""
    stop_reason: str | None
    """The endpoint's own word for why the answer ended, such as `stop` or `length`; None where it gave none."""
    prompt_tokens: int | None
    """Tokens that were read, as the endpoint counted them; None where it told none."""
    completion_tokens: int | None
    """Tokens that were written, as the endpoint counted them; None where it told none."""
    seconds: float
    """From the request that was answered to its answer; attempts that failed are not in it."""


class _Transient(Exception):
    """One attempt failed in a way that may pass."""

    def __init__(self, what: str, retry_after: float | None = None) -> None:
        super().__init__(what)
        self.retry_after = retry_after


_Count = Annotated[int, Field(ge=0)]


class _Message(BaseModel):
    content: str | None


class _Choice(BaseModel):
    message: _Message
    finish_reason: Annotated[str, Field(max_length=64)] | None = None


class _Usage(BaseModel):
    prompt_tokens: _Count | None = None
    completion_tokens: _Count | None = None


class _Completion(BaseModel):
    choices: Annotated[list[_Choice], Field(min_length=1)]
    usage: _Usage | None = None


class Endpoint:
    """A chat model; for one thread, in which no event loop runs."""

    def __init__(
        self,
        config: EndpointSection,
        *,
        purpose: str,
        section: str,
        otherwise: str,
        temperature: float,
        max_tokens: int,
    ) -> None:
        """Read the key from the environment.

        Args:
            config: Where the endpoint is, and how it is asked.
            purpose: What it is called in messages: `the {purpose} endpoint`.
            section: The section of the configuration that names it, for remedies.
            otherwise: What else its user may do where it cannot be used, such as a setting to go on without.
            temperature: Sampling temperature.
            max_tokens: Longest answer, in the endpoint's tokens.

        Raises:
            InputError: The environment variable is not set, or holds what no header can carry.
        """
        self._config = config
        self._purpose = purpose
        self._section = section
        self._otherwise = otherwise
        self._decoding = {"temperature": temperature, "max_tokens": max_tokens}
        # No compression: what is small on the wire could be without limit in memory.
        headers = {"Accept-Encoding": "identity", **_authorization(config.key_variable, section)}
        self._client = httpx.AsyncClient(headers=headers, timeout=config.timeout_seconds)
        self._runner = asyncio.Runner()
        backoff = wait_exponential_jitter(initial=FIRST_WAIT_SECONDS, max=MAX_WAIT_SECONDS, jitter=FIRST_WAIT_SECONDS)

        def wait(state: RetryCallState) -> float:
            failure = state.outcome.exception() if state.outcome else None
            asked_for = failure.retry_after if isinstance(failure, _Transient) else None
            return backoff(state) if asked_for is None else min(asked_for, MAX_WAIT_SECONDS)

        self._retrying = AsyncRetrying(
            sleep=asyncio.sleep,
            stop=stop_after_attempt(config.max_attempts),
            wait=wait,
            retry=retry_if_exception_type(_Transient),
            reraise=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self._runner.run(self._client.aclose())
        finally:
            self._runner.close()

    def ask_all(self, questions: Sequence[Question], keep: Callable[[str, Reply], None]) -> str | None:
        """Ask all questions, as many at once as the configuration allows, and no more once one failed for good.

        Args:
            questions: What to ask, each under a key of its own.
            keep: Given a key and its answer as soon as it is there, so that an interrupted run loses none.

        Returns:
            Why a question failed for good; None where all are answered.
        """
        return self._runner.run(self._ask_all(questions, keep))

    async def _ask_all(self, questions: Sequence[Question], keep: Callable[[str, Reply], None]) -> str | None:
        failures: list[EndpointError] = []
        free = asyncio.Semaphore(self._config.concurrency)

        async def ask(question: Question) -> None:
            async with free:
                if failures:
                    return
                try:
                    reply = await self._ask(question)
                except EndpointError as error:
                    failures.append(error)
                else:
                    keep(question.key, reply)

        await asyncio.gather(*(ask(question) for question in questions))
        return str(failures[0]) if failures else None

    async def _ask(self, question: Question) -> Reply:
        body = {
            "model": self._config.model,
            **self._decoding,
            "seed": question.seed,
            "messages": [
                {"role": "system", "content": question.system},
                {"role": "user", "content": question.text},
            ],
        }
        try:
            return await self._retrying(self._attempt, body)
        except _Transient as failure:
            raise self._error(f"{failure} in each of {self._config.max_attempts} attempts", None) from None

    async def _attempt(self, body: dict[str, Any]) -> Reply:
        started = time.monotonic()
        try:
            # The client's own limit is for each read: one byte at a time could go on for ever.
            async with asyncio.timeout(self._config.timeout_seconds):
                content = await self._receive(body)
        except (TimeoutError, httpx.TimeoutException):
            raise _Transient(f"did not answer within {self._config.timeout_seconds:g} s") from None
        except httpx.HTTPError as error:
            raise _Transient(f"could not be reached ({type(error).__name__})") from None
        return _read_reply(content, time.monotonic() - started)

    async def _receive(self, body: dict[str, Any]) -> bytes:
        async with self._client.stream("POST", f"{self._config.url}/chat/completions", json=body) as response:
            if response.status_code in BUSY:
                waits = _retry_after(response.headers.get("retry-after"))
                raise _Transient(f"answered {response.status_code}", waits)
            if response.status_code != httpx.codes.OK:
                raise self._error(f"answered {response.status_code}", response.status_code)
            content = bytearray()
            async for chunk in response.aiter_raw():
                content += chunk
                if len(content) > MAX_BYTES:
                    raise _Transient(f"gave more than {MAX_BYTES:,} bytes for one answer")
            return bytes(content)

    def _error(self, what: str, status: int | None) -> EndpointError:
        remedy = REMEDIES.get(status or 0, f"see that it serves the model there, or {self._otherwise}")
        return EndpointError(
            f"the {self._purpose} endpoint {self._config.url} {what}; {remedy.format(section=self._section)}"
        )


def _read_reply(content: bytes, seconds: float) -> Reply:
    try:
        completion = _Completion.model_validate_json(content)
    except ValidationError:
        raise _Transient("gave no chat completion of OpenAI's form") from None
    choice, usage = completion.choices[0], completion.usage or _Usage()
    if choice.message.content is None and choice.finish_reason is None:
        raise _Transient("gave no chat completion of OpenAI's form")
    return Reply(
        choice.message.content or "", choice.finish_reason, usage.prompt_tokens, usage.completion_tokens, seconds
    )


def _authorization(key_variable: str | None, section: str) -> dict[str, str]:
    if key_variable is None:
        return {}
    key = os.environ.get(key_variable, "").strip()
    if not key:
        raise InputError(
            f"the environment variable {key_variable}, which {section}.key_variable names, is not set; "
            "put the endpoint's key there"
        )
    if not (key.isascii() and key.isprintable()):
        raise InputError(f"the environment variable {key_variable} holds what no key can have; set it to the key alone")
    return {"Authorization": f"Bearer {key}"}


def _retry_after(value: str | None) -> float | None:
    """Read the header: seconds, or a date; what is neither is no wish."""
    if value is None:
        return None
    if value.isascii() and value.isdigit() and len(value) <= 9:
        return float(value)
    try:
        return max((parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds(), 0.0)
    except (ValueError, TypeError, OverflowError):
        return None
