"""Refusal of what another site's page makes a browser send to a server on loopback.

A page may send to any address, and its site's name may be made to lead to this machine (DNS rebinding): so a request
must name this machine as its host, and come from a page of the server itself or from no page at all.
"""

import re
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

OWN_HOST: Final = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?", re.IGNORECASE)
"""Names of this machine that no site can have; the port is another where a tunnel leads here."""
SHOWN: Final = 100
"""Most characters of a sender that a refusal repeats."""


def foreign_sender(headers: Headers) -> str | None:
    """Return why a request is refused, in one sentence; None where this machine's own page or program sent it.

    Args:
        headers: Of an HTTP request or a WebSocket's handshake.
    """
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
