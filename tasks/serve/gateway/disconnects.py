"""Clients that hang up keep no place at the engine; connections that owe something for too long are closed."""

import asyncio
from typing import Any, ClassVar

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol


async def answer_while_connected(app: ASGIApp, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
    """Let an application answer a request with its whole body, and give it up where the client hangs up."""
    unread: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
    is_whole = False

    async def receive_again() -> Message:
        if unread:
            return unread.pop()
        await asyncio.wait([leaving])
        return {"type": "http.disconnect"}

    async def send_on(message: Message) -> None:
        nonlocal is_whole
        await send(message)
        is_whole = message["type"] == "http.response.body" and not message.get("more_body", False)

    leaving = asyncio.ensure_future(_hung_up(receive))
    answering = asyncio.ensure_future(app(scope, receive_again, send_on))
    try:
        await asyncio.wait([answering, leaving], return_when=asyncio.FIRST_COMPLETED)
        if not is_whole and not answering.done():
            answering.cancel()
        await asyncio.wait([answering])
        if not answering.cancelled():
            answering.result()
    finally:
        answering.cancel()
        leaving.cancel()


async def _hung_up(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class ImpatientProtocol(H11Protocol):
    """HTTP/1.1 of uvicorn, with limits on the number of connections and on the time in which a client does its part.

    Its part is to send a whole header after the connection or the last response, and to read. Where there are too many
    connections, the one that has owed its part for the longest is closed: none is refused for those that do nothing.
    """

    seconds: ClassVar[float] = 30.0
    most: ClassVar[int] = 1_000
    _order: ClassVar[dict["ImpatientProtocol", None]] = {}
    """The open connections; the one whose last response, or whose beginning, is longest ago is the first."""
    _waiting: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Wait for a request."""
        super().connection_made(transport)
        self._wait()
        if len(self._order) > self.most:
            debtor = next((each for each in self._order if each is not self and each.owes), None)
            if debtor is not None:
                debtor.give_up()

    @property
    def owes(self) -> bool:
        """Whether the client is to send or to read, and nothing is answered to it meanwhile."""
        return self._waits_for_a_request() or self.cycle.more_body or self.flow.write_paused

    def give_up(self) -> None:
        """End the connection at once."""
        self._forget()
        self.transport.abort()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        super().on_response_complete()
        self._wait()

    def pause_writing(self) -> None:
        """Wait until the client reads, and no longer than the limit."""
        super().pause_writing()
        self._unread = self.loop.call_later(self.seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Wait no longer until it reads."""
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._forget()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._forget()
        self._order[self] = None
        self._waiting = self.loop.call_later(self.seconds, self._close_if_nothing_came)

    def _forget(self) -> None:
        self._order.pop(self, None)
        for timer in (self._waiting, self._unread):
            if timer is not None:
                timer.cancel()

    def _waits_for_a_request(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _close_if_nothing_came(self) -> None:
        # Also one that is closing: it stays until the client has read, which may be never.
        if self._waits_for_a_request() or self.transport.is_closing():
            self.transport.abort()
        else:
            self._waiting = self.loop.call_later(self.seconds, self._close_if_nothing_came)


def impatient(seconds: float, most: int) -> type[ImpatientProtocol]:
    """Return the protocol with its limits: seconds for a header, or for a client to read, and connections at once."""
    return type("ImpatientProtocol", (ImpatientProtocol,), {"seconds": seconds, "most": most, "_order": {}})
