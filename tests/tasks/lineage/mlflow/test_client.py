"""MLflow is quiet, and a server that refuses or does not answer is reported in one sentence, soon."""

import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from schemas.errors import InputError
from tasks.lineage.mlflow.client import local_rows, open_client, prove_usable

pytestmark = pytest.mark.integration

EXPERIMENT = b'{"experiment": {"experiment_id": "7", "name": "e", "lifecycle_stage": "active"}}'
SEARCH = "/api/2.0/mlflow/experiments/search"


@dataclass
class Server:
    """A stand-in for an MLflow server: what it answers by path, 200 and nothing where nothing is set."""

    url: str
    requests: list[tuple[str, str | None]] = field(default_factory=list)
    """The path of each request, and who asked."""


@contextmanager
def serve(answers: Mapping[str, list[tuple[int, bytes]]]) -> Iterator[Server]:
    """Serve until the block ends; of several answers to a path the last one stands."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            path = self.path.partition("?")[0]
            before = [asked for asked, _ in server.requests].count(path)
            server.requests.append((path, self.headers.get("Authorization")))
            status, body = (answers.get(path) or [(200, b"{}")])[: before + 1][-1]
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server = Server(f"http://127.0.0.1:{http.server_port}")
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


@pytest.fixture(autouse=True)
def _nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD", "MLFLOW_TRACKING_TOKEN"):
        monkeypatch.delenv(name, raising=False)


def as_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", "ana")
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", "segredo-longo")


@pytest.mark.parametrize(
    ("status", "reported"),
    [
        (401, "does not know MLFLOW_TRACKING_USERNAME=ana with the password in MLFLOW_TRACKING_PASSWORD"),
        (403, "does not let MLFLOW_TRACKING_USERNAME=ana do this"),
        (404, r"is no MLflow server, or one in trouble \(404 Not Found\)"),
    ],
)
def test_a_server_that_refuses_is_reported_at_once_and_without_the_password(
    monkeypatch: pytest.MonkeyPatch, status: int, reported: str
) -> None:
    as_user(monkeypatch)
    with serve({SEARCH: [(status, b"You are not authenticated.")]}) as server, pytest.raises(InputError) as error:
        open_client(server.url)
    assert error.match(reported)
    assert server.url in str(error.value)
    assert "segredo-longo" not in str(error.value)
    assert len(server.requests) == 1


PAGE = b"<!doctype html><title>Sign in to this network</title>"


def test_a_page_in_place_of_a_server_is_reported() -> None:
    with serve({SEARCH: [(200, PAGE)]}) as server, pytest.raises(InputError, match="is no MLflow server") as caught:
        open_client(server.url)
    assert server.url in str(caught.value)


def test_nothing_that_answers_is_reported_without_the_password_of_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks.lineage.mlflow.client.RETRIES", 0)
    with pytest.raises(
        InputError, match=r"no MLflow server answers at http://127\.0\.0\.1:9; .* state\.mlflow"
    ) as caught:
        open_client("http://ana:segredo-longo@127.0.0.1:9")
    assert "segredo" not in str(caught.value)


def test_signal_in_a_write_comes_after_it(tmp_path: Path) -> None:
    # Broken off within its commit, a call left its transaction open: the run then waited 20 s to record its own end.
    from sqlalchemy import event
    from sqlalchemy.engine import Engine

    client = open_client(f"sqlite:///{tmp_path / 'mlflow.db'}")
    run_id = client.create_run(client.create_experiment("e")).info.run_id

    def interrupt(_: object) -> None:
        signal.raise_signal(signal.SIGINT)

    event.listen(Engine, "commit", interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            client.set_tag(run_id, "written", "yes")
    finally:
        event.remove(Engine, "commit", interrupt)
    assert client.get_run(run_id).data.tags["written"] == "yes"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_emptied_store_is_not_taken_for_a_new_one(tmp_path: Path) -> None:
    file = tmp_path / "mlflow.db"
    file.touch()
    for use in (open_client, prove_usable, lambda uri: local_rows(uri, "SELECT 1")):
        with pytest.raises(InputError, match="is empty"):
            use(f"sqlite:///{file}")
    assert file.stat().st_size == 0
