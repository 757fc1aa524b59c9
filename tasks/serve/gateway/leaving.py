"""Clients that hang up: what is answered to them is given up, and keeps no place at the engine."""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send


async def answer_while_connected(app: ASGIApp, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
    """Let an application answer a request, and give it up where the client hangs up.

    Args:
        app: The application.
        scope: The request's.
        body: Its whole body.
        receive: Tells from now on only that the client hung up.
        send: Sends the answer.
    """
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
