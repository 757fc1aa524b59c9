"""Google's metadata server as far as the notice of preemption goes: a value with a tag, and requests that wait."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlparse

from tests.answering_server import in_a_thread

PATH = "/computeMetadata/v1/instance/preempted"


@dataclass
class Asked:
    """A request that came."""

    path: str
    flavor: str | None
    waited: bool


class MetadataServer(ThreadingHTTPServer):
    """Answers at once where the value is another than the request's tag is of, and else, or without one, on change."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[Asked] = []
        self.waiting = threading.Event()
        """Set while a request waits for a change."""
        self.answers: list[bytes] = []
        """What is answered before anything else, each once and at once."""
        self.scheduling = b"TRUE"  # To a request that does not wait: whether the machine is a Spot one.
        self._value = b"FALSE"
        self._changed = threading.Condition()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}{PATH}"

    def set(self, value: bytes) -> None:
        with self._changed:
            self._value = value
            self._changed.notify_all()

    def wait_for_change(self, tag: str | None) -> bytes:
        with self._changed:
            tag = tag or self._value.decode()
            if self._value.decode() == tag:
                self.waiting.set()
                self._changed.wait_for(lambda: self._value.decode() != tag)
                self.waiting.clear()
            return self._value


class _Handler(BaseHTTPRequestHandler):
    server: MetadataServer

    def do_GET(self) -> None:
        query = parse_qs(urlparse(self.path).query)
        tag = query.get("last_etag", [None])[0]
        waits = query.get("wait_for_change") == ["true"]
        self.server.asked.append(Asked(urlparse(self.path).path, self.headers["Metadata-Flavor"], waits))
        answers = self.server.answers if waits else [self.server.scheduling]
        content = answers.pop(0) if answers else self.server.wait_for_change(tag)
        self.send_response(200)
        self.send_header("ETag", content.decode("latin-1").strip()[:16] or "empty")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def metadata_server() -> Iterator[MetadataServer]:
    """Run a server on loopback, whose value is FALSE until a test sets it."""
    server = MetadataServer()
    with in_a_thread(server):
        try:
            yield server
        finally:
            server.set(b"OVER")
