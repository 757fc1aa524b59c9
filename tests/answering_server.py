"""A server on loopback that gives each path the answer that a test chose, and keeps what it was asked."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class AnsweringServer:
    """Where it is, and the headers of what it was asked, by path."""

    url: str
    asked: dict[str, dict[str, str]] = field(default_factory=dict)


@contextmanager
def answering(
    answers: Mapping[str, tuple[int, str]],
    *,
    kind: str = "application/json",
    otherwise: tuple[int, str] = (404, ""),
) -> Iterator[AnsweringServer]:
    """Serve until the block ends.

    Args:
        answers: Status and body, by path; of any other path, `otherwise`.
        kind: Type of every answer.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def _answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            server.asked[self.path] = {name.lower(): value for name, value in self.headers.items()}
            status, body = answers.get(self.path, otherwise)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    service = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server = AnsweringServer(f"http://127.0.0.1:{service.server_address[1]}")
    thread = threading.Thread(target=service.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        service.shutdown()
        service.server_close()
        thread.join()
