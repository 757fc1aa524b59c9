"""MLflow is quiet, and a store or server that refuses, is held or is full is reported in one sentence, soon."""

import signal
from pathlib import Path

import pytest

from schemas.errors import InputError
from tasks.lineage.mlflow.client import local_rows, open_client, prove_usable
from tests.answering_server import answering

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("mlflow_tables")]
PAGE = "<!doctype html><title>Sign in to this network</title>"


@pytest.mark.parametrize(("status", "body", "reported"), [(401, "", "401"), (200, PAGE, "a page in place of JSON")])
def test_refusal_hides_the_password(monkeypatch: pytest.MonkeyPatch, status: int, body: str, reported: str) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_TOKEN", raising=False)
    monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", "ana")
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", "segredo-longo")
    with (
        answering({}, kind="text/html", otherwise=(status, body)) as server,
        pytest.raises(InputError, match=f"{server.url} answered MLFLOW_TRACKING_USERNAME=ana with {reported}") as error,
    ):
        open_client(server.url)
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
