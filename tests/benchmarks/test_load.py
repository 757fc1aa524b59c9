"""Clients that ask a server for some time: answers, valid JSON and failures are counted apart."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count

import pytest

from benchmarks.serve.processes import load


@pytest.fixture
def server() -> Iterator[str]:
    """Answer in turns with an object, with a text, and with 503."""
    turn = count()

    class Engine(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            number = next(turn) % 3
            message = {"content": '{"a": 1}' if number == 0 else "texto"}
            body = json.dumps({"choices": [{"message": message}], "usage": {"completion_tokens": 5}}).encode()
            self.send_response(503 if number == 2 else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    engine = ThreadingHTTPServer(("127.0.0.1", 0), Engine)
    thread = threading.Thread(target=engine.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{engine.server_address[1]}/v1"
    engine.shutdown()
    thread.join()
    engine.server_close()


def test_answers_valid_json_and_failures_are_counted_apart(server: str) -> None:
    found = load(server, [{"messages": []}], clients=2, seconds=1.0)
    assert found.requests > 6
    assert found.failed == pytest.approx(found.requests / 3, abs=1)
    assert found.valid == pytest.approx(0.5, abs=0.2)
    assert found.tokens_a_second == pytest.approx(5 * found.requests_a_second)
    assert 0 < found.p50 <= found.p95 <= found.p99
