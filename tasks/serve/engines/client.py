"""Client of an engine: one chat completion by OpenAI's API, whole or piece by piece.

The engine is our own child, vLLM, or a server that somebody else runs; either way what it sends is limited and checked.
"""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal

import httpx
from pydantic import BaseModel, Field, ValidationError

LONGEST_REPLY: Final = 1_000_000
"""Bytes of a reply, with all its metadata."""
SECONDS_TO_CONNECT: Final = 5.0
HEALTH_SECONDS: Final = 5.0

FinishReason = Literal["stop", "length"]


class EngineUnavailable(Exception):
    """The engine is not there, or ended while it answered; the request can be sent again."""


class EngineRefused(Exception):
    """The engine refused a request, in a sentence of its own."""


@dataclass(frozen=True)
class EngineQuestion:
    """Request to an engine."""

    model: str
    """Name of the weights, or of an adapter."""
    messages: Sequence[Mapping[str, str]]
    temperature: float
    max_tokens: int
    seed: int | None
    grammar: str
    """Grammar that guides the answer; empty for none."""


@dataclass(frozen=True)
class EngineAnswer:
    """Whole answer of an engine."""

    text: str
    tokens: int
    """Tokens of the answer."""
    prompt_tokens: int
    finish_reason: FinishReason


class _EngineUsage(BaseModel):
    prompt_tokens: Annotated[int, Field(ge=0, le=LONGEST_REPLY)] = 0
    completion_tokens: Annotated[int, Field(ge=0, le=LONGEST_REPLY)] = 0


class _EngineMessage(BaseModel):
    content: str | None = None


class _EngineChoice(BaseModel):
    message: _EngineMessage = _EngineMessage()
    delta: _EngineMessage = _EngineMessage()
    finish_reason: str | None = None


class _Reply(BaseModel):
    choices: list[_EngineChoice] = []
    usage: _EngineUsage | None = None


