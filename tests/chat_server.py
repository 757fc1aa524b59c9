"""A chat endpoint of OpenAI's form on loopback that plays what a test sets."""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.answering_server import in_a_thread


@dataclass
class Reply:
    """One answer of the server."""

    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    """How long it waits before it answers."""


@dataclass
class ChatServer:
    """The server's address and what it was asked."""

    url: str
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
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
    """Serve until the block ends.

    Args:
        play: Given the user's message and how many requests came before, returns the answer.
    """
    lock, stop = threading.Lock(), threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """Say that it is healthy, as an engine does."""
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                server.under_way += 1
                server.most_at_once = max(server.most_at_once, server.under_way)
                number = len(server.requests)
                server.requests.append(request)
                server.headers.append(dict(self.headers))
            reply = play(request["messages"][-1]["content"], number)
            stop.wait(reply.seconds)
            with lock:
                server.under_way -= 1
            try:
                self.send_response(reply.status)
                for name, value in {"Content-Length": str(len(reply.body)), **reply.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(reply.body)
            except OSError:
                pass  # the client had enough

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
            pass

    with in_a_thread(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as url:
        server = ChatServer(f"{url}/v1")
        try:
            yield server
        finally:
            stop.set()


def in_turn(replies: Sequence[Reply]) -> Callable[[str, int], Reply]:
    """Play the answers one after the other, and the last one for ever."""
    return lambda _, number: replies[min(number, len(replies) - 1)]
