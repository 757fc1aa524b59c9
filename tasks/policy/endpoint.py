"""Client of a language model at an OpenAI-compatible endpoint (vLLM, Ollama, and others).

The endpoint is not trusted: size and duration of its answers are limited, they are parsed by a schema, redirects are
not followed, and nothing from it is repeated in a message. The key is read from the environment, sent in one header,
and appears in no message, log or representation.

Requests run in an event loop and not in threads: a task can be stopped wherever it waits, so that neither an endless
answer nor Ctrl-C blocks.
"""

import asyncio
import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, Final

import httpx
from pydantic import BaseModel, Field, JsonValue, ValidationError

from schemas.config.section import EndpointSection
from schemas.errors import InputError
from tasks.policy.generate import as_messages

MAX_BYTES: Final = 200_000
"""Limit of a response, with all its metadata."""
FIRST_WAIT_SECONDS: Final = 0.5
MAX_WAIT_SECONDS: Final = 60.0
"""Longest wait before the next attempt, even if the endpoint asks for more."""
BUSY: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
REMEDIES: Final = {
    400: "see that it serves the model there and takes every field of the request, as its own log says",
    401: "set the environment variable that {section}.key_variable names to a key that it accepts",
    403: "use a key that may use the model",
    404: "check {section}.url, which usually ends in /v1, and the model's name",
}


class EndpointError(InputError):
    """Error for an endpoint that is down, refuses, or is not OpenAI-compatible."""


@dataclass(frozen=True)
class EndpointQuestion:
    """Question to the model."""

    key: str
    """Key under which its answer is saved."""
    system: str
    """The system prompt."""
    text: str
    """The user's message."""
    seed: int
    """For servers that accept a seed."""


@dataclass(frozen=True)
class Reply:
    """Answer of the model, with its endpoint's metadata."""

    text: str
    """Empty if the endpoint ended the answer without any text, such as after a filter."""
    stop_reason: str | None
    """The endpoint's own stop reason, such as `stop` or `length`; None if it gave none."""
    prompt_tokens: int | None
    """Prompt tokens as counted by the endpoint; None if not reported."""
    completion_tokens: int | None
    """Completion tokens as counted by the endpoint; None if not reported."""
    seconds: float
    """Time from the successful request to its answer; failed attempts are excluded."""


class _Transient(Exception):
    """Error of one attempt that may succeed when retried."""

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
    """Client of a chat model, for threads without a running event loop."""

    def __init__(
        self,
        config: EndpointSection,
        *,
        purpose: str,
        section: str,
        otherwise: str,
        temperature: float,
        max_tokens: int,
        body: Mapping[str, JsonValue] = MappingProxyType({}),
    ) -> None:
        self._config = config
        self._purpose = purpose
        self._section = section
        self._otherwise = otherwise
        self._fields = {**body, "model": config.model, "temperature": temperature, "max_tokens": max_tokens}
        authorization(config.key_variable, section)

    def ask_all(self, questions: Sequence[EndpointQuestion], keep: Callable[[str, Reply], None]) -> str | None:
        """Ask all questions, with the configured concurrency, and return why it stopped; None where none failed."""
        return asyncio.run(self._ask_all(questions, keep))

    async def _ask_all(self, questions: Sequence[EndpointQuestion], keep: Callable[[str, Reply], None]) -> str | None:
        failures: list[EndpointError] = []
        free = asyncio.Semaphore(self._config.concurrency)
        # No compression: a small response could expand without limit in memory.
        headers = {"Accept-Encoding": "identity", **authorization(self._config.key_variable, self._section)}

        async def ask(client: httpx.AsyncClient, question: EndpointQuestion) -> None:
            async with free:
                if failures:
                    return
                try:
                    reply = await self._ask(client, question)
                except EndpointError as error:
                    failures.append(error)
                else:
                    keep(question.key, reply)

        async with httpx.AsyncClient(headers=headers, timeout=self._config.timeout_seconds) as client:
            await asyncio.gather(*(ask(client, question) for question in questions))
        return str(failures[0]) if failures else None

    async def _ask(self, client: httpx.AsyncClient, question: EndpointQuestion) -> Reply:
        body = {**self._fields, "seed": question.seed, "messages": as_messages(question.system, question.text)}
        attempts, waited = self._config.max_attempts, 0
        while True:
            try:
                return await self._attempt(client, body)
            except _Transient as failure:
                if waited == attempts - 1:
                    raise self._error(f"{failure} in each of {attempts} attempts", None) from None
                # Its random part keeps apart those that failed together.
                backoff = FIRST_WAIT_SECONDS * (2.0**waited + random.random())
                wait = backoff if failure.retry_after is None else failure.retry_after
            await asyncio.sleep(min(wait, MAX_WAIT_SECONDS))
            waited += 1

    async def _attempt(self, client: httpx.AsyncClient, body: dict[str, Any]) -> Reply:
        started = time.monotonic()
        try:
            # The client's own limit is per read: one byte at a time could last forever.
            async with asyncio.timeout(self._config.timeout_seconds):
                content = await self._receive(client, body)
        except (TimeoutError, httpx.TimeoutException):
            raise _Transient(f"did not answer within {self._config.timeout_seconds:g} s") from None
        except httpx.HTTPError as error:
            raise _Transient(f"could not be reached ({type(error).__name__})") from None
        return _read_reply(content, time.monotonic() - started)

    async def _receive(self, client: httpx.AsyncClient, body: dict[str, Any]) -> bytes:
        async with client.stream("POST", f"{self._config.url}/chat/completions", json=body) as response:
            if response.status_code in BUSY:
                # Seconds; a date is not waited for.
                after = response.headers.get("retry-after", "")
                waits = float(after) if after.isascii() and after.isdigit() and len(after) <= 9 else None
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


def authorization(key_variable: str | None, section: str) -> dict[str, str]:
    """Return the header with an endpoint's key, if it needs one; InputError where the variable holds none."""
    if key_variable is None:
        return {}
    if not (key := os.environ.get(key_variable, "").strip()):
        raise InputError(
            f"the environment variable {key_variable}, which {section}.key_variable names, is not set; "
            "put the endpoint's key there"
        )
    if not (key.isascii() and key.isprintable()):
        raise InputError(f"the environment variable {key_variable} holds what no key can have; set it to the key alone")
    return {"Authorization": f"Bearer {key}"}
