"""MLflow is quiet, and a store or server that refuses, is held or is full is reported in one sentence, soon."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from schemas.errors import InputError
from tasks.lineage.mlflow.client import local_rows, open_client, prove_usable

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("mlflow_tables")]
PAGE = b"<!doctype html><title>Sign in to this network</title>"


@contextmanager
def serve(status: int, body: bytes) -> Iterator[str]:
    """Serve a stand-in for an MLflow server, which gives one answer to everything."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{http.server_port}"
        finally:
            http.shutdown()
            thread.join()


@pytest.mark.parametrize(
    ("status", "body", "reported"),
    [
        (401, b"", "does not know MLFLOW_TRACKING_USERNAME=ana with the password in MLFLOW_TRACKING_PASSWORD"),
        (200, PAGE, r"is no MLflow server, or one in trouble \(a page in place of JSON\)"),
    ],
)
def test_a_server_that_refuses_is_reported_without_the_password(
    monkeypatch: pytest.MonkeyPatch, status: int, body: bytes, reported: str
) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_TOKEN", raising=False)
    monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", "ana")
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", "segredo-longo")
    with serve(status, body) as url, pytest.raises(InputError, match=reported) as error:
        open_client(url)
    assert url in str(error.value)
    assert "segredo-longo" not in str(error.value)


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
