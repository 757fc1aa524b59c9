"""A server on loopback that gives each path the answer that a test chose, and keeps what it was asked."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer

Play = Callable[[str, str, dict[str, str], bytes], tuple[int, str]]


@dataclass
class AnsweringServer:
    """Where it is, and the headers of what it was asked, by path."""

    url: str
    asked: dict[str, dict[str, str]] = field(default_factory=dict)


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
def playing(play: Play, kind: str = "application/json") -> Iterator[AnsweringServer]:
    """Serve until the block ends what `play` returns for a method, a path, the lower-case headers, and a body."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def _answer(self) -> None:
            asked = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            server.asked[self.path] = {name.lower(): value for name, value in self.headers.items()}
            status, body = play(self.command, self.path, server.asked[self.path], asked)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    with in_a_thread(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as url:
        server = AnsweringServer(url)
        yield server


def answering(
    answers: Mapping[str, tuple[int, str]],
    *,
    kind: str = "application/json",
    otherwise: tuple[int, str] = (404, ""),
) -> AbstractContextManager[AnsweringServer]:
    """Serve until the block ends.

    Args:
        answers: Status and body, by path; of any other path, `otherwise`.
        kind: Type of every answer.
    """
    return playing(lambda method, path, headers, body: answers.get(path, otherwise), kind)
