"""Servers on loopback that answer as a test chose."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer


@dataclass
class Reply:
    """One answer of a server."""

    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    """How long a chat server waits before it answers."""


@dataclass(frozen=True)
class AnsweringServer:
    """A running server."""

    url: str


@contextmanager
def in_a_thread(server: HTTPServer) -> Iterator[str]:
    """Let a server answer until the block ends, and yield its address."""
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def playing(play: Callable[[str, str, Message, bytes], Reply]) -> Iterator[str]:
    """Serve until the block ends what `play` returns for a method, a path, headers and a body; yield the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            reply = play(self.command, self.path, self.headers, body)
            try:
                self.send_response(reply.status)
                for name, value in {"Content-Length": str(len(reply.body)), **reply.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(reply.body)
            except OSError:
                pass  # the client had enough

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    with in_a_thread(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as url:
        yield url


@contextmanager
def answering(
    answers: Mapping[str, tuple[int, str]], *, kind: str = "application/json", otherwise: tuple[int, str] = (404, "")
) -> Iterator[AnsweringServer]:
    """Serve until the block ends a status and a body of one type by path, and `otherwise` for any other path."""

    def play(method: str, path: str, headers: Message, body: bytes) -> Reply:
        status, text = answers.get(path, otherwise)
        return Reply(text.encode(), status, {"Content-Type": kind})

    with playing(play) as url:
        yield AnsweringServer(url)