class EngineClient:
    """Engine at an address, or at a Unix socket of this machine."""

    def __init__(
        self,
        url: str,
        *,
        socket: Path | None = None,
        headers: Mapping[str, str] = MappingProxyType({}),
        connections: int,
        takes_seed: bool = False,
    ) -> None:
        """Prepare the connections; none is made yet.

        Args:
            url: Base URL up to `/v1`.
            socket: The Unix socket that it is reached by, if any.
            headers: Of each request, such as a bearer token.
            connections: Most requests at once.
            takes_seed: Whether a request may have a seed: vLLM's build for CPUs ends at one.
        """
        self.takes_seed: Final = takes_seed
        """Whether a request may have a seed."""
        # No compression: a small reply could expand without limit.
        headers = {"Accept-Encoding": "identity", **headers}
        # The health of an engine is asked while all its places are taken.
        limits = httpx.Limits(max_connections=connections + 2, max_keepalive_connections=connections + 2)
        transport = httpx.AsyncHTTPTransport(uds=str(socket) if socket else None, limits=limits, retries=0)
        # How long an answer may take is the deadline of the request, which the caller keeps.
        timeout = httpx.Timeout(None, connect=SECONDS_TO_CONNECT)
        self._http = httpx.AsyncClient(base_url=url, transport=transport, headers=headers, timeout=timeout)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def is_healthy(self) -> bool:
        """Return whether the engine has loaded its weights and answers."""
        try:
            # vLLM's is at the root and needs no key; others have the list of their models.
            health = self._http.base_url.copy_with(path="/health")
            reply = await self._http.get(health, timeout=HEALTH_SECONDS)
            if reply.status_code == httpx.codes.NOT_FOUND:
                reply = await self._http.get("models", timeout=HEALTH_SECONDS)
        except httpx.HTTPError:
            return False
        return reply.is_success

    async def complete(self, question: EngineQuestion) -> EngineAnswer:
        """Ask a question, and return the whole answer.

        Raises:
            EngineUnavailable: It cannot be reached, ended meanwhile, or failed by itself.
            EngineRefused: It refused the question.
        """
        try:
            async with self._http.stream("POST", "chat/completions", json=_body(question)) as response:
                body = await _read(response)
                _raise_for(response, body)
        except httpx.HTTPError as error:
            raise EngineUnavailable(type(error).__name__) from None
        reply = _parsed(body)
        if not reply.choices:
            raise EngineUnavailable("a reply without an answer")
        choice, usage = reply.choices[0], reply.usage or _EngineUsage()
        return EngineAnswer(
            choice.message.content or "", usage.completion_tokens, usage.prompt_tokens, _finish(choice.finish_reason)
        )

    async def stream(self, question: EngineQuestion) -> AsyncIterator[str | EngineAnswer]:
        """Ask a question, and yield the answer's pieces as they come, and at last the whole answer.

        Raises:
            EngineUnavailable: As `complete`.
            EngineRefused: As `complete`.
        """
        body = _body(question) | {"stream": True, "stream_options": {"include_usage": True}}
        pieces: list[str] = []
        finish: FinishReason | None = None
        usage = _EngineUsage()
        try:
            async with self._http.stream("POST", "chat/completions", json=body) as response:
                if not response.is_success:
                    _raise_for(response, await _read(response))
                async for line in _lines(response):
                    data = line.removeprefix(b"data:").strip()
                    if not line.startswith(b"data:") or data == b"[DONE]":
                        continue
                    reply = _parsed(data)
                    usage = reply.usage or usage
                    for choice in reply.choices:
                        if choice.delta.content:
                            pieces.append(choice.delta.content)
                            yield choice.delta.content
                        if choice.finish_reason is not None:
                            finish = _finish(choice.finish_reason)
        except httpx.HTTPError as error:
            raise EngineUnavailable(type(error).__name__) from None
        if finish is None:
            raise EngineUnavailable("an answer without its end")
        yield EngineAnswer("".join(pieces), usage.completion_tokens, usage.prompt_tokens, finish)


def _body(question: EngineQuestion) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": question.model,
        "messages": list(question.messages),
        "temperature": question.temperature,
        "max_tokens": question.max_tokens,
    }
    if question.seed is not None:
        body["seed"] = question.seed
    if question.grammar:
        body["structured_outputs"] = {"grammar": question.grammar}
    return body


async def _lines(response: httpx.Response) -> AsyncIterator[bytes]:
    """Yield the lines of a reply; httpx's own end at any sign that Unicode calls a line's end, such as in a text."""
    length, begun = 0, b""
    async for piece in response.aiter_bytes():
        length += len(piece)
        if length > LONGEST_REPLY:
            raise EngineUnavailable("a reply without an end")
        *whole, begun = (begun + piece).split(b"\n")
        for line in whole:
            yield line
    yield begun


async def _read(response: httpx.Response) -> bytes:
    body = bytearray()
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > LONGEST_REPLY:
            raise EngineUnavailable("a reply without an end")
    return bytes(body)


def _raise_for(response: httpx.Response, body: bytes) -> None:
    if response.is_success:
        return
    if response.is_client_error and response.status_code != httpx.codes.TOO_MANY_REQUESTS:
        raise EngineRefused(_sentence(body) or f"the engine answered {response.status_code}")
    raise EngineUnavailable(f"status {response.status_code}")


def _sentence(body: bytes) -> str:
    """Return the message of an error in OpenAI's form; empty where it has none."""
    try:
        error = json.loads(body)["error"]
        return str(error["message"])[:300]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""


def _parsed(body: bytes) -> _Reply:
    try:
        return _Reply.model_validate_json(body)
    except ValidationError:
        raise EngineUnavailable("a reply that is none of OpenAI's API") from None


def _finish(reason: str | None) -> FinishReason:
    return "length" if reason == "length" else "stop"
