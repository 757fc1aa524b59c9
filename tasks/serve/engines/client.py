"""Client of an engine: one chat completion by OpenAI's API, whole.

The engine is our own child, vLLM, or a server that somebody else runs; either way what it sends is limited and checked.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, Protocol
from urllib.parse import urljoin

import aiohttp
import orjson
from pydantic import BaseModel, Field, ValidationError

LONGEST_REPLY: Final = 1_000_000
"""Bytes of a reply, with all its metadata."""
NO_DEADLINE: Final = aiohttp.ClientTimeout(total=None, sock_connect=5)
"""How long an answer may take is the deadline of its request, which the caller keeps."""
HEALTH_DEADLINE: Final = aiohttp.ClientTimeout(total=5)
SECONDS_TO_KEEP: Final = 4.0
"""Time for which an idle connection is kept: servers of uvicorn close it after five seconds."""
FAILURES: Final = (aiohttp.ClientError, RuntimeError)
"""Whatever a broken reply raises: of one whose chunks are none, aiohttp says so by a RuntimeError."""

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


class AnswerEngine(Protocol):
    """Engine that answers questions: a server, or a thread of this process."""

    @property
    def takes_seed(self) -> bool:
        """Whether a question may have a seed, which decides its answer."""

    async def complete(self, question: EngineQuestion) -> EngineAnswer:
        """Ask a question, and return the whole answer.

        Raises:
            EngineUnavailable: It cannot be reached, ended meanwhile, or failed by itself.
            EngineRefused: It refused the question.
        """

    async def close(self) -> None:
        """Ask no more."""


class _EngineUsage(BaseModel):
    prompt_tokens: Annotated[int, Field(ge=0, le=LONGEST_REPLY)] = 0
    completion_tokens: Annotated[int, Field(ge=0, le=LONGEST_REPLY)] = 0


class _EngineMessage(BaseModel):
    content: str | None = None


class _EngineChoice(BaseModel):
    message: _EngineMessage = _EngineMessage()
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
        self._url, self._socket, self._connections = url.rstrip("/"), socket, connections
        # No compression: a small reply could expand without limit.
        self._headers = {"Accept-Encoding": "identity", "Content-Type": "application/json", **headers}
        self._opened: aiohttp.ClientSession | None = None

    @property
    def _http(self) -> aiohttp.ClientSession:
        """The connections, which belong to the event loop that first asks."""
        if self._opened is None:
            # The health of an engine is asked while all its places are taken.
            limit = self._connections + 2
            connector = (
                aiohttp.UnixConnector(str(self._socket), limit=limit, keepalive_timeout=SECONDS_TO_KEEP)
                if self._socket
                else aiohttp.TCPConnector(limit=limit, keepalive_timeout=SECONDS_TO_KEEP)
            )
            self._opened = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                headers=self._headers,
                auto_decompress=False,
                timeout=NO_DEADLINE,
            )
        return self._opened

    async def close(self) -> None:
        """Close the connections."""
        if self._opened is not None:
            await self._opened.close()

    async def is_healthy(self) -> bool:
        """Return whether the engine has loaded its weights and answers."""
        try:
            # vLLM's is at the root and needs no key; others have the list of their models.
            status = await self._status(urljoin(self._url, "/health"))
            if status == HTTPStatus.NOT_FOUND:
                status = await self._status(f"{self._url}/models")
        except (*FAILURES, TimeoutError):
            return False
        return _is_success(status)

    async def _status(self, url: str) -> int:
        async with self._http.get(url, timeout=HEALTH_DEADLINE, allow_redirects=False) as response:
            # A page is no engine's: a proxy, or a network that asks to sign in, stands between.
            return HTTPStatus.BAD_GATEWAY if response.content_type == "text/html" else response.status

    def _ask(self, body: dict[str, Any]) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        return self._http.post(f"{self._url}/chat/completions", data=orjson.dumps(body), allow_redirects=False)

    async def complete(self, question: EngineQuestion) -> EngineAnswer:
        """Ask a question, and return the whole answer.

        Raises:
            EngineUnavailable: It cannot be reached, ended meanwhile, or failed by itself.
            EngineRefused: It refused the question.
        """
        try:
            async with self._ask(_body(question)) as response:
                body = await _read(response)
                _raise_for(response.status, body)
        except FAILURES as error:
            raise EngineUnavailable(type(error).__name__) from None
        reply = _parsed(body)
        if not reply.choices:
            raise EngineUnavailable("a reply without an answer")
        choice, usage = reply.choices[0], reply.usage or _EngineUsage()
        return EngineAnswer(
            choice.message.content or "", usage.completion_tokens, usage.prompt_tokens, _finish(choice.finish_reason)
        )


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


async def _read(response: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for piece in response.content.iter_any():
        body += piece
        if len(body) > LONGEST_REPLY:
            raise EngineUnavailable("a reply without an end")
    return bytes(body)


def _is_success(status: int) -> bool:
    return HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES


def _raise_for(status: int, body: bytes) -> None:
    if _is_success(status):
        return
    is_clients = HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR
    if is_clients and status != HTTPStatus.TOO_MANY_REQUESTS:
        raise EngineRefused(_sentence(body) or f"the engine answered {status}")
    raise EngineUnavailable(f"status {status}")


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
