"""A chat endpoint of OpenAI's form on loopback that plays what a test sets."""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from typing import Any

from tests.answering_server import Reply, playing

__all__ = ["ChatServer", "Reply", "in_turn", "says", "serve"]


@dataclass
class ChatServer:
    """The server's address and what it was asked."""

    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[Message] = field(default_factory=list)
    under_way: int = 0
    most_at_once: int = 0

    @property
    def texts(self) -> list[str]:
        """The user's message of each request."""
        return [request["messages"][-1]["content"] for request in self.requests]


def says(text: str | None, finish_reason: str | None = None, usage: tuple[int, int] | None = None) -> Reply:
    """Return a right answer with this text; finish reason and counts, of prompt and completion, where given."""
    choice: dict[str, Any] = {"message": {"role": "assistant", "content": text}}
    if finish_reason is not None:
        choice["finish_reason"] = finish_reason
    body: dict[str, Any] = {"choices": [choice]}
    if usage is not None:
        body["usage"] = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
    return Reply(json.dumps(body).encode())


@contextmanager
def serve(play: Callable[[str, int], Reply]) -> Iterator[ChatServer]:
    """Serve until the block ends what `play` returns for the user's message and the number of requests before it."""
    server, lock, stop = ChatServer(), threading.Lock(), threading.Event()

    def answer(method: str, path: str, headers: Message, body: bytes) -> Reply:
        if method == "GET":
            # It is healthy, as an engine says.
            return Reply(b"")
        request = json.loads(body)
        with lock:
            server.under_way += 1
            server.most_at_once = max(server.most_at_once, server.under_way)
            number = len(server.requests)
            server.requests.append(request)
            server.headers.append(headers)
        reply = play(request["messages"][-1]["content"], number)
        stop.wait(reply.seconds)
        with lock:
            server.under_way -= 1
        return reply

    with playing(answer) as url:
        server.url = f"{url}/v1"
        try:
            yield server
        finally:
            stop.set()


def in_turn(replies: Sequence[Reply]) -> Callable[[str, int], Reply]:
    """Play the answers one after the other, and the last one for ever."""
    return lambda _, number: replies[min(number, len(replies) - 1)]
