"""Engines that answer: what is asked of them, and the client of one behind OpenAI's API.

What a server sends is limited and checked, whoever runs it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Literal
from urllib.parse import urljoin

import aiohttp
import orjson

LONGEST_REPLY: Final = 1_000_000
"""Bytes of a reply, with all its metadata."""
NO_DEADLINE: Final = aiohttp.ClientTimeout(total=None, sock_connect=5)
"""The caller keeps the deadline of a request."""
HEALTH_DEADLINE: Final = aiohttp.ClientTimeout(total=5)
SECONDS_TO_KEEP: Final = 4.0
"""Time for which an idle connection is kept: servers of uvicorn close it after five seconds."""
FAILURES: Final = (aiohttp.ClientError, RuntimeError)
"""Errors of a broken reply: of one whose chunks are none, aiohttp raises a RuntimeError."""

SUCCESS: Final = range(HTTPStatus.OK, HTTPStatus.MULTIPLE_CHOICES)
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
    """Whole answer of an engine, with its tokens and its prompt's."""

    text: str
    tokens: int
    prompt_tokens: int
    finish_reason: FinishReason


class EngineClient:
    """Engine at a base URL up to `/v1`."""

    takes_seed = False
    """Whether a question may have a seed, which decides its answer: vLLM's build for CPUs ends at one."""

    def __init__(self, url: str, *, connections: int) -> None:
        """Prepare at most so many connections; none is made yet."""
        self._url, self._connections = url.rstrip("/"), connections
        self._opened: aiohttp.ClientSession | None = None

    @property
    def _http(self) -> aiohttp.ClientSession:
        """The connections, which belong to the event loop that first asks."""
        if self._opened is None:
            self._opened = aiohttp.ClientSession(
                # The health of an engine is asked while all its places are taken.
                connector=aiohttp.TCPConnector(limit=self._connections + 2, keepalive_timeout=SECONDS_TO_KEEP),
                cookie_jar=aiohttp.DummyCookieJar(),
                # No compression: a small reply could expand without limit.
                headers={"Accept-Encoding": "identity", "Content-Type": "application/json"},
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
        return status in SUCCESS

    async def _status(self, url: str) -> int:
        async with self._http.get(url, timeout=HEALTH_DEADLINE, allow_redirects=False) as response:
            # A page is no engine's: a proxy, or a network that asks to sign in, stands between.
            return HTTPStatus.BAD_GATEWAY if response.content_type == "text/html" else response.status

    async def complete(self, question: EngineQuestion) -> EngineAnswer:
        """Ask a question, and return the whole answer, or raise `EngineUnavailable` or `EngineRefused`."""
        sent = {name: value for name, value in vars(question).items() if name != "grammar" and value is not None}
        if question.grammar:
            sent["structured_outputs"] = {"grammar": question.grammar}
        url = f"{self._url}/chat/completions"
        try:
            async with self._http.post(url, data=orjson.dumps(sent), allow_redirects=False) as response:
                body = await _read(response)
                _raise_for(response.status, body)
        except FAILURES as error:
            raise EngineUnavailable(type(error).__name__) from None
        return _read_answer(body)


async def _read(response: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for piece in response.content.iter_any():
        body += piece
        if len(body) > LONGEST_REPLY:
            raise EngineUnavailable("a reply without an end")
    return bytes(body)


def _raise_for(status: int, body: bytes) -> None:
    if status in SUCCESS:
        return
    is_clients = HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR
    if not is_clients or status == HTTPStatus.TOO_MANY_REQUESTS:
        raise EngineUnavailable(f"status {status}")
    try:
        sentence = str(json.loads(body)["error"]["message"])[:300]
    except (ValueError, KeyError, TypeError, RecursionError):
        sentence = ""
    raise EngineRefused(sentence or f"the engine answered {status}")


def _read_answer(body: bytes) -> EngineAnswer:
    try:
        reply = orjson.loads(body)
        choice, usage = reply["choices"][0], reply.get("usage") or {}
        text, finish = choice["message"].get("content") or "", choice.get("finish_reason")
        tokens, prompt_tokens = (usage.get(name, 0) for name in ("completion_tokens", "prompt_tokens"))
    except (orjson.JSONDecodeError, LookupError, TypeError, AttributeError):
        raise EngineUnavailable("a reply that is none of OpenAI's API") from None
    if not isinstance(text, str) or any(type(count) is not int or count < 0 for count in (tokens, prompt_tokens)):
        raise EngineUnavailable("a reply whose fields have other types than OpenAI's")
    return EngineAnswer(text, tokens, prompt_tokens, "length" if finish == "length" else "stop")
