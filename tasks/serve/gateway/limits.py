"""Limits of a request: who sends it, how large it is, and how long it takes to arrive.

Plain ASGI (https://asgi.readthedocs.io), so that a body is counted while it comes and not after it filled the memory.

A page may send to any address, and its site's name may be made to lead to this machine (DNS rebinding): so on loopback
a request must name this machine as its host, and come from a page of the server itself or from no page at all.
"""

import asyncio
import hmac
import os
import re
from collections.abc import Sequence
from typing import Final

from fastapi.responses import JSONResponse
from prometheus_client import Counter
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from schemas.errors import InputError
from tasks.serve.gateway.disconnects import answer_while_connected

KINDS: Final = {401: "authentication", 403: "permission", 404: "not_found", 408: "timeout", 429: "rate_limit"}
"""OpenAI's `type` of an error by its status; `server_error` from 500 on, `invalid_request_error` for any other."""
TWO_LENGTHS: Final = "two_lengths"
OPEN_PATHS: Final = frozenset({"/", "/health", "/healthz", "/readyz", "/openapi.json"})
"""Paths that need no token: they tell nothing of anybody."""
SHORTEST_TOKEN: Final = 16
"""Characters; a shorter one can be guessed."""


class RequestRefused(Exception):
    """A request that is not answered."""

    def __init__(
        self, status: int, code: str, message: str, *, param: str | None = None, retry_after: int | None = None
    ) -> None:
        """Give the HTTP status, a short name of the cause for programs, a sentence for people, and the field at fault.

        `retry_after` are the seconds after which the same request may be answered; None where it never will be.
        """
        super().__init__(message)
        self.status, self.code, self.message, self.param, self.retry_after = status, code, message, param, retry_after

    def response(self) -> JSONResponse:
        """Return the answer to the client, in OpenAI's form."""
        kind = KINDS.get(self.status, "server" if self.status >= 500 else "invalid_request")
        headers = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        if self.status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        if self.code == TWO_LENGTHS:
            # Where the request ends is not sure, nor that what follows it is another one.
            headers["Connection"] = "close"
        error = {"message": self.message, "type": f"{kind}_error", "code": self.code, "param": self.param}
        return JSONResponse({"error": error}, self.status, headers=headers)


def read_tokens(variable: str | None) -> tuple[bytes, ...]:
    """Return the tokens of an environment variable, with a comma between two; none where no variable is named."""
    if variable is None:
        return ()
    tokens = tuple(token.strip() for token in os.environb.get(variable.encode(), b"").split(b",") if token.strip())
    if not tokens:
        raise InputError(f"the environment variable {variable} holds no token; set it, as serve.token_variable says")
    if any(len(token) < SHORTEST_TOKEN for token in tokens):
        raise InputError(
            f"the environment variable {variable} holds a token of less than {SHORTEST_TOKEN} characters; make longer "
            "ones, such as by `openssl rand -hex 24`"
        )
    return tokens


class RequestLimits:
    """Refuses requests of foreign pages or without a token, and bodies that are too large or come too slowly.

    A path may end in a slash, and HEAD is answered wherever GET is.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        own_pages_only: bool,
        tokens: Sequence[bytes],
        body_bytes: int,
        seconds_to_send: float,
        refused: Counter,
    ) -> None:
        """Guard an application; without tokens everybody is answered, and refusals are counted by their codes.

        With `own_pages_only`, pages of other sites are refused, as on loopback, whose names are known.
        """
        self._app, self._own_pages_only, self._tokens = app, own_pages_only, tokens
        self._body_bytes, self._seconds_to_send, self._refused = body_bytes, seconds_to_send, refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope = {**scope, "path": scope["path"].rstrip("/") or "/"}
        if scope["method"] == "HEAD":
            # The server leaves the body out.
            scope["method"] = "GET"
        headers = Headers(scope=scope)
        try:
            if self._own_pages_only and (refusal := foreign_sender(headers)):
                raise RequestRefused(403, "foreign_sender", refusal)
            if self._tokens and scope["path"] not in OPEN_PATHS:
                self._check_token(headers.get("authorization", ""))
            body = await self._read(headers, receive)
        except RequestRefused as refused:
            self._refused.labels(refused.code).inc()
            await refused.response()(scope, receive, send)
            return
        if body is not None:
            await answer_while_connected(self._app, scope, body, receive, send)

    def _check_token(self, authorization: str) -> None:
        kind, _, given = authorization.partition(" ")
        # The bytes that were sent: a header is read as Latin-1, whatever its writer meant.
        offered = given.encode("latin-1").strip()
        # All are compared, so that the time tells nothing.
        known = [hmac.compare_digest(offered, token) for token in self._tokens]
        if kind.lower() != "bearer" or not any(known):
            raise RequestRefused(401, "no_token", "no valid token; send the header `Authorization: Bearer TOKEN`")

    async def _read(self, headers: Headers, receive: Receive) -> bytes | None:
        """Return the body; None where the client hung up."""
        if "transfer-encoding" in headers and "content-length" in headers:
            # A proxy before this one may believe the other of the two, and take the rest for another request.
            raise RequestRefused(400, TWO_LENGTHS, "the request says its length in two ways; send one")
        length = headers.get("content-length", "0")
        too_large = f"the request has more than {self._body_bytes} bytes; send less at once"
        if length.isdecimal() and int(length[:20]) > self._body_bytes:
            raise RequestRefused(413, "too_large", too_large)
        body = bytearray()
        try:
            async with asyncio.timeout(self._seconds_to_send):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    body += message.get("body", b"")
                    if len(body) > self._body_bytes:
                        raise RequestRefused(413, "too_large", too_large)
                    if not message.get("more_body", False):
                        return bytes(body)
        except TimeoutError:
            sentence = f"the request did not arrive within {self._seconds_to_send:g} seconds; send it again"
            raise RequestRefused(408, "too_slow", sentence) from None


OWN_HOST: Final = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?", re.IGNORECASE)
"""Names of this machine that no site can have; the port is another where a tunnel leads here."""
SHOWN: Final = 100
"""Most characters of a sender that a refusal repeats."""


def foreign_sender(headers: Headers) -> str | None:
    """Return why a request or a handshake is refused; None where this machine's own page or program sent it."""
    hosts, origins = headers.getlist("host"), headers.getlist("origin")
    host = hosts[0].lower() if len(hosts) == 1 else ""
    if not OWN_HOST.fullmatch(host):
        return f"the request is for the host {', '.join(hosts)[:SHOWN]!r}; ask for 127.0.0.1 or localhost"
    foreign = [origin for origin in origins if origin.lower() not in {f"http://{host}", f"https://{host}"}]
    if foreign:
        return f"the request is from a page of {foreign[0][:SHOWN]!r}; ask from a page of {host}, or from a program"
    return None


class OwnPagesOnly:
    """Answers 403 to what `foreign_sender` refuses, WebSockets too, and leaves the rest to an application."""

    def __init__(self, app: ASGIApp) -> None:
        """Guard an application."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        refusal = foreign_sender(Headers(scope=scope)) if scope["type"] in {"http", "websocket"} else None
        await (PlainTextResponse(refusal, 403) if refusal else self._app)(scope, receive, send)
